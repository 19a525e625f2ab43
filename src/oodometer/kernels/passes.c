/* The compiled passes over memory: each releases the interpreter's lock, so that threads do not wait for each other.
 *
 * Every function has a plain numpy form in the room beside it, which is used where this file was not compiled; tests
 * hold the two against each other. The file uses Python's stable interface and the buffer protocol alone, so that one
 * build serves every Python from 3.11 on and any numpy. Arguments are checked here: types, shapes, and every number
 * that becomes a place in memory. */

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where the loader can choose, loops are compiled a second time for processors with wider vectors. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

#define FEW_CLASSES 64 /* up to here many rows are worked on side by side, above it the numbers of one row */
#define BLOCK 64       /* rows side by side: what is kept of them stays in the nearest cache */
#define PIECE 1024     /* numbers whose bins or logarithms are worked out before they are added up */

/* Log-odds bins, as in bins.py: sixteen an octave, thirty octaves below one half and thirty above. */
#define BIN_SHIFT 19
#define HALF_BINS 480
#define LOWEST_CODE ((126 << 4) - HALF_BINS) /* code of 2^-31, the start of the lowest bin */

#define T float
#define NAME(x) x##_single
#define INT int32_t
#define UINT uint32_t
#define MANTISSA 23
#define BIAS 127
#define ROOT_HALF 0x3f3504f3u
#define SMALLEST 0x00800000
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#define SERIES(z) (2.f / 3 + (z) * (2.f / 5 + (z) * (2.f / 7 + (z) * (2.f / 9))))
#include "passes_of.h"
#undef T
#undef NAME
#undef INT
#undef UINT
#undef MANTISSA
#undef BIAS
#undef ROOT_HALF
#undef SMALLEST
#undef LN2_HIGH
#undef LN2_LOW
#undef SERIES

#define T double
#define NAME(x) x##_double
#define INT int64_t
#define UINT uint64_t
#define MANTISSA 52
#define BIAS 1023
#define ROOT_HALF 0x3fe6a09e667f3bcdu
#define SMALLEST 0x0010000000000000
#define LN2_HIGH 0x1.62e42fep-1
#define LN2_LOW 0x1.f473de6af278fp-30
#define LATE(z) (2. / 13 + (z) * (2. / 15 + (z) * (2. / 17 + (z) * (2. / 19 + (z) * (2. / 21)))))
#define SERIES(z) (2. / 3 + (z) * (2. / 5 + (z) * (2. / 7 + (z) * (2. / 9 + (z) * (2. / 11 + (z) * LATE(z))))))
#include "passes_of.h"

/* ------------------------------------------------------------------------------------------ arguments */

/* What an argument must be. Types: f float32, d float64, i int32, q int64, = that of the first argument. */
typedef struct {
    const char *name, *types;
    int axes, written;
} Want;

enum { MOST = 8 };

typedef struct {
    Py_buffer view[MOST];
    int held;
} Held;

static PyObject *done(Held *held, PyObject *result)
{
    while (held->held > 0)
        PyBuffer_Release(&held->view[--held->held]);
    return result;
}

static int take(Held *held, PyObject *given, const Want *want)
{
    Py_buffer *view = &held->view[held->held];
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (want->written ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(given, view, flags) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "%s: expected a C-contiguous%s array", want->name,
                         want->written ? ", writable" : "");
        }
        return 0;
    }
    held->held++;
    char code = view->format == NULL || strlen(view->format) != 1 ? '?' : view->format[0];
    if (code == 'l') /* `long` has the size of one or the other */
        code = view->itemsize == 8 ? 'q' : 'i';
    if (strchr(want->types, code) == NULL && !(want->types[0] == '=' && code == held->view[0].format[0])) {
        PyErr_Format(PyExc_TypeError, "%s: expected numbers of type %s, got %s", want->name, want->types,
                     view->format == NULL ? "bytes" : view->format);
        return 0;
    }
    if (view->ndim != want->axes) {
        PyErr_Format(PyExc_ValueError, "%s: expected %d axes, got %d", want->name, want->axes, view->ndim);
        return 0;
    }
    return 1;
}

/* All arguments in order; after them one integer where `number` is given. */
static int take_all(Held *held, PyObject *args, const Want *want, int many, int *number)
{
    held->held = 0;
    Py_ssize_t got = PyTuple_Size(args);
    if (got != many + (number != NULL)) {
        PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", many + (number != NULL), got);
        return 0;
    }
    for (int i = 0; i < many; i++)
        if (!take(held, PyTuple_GetItem(args, i), &want[i]))
            return 0;
    if (number != NULL) {
        long value = PyLong_AsLong(PyTuple_GetItem(args, many));
        if (value == -1 && PyErr_Occurred())
            return 0;
        *number = value < 0 || value > INT_MAX ? -1 : (int)value;
    }
    return 1;
}

static int same(Py_ssize_t want, Py_ssize_t got, const char *name)
{
    if (want != got)
        PyErr_Format(PyExc_ValueError, "%s: expected %zd entries, got %zd", name, want, got);
    return want == got;
}

static int at_least(Py_ssize_t least, Py_ssize_t got, const char *name)
{
    if (got < least || got > INT32_MAX)
        PyErr_Format(PyExc_ValueError, "%s: expected at least %zd, got %zd", name, least, got);
    return got >= least && got <= INT32_MAX;
}

/* Every kind must be the number of one; the place of a count follows from it. */
static int kinds_fit(const Py_buffer *view, Py_ssize_t kinds, const char *name)
{
    const int32_t *kind = view->buf;
    int32_t low = 0, high = -1;
    for (Py_ssize_t i = 0; i < view->shape[0]; i++) {
        low = kind[i] < low ? kind[i] : low;
        high = kind[i] > high ? kind[i] : high;
    }
    if (low < 0 || high >= kinds)
        PyErr_Format(PyExc_ValueError, "%s: expected numbers from 0 to %zd", name, kinds - 1);
    return low >= 0 && high < kinds;
}

/* Calls f_single or f_double on a first argument of that type, without the interpreter's lock. */
#define RUN(f, view, ...)                                         \
    do {                                                          \
        Py_BEGIN_ALLOW_THREADS                                    \
        if ((view)->format[0] == 'f')                             \
            f##_single((const float *)(view)->buf, __VA_ARGS__);  \
        else                                                      \
            f##_double((const double *)(view)->buf, __VA_ARGS__); \
        Py_END_ALLOW_THREADS                                      \
    } while (0)

/* ------------------------------------------------------------------------------------------ the passes */

static PyObject *row_statistics(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"values", "fd", 2, 0}, {"best", "i", 1, 1}, {"first", "=", 1, 1}, {"second", "=", 1, 1}};
    Held h;
    if (!take_all(&h, args, want, 4, NULL))
        return done(&h, NULL);
    const Py_buffer *values = &h.view[0], *best = &h.view[1], *first = &h.view[2], *second = &h.view[3];
    Py_ssize_t rows = values->shape[0], classes = values->shape[1];
    double lowest = 0, gap = 0;
    if (!same(rows, best->shape[0], "best") || !same(rows, first->shape[0], "first") ||
        !same(rows, second->shape[0], "second") || !at_least(2, classes, "classes of values"))
        return done(&h, NULL);
    RUN(row_statistics, values, rows, classes, best->buf, first->buf, second->buf, &lowest, &gap);
    return done(&h, Py_BuildValue("dd", lowest, gap));
}

static PyObject *negative_entropy(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"values", "fd", 2, 0}, {"out", "=", 1, 1}};
    Held h;
    if (!take_all(&h, args, want, 2, NULL) || !same(h.view[0].shape[0], h.view[1].shape[0], "out") ||
        !at_least(1, h.view[0].shape[1], "classes of values"))
        return done(&h, NULL);
    RUN(negative_entropy, &h.view[0], h.view[0].shape[0], h.view[0].shape[1], h.view[1].buf);
    return done(&h, Py_NewRef(Py_None));
}

static PyObject *log_odds_bin(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"values", "fd", 1, 0}, {"out", "q", 1, 1}};
    Held h;
    if (!take_all(&h, args, want, 2, NULL) || !same(h.view[0].shape[0], h.view[1].shape[0], "out"))
        return done(&h, NULL);
    RUN(log_odds_bin, &h.view[0], h.view[0].shape[0], h.view[1].buf);
    return done(&h, Py_NewRef(Py_None));
}

static PyObject *count_off_diagonal(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"values", "fd", 2, 0}, {"predicted", "i", 1, 0}, {"counts", "q", 2, 1}, {"mass", "d", 2, 1}};
    Held h;
    int halves, shift = 0;
    if (!take_all(&h, args, want, 4, &halves))
        return done(&h, NULL);
    const Py_buffer *values = &h.view[0], *counts = &h.view[2], *mass = &h.view[3];
    Py_ssize_t rows = values->shape[0], classes = values->shape[1];
    while (shift < 5 && 2 * HALF_BINS >> shift != counts->shape[1])
        shift++;
    if (!same(rows, h.view[1].shape[0], "predicted") || !same(classes, counts->shape[0], "counts") ||
        !same(2 * HALF_BINS >> shift, counts->shape[1], "bins of counts") || !same(classes, mass->shape[0], "mass") ||
        !same(classes, mass->shape[1], "columns of mass") || !kinds_fit(&h.view[1], classes, "predicted"))
        return done(&h, NULL);
    RUN(count_off_diagonal, values, rows, classes, h.view[1].buf, halves, shift, counts->buf, mass->buf);
    return done(&h, Py_NewRef(Py_None));
}

/* Sums over rows of gradient, curvature and one, by column and the bin of its code; in the order of the rows. */
static int add_to_cells(const int32_t *code, const int64_t *row, Py_ssize_t many, const double *gradient,
                        const double *curvature, Py_ssize_t samples, Py_ssize_t columns, Py_ssize_t bins, double *cell)
{
    int fits = 1;
    for (Py_ssize_t i = 0; i < many; i++) {
        if (row[i] < 0 || row[i] >= samples)
            return 0;
        const int32_t *here = code + row[i] * columns;
        const double g = gradient[row[i]], h = curvature[row[i]];
        for (Py_ssize_t j = 0; j < columns; j++) {
            if (here[j] < 0 || here[j] >= bins) {
                fits = 0;
                continue;
            }
            double *at = cell + 3 * (j * bins + here[j]);
            at[0] += g;
            at[1] += h;
            at[2] += 1;
        }
    }
    return fits;
}

static PyObject *cell_sums(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"codes", "i", 2, 0}, {"rows", "q", 1, 0}, {"gradient", "d", 1, 0},
                                {"curvature", "d", 1, 0}, {"cells", "d", 3, 1}};
    Held h;
    int fits;
    if (!take_all(&h, args, want, 5, NULL))
        return done(&h, NULL);
    const Py_buffer *codes = &h.view[0], *rows = &h.view[1], *cells = &h.view[4];
    Py_ssize_t samples = codes->shape[0], columns = codes->shape[1];
    if (!same(samples, h.view[2].shape[0], "gradient") || !same(samples, h.view[3].shape[0], "curvature") ||
        !same(columns, cells->shape[0], "columns of cells") || !same(3, cells->shape[2], "sums of cells"))
        return done(&h, NULL);
    Py_BEGIN_ALLOW_THREADS
    fits = add_to_cells(codes->buf, rows->buf, rows->shape[0], h.view[2].buf, h.view[3].buf, samples, columns,
                        cells->shape[1], cells->buf);
    Py_END_ALLOW_THREADS
    if (!fits)
        PyErr_Format(PyExc_ValueError, "codes, rows: expected numbers below %zd and %zd", cells->shape[1], samples);
    return done(&h, fits ? Py_NewRef(Py_None) : NULL);
}

/* The first cell whose split gains most, or -1; `low` are the sums up to it. limit: rows, curvature, what is added to
 * every divisor. */
static Py_ssize_t first_best(const double *cell, Py_ssize_t columns, Py_ssize_t bins, const double *total,
                             const double *limit, double before, double *low)
{
    Py_ssize_t best = -1;
    double most = 0, all = 0;
    for (Py_ssize_t b = 0; b < bins; b++)
        all += cell[3 * b + 2];
    for (Py_ssize_t j = 0; j < columns; j++) {
        double g = 0, h = 0, rows = 0;
        for (Py_ssize_t b = 0; b < bins; b++) {
            const double *at = cell + 3 * (j * bins + b);
            g += at[0];
            h += at[1];
            rows += at[2];
            const double other_g = total[0] - g, other_h = total[1] - h;
            if (rows < limit[0] || all - rows < limit[0] || h < limit[1] || other_h < limit[1])
                continue;
            const double gain = before - g * (-g / (h + limit[2])) - other_g * (-other_g / (other_h + limit[2]));
            if (gain > most) {
                most = gain;
                best = j * bins + b;
                low[0] = g;
                low[1] = h;
            }
        }
    }
    return best;
}

/* A tree that grows. Nodes are numbered from the root on, the children of i are 2 i + 1 and 2 i + 2; `split` has column
 * and bin of each, -1 for a leaf. rule: fewest rows and least curvature of a side, what is added to every divisor, and
 * what a leaf's Newton step is multiplied by. `spare` has the cells of one more node for each level. */
typedef struct {
    const int32_t *code;
    const double *gradient, *curvature, *rule;
    Py_ssize_t samples, columns, bins, nodes;
    int64_t *beside;
    double *spare, *value, *odds;
    int32_t *split;
} Tree;

static void leaf(const Tree *t, Py_ssize_t node, const int64_t *row, Py_ssize_t many, const double *total)
{
    t->value[node] = -t->rule[3] * (total[0] / (total[1] + t->rule[2]));
    for (Py_ssize_t i = 0; i < many; i++)
        t->odds[row[i]] += t->value[node];
}

/* Rows that go left before those that go right, either in their order; returns how many go left. */
static Py_ssize_t part_rows(const Tree *t, Py_ssize_t node, int64_t *row, Py_ssize_t many)
{
    const int32_t column = t->split[2 * node], bin = t->split[2 * node + 1];
    Py_ssize_t left = 0, right = 0;
    for (Py_ssize_t i = 0; i < many; i++)
        if (t->code[row[i] * t->columns + column] <= bin)
            row[left++] = row[i];
        else
            t->beside[right++] = row[i];
    memcpy(row + left, t->beside, right * sizeof *row);
    return left;
}

/* Grows what hangs on a node of these rows; its cells, which are not there at the lowest level, are overwritten. */
static void grow_node(const Tree *t, Py_ssize_t node, int64_t *row, Py_ssize_t many, double *cell, const double *total,
                      double *spare)
{
    double below[2], above[2], *small = NULL, *large = NULL;
    Py_ssize_t best = -1, size = 3 * t->columns * t->bins;
    if (2 * node + 2 < t->nodes && many >= 2 * t->rule[0]) {
        /* what the node loses undivided; the same for all its splits, and left out of the root's */
        const double before = node == 0 ? 0 : total[0] * (-total[0] / (total[1] + t->rule[2]));
        best = first_best(cell, t->columns, t->bins, total, t->rule, before, below);
    }
    if (best < 0) {
        leaf(t, node, row, many, total);
        return;
    }
    t->split[2 * node] = (int32_t)(best / t->bins);
    t->split[2 * node + 1] = (int32_t)(best % t->bins);
    above[0] = total[0] - below[0], above[1] = total[1] - below[1];
    const Py_ssize_t left = part_rows(t, node, row, many), right = many - left;
    const int is_left = left < right;
    if (4 * node + 6 < t->nodes) { /* leaves need their totals alone; of two children the small one is counted */
        small = spare, large = cell;
        memset(small, 0, size * sizeof *small);
        add_to_cells(t->code, is_left ? row : row + left, is_left ? left : right, t->gradient, t->curvature, t->samples,
                     t->columns, t->bins, small);
        for (Py_ssize_t i = 0; i < size; i++)
            large[i] -= small[i];
    }
    grow_node(t, 2 * node + 1, row, left, is_left ? small : large, below, spare + size);
    grow_node(t, 2 * node + 2, row + left, right, is_left ? large : small, above, spare + size);
}

static int grow_from(Tree *t, double *cell, const double *total)
{
    int64_t *row = malloc(2 * (t->samples + 1) * sizeof *row);
    Py_ssize_t levels = 1;
    for (Py_ssize_t nodes = t->nodes; nodes > 1; nodes /= 2)
        levels++;
    t->spare = malloc(levels * 3 * t->columns * t->bins * sizeof *t->spare);
    const int fits = row != NULL && t->spare != NULL;
    if (fits) {
        t->beside = row + t->samples;
        for (Py_ssize_t i = 0; i < t->samples; i++)
            row[i] = i;
        for (Py_ssize_t i = 0; i < t->nodes; i++) {
            t->split[2 * i] = t->split[2 * i + 1] = -1;
            t->value[i] = 0;
        }
        grow_node(t, 0, row, t->samples, cell, total, t->spare);
    }
    free(row);
    free(t->spare);
    return fits;
}

static int codes_fit(const int32_t *code, Py_ssize_t many, Py_ssize_t bins)
{
    for (Py_ssize_t i = 0; i < many; i++)
        if (code[i] < 0 || code[i] >= bins)
            return 0;
    return 1;
}

static PyObject *grow_tree(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"codes", "i", 2, 0}, {"gradient", "d", 1, 0}, {"curvature", "d", 1, 0},
                                {"cells", "d", 3, 1}, {"rule", "d", 1, 0}, {"split", "i", 2, 1},
                                {"value", "d", 1, 1}, {"odds", "d", 1, 1}};
    Held h;
    int codes_are_bins, fits = 1;
    if (!take_all(&h, args, want, 8, NULL))
        return done(&h, NULL);
    const Py_buffer *codes = &h.view[0], *cells = &h.view[3];
    const double *rule = h.view[4].buf;
    Tree t = {codes->buf, h.view[1].buf, h.view[2].buf, rule, codes->shape[0], codes->shape[1], cells->shape[1],
              h.view[6].shape[0], NULL, NULL, h.view[6].buf, h.view[7].buf, h.view[5].buf};
    if (!same(t.samples, h.view[1].shape[0], "gradient") || !same(t.samples, h.view[2].shape[0], "curvature") ||
        !same(t.columns, cells->shape[0], "columns of cells") || !same(3, cells->shape[2], "sums of cells") ||
        !same(6, h.view[4].shape[0], "rule") || !same(t.nodes, h.view[5].shape[0], "split") ||
        !same(2, h.view[5].shape[1], "columns of split") || !same(t.samples, h.view[7].shape[0], "odds") ||
        !at_least(1, t.nodes, "nodes of value") || !at_least(1, t.columns, "columns of codes"))
        return done(&h, NULL);
    Py_BEGIN_ALLOW_THREADS
    codes_are_bins = codes_fit(t.code, t.samples * t.columns, t.bins);
    if (codes_are_bins)
        fits = grow_from(&t, cells->buf, rule + 4);
    Py_END_ALLOW_THREADS
    if (!codes_are_bins)
        PyErr_Format(PyExc_ValueError, "codes: expected numbers below %zd", t.bins);
    else if (!fits)
        PyErr_NoMemory();
    return done(&h, codes_are_bins && fits ? Py_NewRef(Py_None) : NULL);
}

/* Blocks of the isotonic regression of each piece: a bin joins the one before it as long as that is of the same piece
   and has no lower share of hits. */
static Py_ssize_t pool(const double *rows, const double *hits, const int64_t *piece, Py_ssize_t bins, int64_t *first,
                       double *weight, double *right)
{
    Py_ssize_t blocks = 0;
    for (Py_ssize_t i = 0; i < bins; i++) {
        double w = rows[i], r = hits[i];
        int64_t start = i;
        while (blocks > 0 && piece[first[blocks - 1]] == piece[i] && right[blocks - 1] * w >= r * weight[blocks - 1]) {
            blocks--;
            w += weight[blocks];
            r += right[blocks];
            start = first[blocks];
        }
        first[blocks] = start;
        weight[blocks] = w;
        right[blocks++] = r;
    }
    return blocks;
}

static PyObject *pool_adjacent(PyObject *module, PyObject *args)
{
    static const Want want[] = {{"rows", "d", 1, 0},  {"hits", "d", 1, 0},   {"piece", "q", 1, 0},
                                {"first", "q", 1, 1}, {"weight", "d", 1, 1}, {"right", "d", 1, 1}};
    Held h;
    if (!take_all(&h, args, want, 6, NULL))
        return done(&h, NULL);
    Py_ssize_t bins = h.view[0].shape[0], blocks;
    for (int i = 1; i < 6; i++)
        if (!same(bins, h.view[i].shape[0], want[i].name))
            return done(&h, NULL);
    Py_BEGIN_ALLOW_THREADS
    blocks = pool(h.view[0].buf, h.view[1].buf, h.view[2].buf, bins, h.view[3].buf, h.view[4].buf, h.view[5].buf);
    Py_END_ALLOW_THREADS
    return done(&h, PyLong_FromSsize_t(blocks));
}

/* ------------------------------------------------------------------------------------------ the module */

static PyMethodDef methods[] = {
    {"row_statistics", row_statistics, METH_VARARGS, NULL},
    {"negative_entropy", negative_entropy, METH_VARARGS, NULL},
    {"log_odds_bin", log_odds_bin, METH_VARARGS, NULL},
    {"count_off_diagonal", count_off_diagonal, METH_VARARGS, NULL},
    {"cell_sums", cell_sums, METH_VARARGS, NULL},
    {"grow_tree", grow_tree, METH_VARARGS, NULL},
    {"pool_adjacent", pool_adjacent, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_passes",
    .m_doc = "Compiled passes over memory; what each takes stands in _passes.pyi.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__passes(void)
{
    return PyModuleDef_Init(&definition);
}
