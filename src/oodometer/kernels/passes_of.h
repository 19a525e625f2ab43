/* The loops of passes.c for one type of number. Included once for each, with these names defined:
 *   T, NAME(x)                 the type, and the name of a function for it
 *   UINT, MANTISSA, BIAS       its bits: an unsigned integer of the same size, mantissa bits, exponent bias
 *   ROOT_HALF                  the bits of sqrt(1/2)
 *   SMALLEST                   the smallest normal number
 *   LN2_HIGH, LN2_LOW          log 2 in two parts; the first has zeros at its end, so that e * LN2_HIGH is exact
 *   SERIES(z)                  2/3 + 2/5 z + 2/7 z^2 + ..., as many terms as the type can feel
 */

#define LANES (64 / (int)sizeof(T)) /* numbers worked on side by side along a wide row: one cache line */

/* Best and second best so far, with x offered as number k. Only ">" replaces: the lowest index among ties stays. */
#define OFFER(x, k, first, second, best)              \
    do {                                              \
        T lower_ = (x) < (first) ? (x) : (first);     \
        (best) = (x) > (first) ? (int32_t)(k) : (best); \
        (second) = (second) > lower_ ? (second) : lower_; \
        (first) = (x) > (first) ? (x) : (first);      \
    } while (0)

/* Up to BLOCK short rows side by side: column k of all of them, then column k + 1. */
static ALWAYS_INLINE void NAME(row_statistics_block)(const T *v, int rows, Py_ssize_t classes, int32_t *best, T *first,
                                             T *second, T *low, T *sum)
{
    for (int r = 0; r < rows; r++) {
        best[r] = 0;
        first[r] = second[r] = -(T)INFINITY;
        low[r] = (T)INFINITY;
        sum[r] = 0;
    }
    for (Py_ssize_t k = 0; k < classes; k++) {
        T column[BLOCK];
        for (int r = 0; r < rows; r++)
            column[r] = v[r * classes + k];
        for (int r = 0; r < rows; r++) {
            T x = column[r];
            OFFER(x, k, first[r], second[r], best[r]);
            low[r] = x < low[r] ? x : low[r];
            sum[r] += x;
        }
    }
}

/* One wide row: LANES numbers at a time, each lane with a best of its own, joined at the end. */
static ALWAYS_INLINE void NAME(row_statistics_row)(const T *row, Py_ssize_t classes, int32_t *best, T *first, T *second,
                                           T *low, T *sum)
{
    T one[LANES], two[LANES], least[LANES], total[LANES];
    int32_t at[LANES];
    for (int j = 0; j < LANES; j++) {
        one[j] = two[j] = -(T)INFINITY;
        least[j] = (T)INFINITY;
        total[j] = 0;
        at[j] = 0;
    }
    Py_ssize_t k = 0;
    for (; k + LANES <= classes; k += LANES)
        for (int j = 0; j < LANES; j++) {
            T x = row[k + j];
            OFFER(x, k + j, one[j], two[j], at[j]);
            least[j] = x < least[j] ? x : least[j];
            total[j] += x;
        }
    for (int j = 0; k < classes; k++, j++) {
        T x = row[k];
        OFFER(x, k, one[j], two[j], at[j]);
        least[j] = x < least[j] ? x : least[j];
        total[j] += x;
    }
    for (int j = 1; j < LANES; j++) {
        int wins = one[j] > one[0] || (one[j] == one[0] && at[j] < at[0]);
        T lower = one[j] < one[0] ? one[j] : one[0], runner = two[j] > two[0] ? two[j] : two[0];
        at[0] = wins ? at[j] : at[0];
        one[0] = one[j] > one[0] ? one[j] : one[0];
        two[0] = lower > runner ? lower : runner;
        least[0] = least[j] < least[0] ? least[j] : least[0];
        total[0] += total[j];
    }
    *best = at[0], *first = one[0], *second = two[0], *low = least[0], *sum = total[0];
}

CLONES static void NAME(row_statistics)(const T *v, Py_ssize_t rows, Py_ssize_t classes, int32_t *best, T *first, T *second,
                                double *lowest, double *gap)
{
    T low[BLOCK], sum[BLOCK], most = 0, least = (T)INFINITY, odd = 0;
    for (Py_ssize_t start = 0; start < rows; start += BLOCK) {
        const T *part = v + start * classes;
        int many = rows - start < BLOCK ? (int)(rows - start) : BLOCK;
        if (classes > FEW_CLASSES)
            for (int r = 0; r < many; r++)
                NAME(row_statistics_row)(part + r * classes, classes, best + start + r, first + start + r, second + start + r,
                                 low + r, sum + r);
        else if (many == BLOCK) /* a known length: full vectors and no remainder */
            NAME(row_statistics_block)(part, BLOCK, classes, best + start, first + start, second + start, low, sum);
        else
            NAME(row_statistics_block)(part, many, classes, best + start, first + start, second + start, low, sum);
        for (int r = 0; r < many; r++) {
            T off = sum[r] > 1 ? sum[r] - 1 : 1 - sum[r];
            most = off > most ? off : most;
            least = low[r] < least ? low[r] : least;
            odd += sum[r] - sum[r]; /* 0, but NaN where a sum is NaN or infinite: comparisons alone would hide it */
        }
    }
    *lowest = (double)least;
    *gap = odd == 0 ? (double)most : (double)NAN;
}

/* p log p; 0 for 0. p = 2^e m with m in [sqrt(1/2), sqrt 2), f = m - 1, s = f / (2 + f), log m = 2 atanh s
 * = f - (f^2/2 - s (f^2/2 + R)), R = z SERIES(z), z = s^2 <= 0.0295: the large part of the sum, f, is exact. */
static ALWAYS_INLINE T NAME(p_log_p)(T p)
{
    T m;
    INT sign_and_bits;
    memcpy(&sign_and_bits, &p, sizeof p);
    sign_and_bits = sign_and_bits > SMALLEST ? sign_and_bits : SMALLEST;
    UINT bits = (UINT)sign_and_bits + ((UINT)BIAS << MANTISSA) - ROOT_HALF;
    T e = (T)((int32_t)(bits >> MANTISSA) - BIAS);
    bits = (bits & (((UINT)1 << MANTISSA) - 1)) + ROOT_HALF;
    memcpy(&m, &bits, sizeof m);
    T f = m - 1, s = f / (2 + f), z = s * s, half = (T)0.5 * f * f, rest = z * SERIES(z);
    return p * (e * LN2_HIGH - ((half - (s * (half + rest) + e * LN2_LOW)) - f));
}

CLONES static void NAME(negative_entropy)(const T *v, Py_ssize_t rows, Py_ssize_t classes, T *out)
{
    T term[PIECE], lane[LANES];
    Py_ssize_t together = classes > FEW_CLASSES ? 1 : PIECE / classes;
    for (Py_ssize_t start = 0; start < rows; start += together) {
        const T *part = v + start * classes;
        Py_ssize_t many = rows - start < together ? rows - start : together;
        if (classes <= FEW_CLASSES) { /* all numbers of some rows at once, then their sums */
            for (Py_ssize_t i = 0; i < many * classes; i++)
                term[i] = NAME(p_log_p)(part[i]);
            for (Py_ssize_t r = 0; r < many; r++) {
                T sum = 0;
                for (Py_ssize_t k = 0; k < classes; k++)
                    sum += term[r * classes + k];
                out[start + r] = sum;
            }
        } else {
            Py_ssize_t k = 0;
            for (int j = 0; j < LANES; j++)
                lane[j] = 0;
            for (; k + LANES <= classes; k += LANES)
                for (int j = 0; j < LANES; j++)
                    lane[j] += NAME(p_log_p)(part[k + j]);
            for (int j = 0; k < classes; k++, j++)
                lane[j] += NAME(p_log_p)(part[k]);
            for (int j = 1; j < LANES; j++)
                lane[0] += lane[j];
            out[start] = lane[0];
        }
        for (Py_ssize_t r = 0; r < many; r++) /* rounding may pass 0; NaN stays NaN, and -0 becomes 0 */
            out[start + r] = (out[start + r] > 0 ? 0 : out[start + r]) + 0;
    }
}

/* Bin of a probability that is at most one half, and of any: the shift of bits.py. */
static ALWAYS_INLINE int32_t NAME(half_bin)(T p)
{
    float single = (float)p;
    int32_t code;
    memcpy(&code, &single, sizeof code);
    code = (code < 0 ? 0 : code >> BIN_SHIFT) - LOWEST_CODE;
    code = code > 0 ? code : 0;
    return code < HALF_BINS - 1 ? code : HALF_BINS - 1;
}

static ALWAYS_INLINE int32_t NAME(any_bin)(T p)
{
    T other = 1 - p; /* asked for in the comparison too: else the compiler makes a branch of it, and no wide loop */
    int32_t upper = -(p >= (T)0.5);
    int32_t code = NAME(half_bin)(other < p ? other : p);
    return (code ^ upper) + (upper & 2 * HALF_BINS); /* 2 HALF_BINS - 1 - code in the upper half */
}

CLONES static void NAME(log_odds_bin)(const T *p, Py_ssize_t rows, int64_t *out)
{
    for (Py_ssize_t i = 0; i < rows; i++)
        out[i] = NAME(any_bin)(p[i]);
}

/* The bins of a piece are worked out side by side, then counted one after another. The predicted class is counted
 * with the others and at once taken off again: no comparison for each number. */
CLONES static void NAME(count_off_diagonal)(const T *v, Py_ssize_t rows, Py_ssize_t classes, const int32_t *predicted,
                                      int halves, int shift, int64_t *restrict counts, double *restrict mass)
{
    Py_ssize_t width = 2 * HALF_BINS >> shift, together = classes < PIECE ? PIECE / classes : 1;
    int32_t code[PIECE];
    for (Py_ssize_t start = 0; start < rows; start += together) {
        Py_ssize_t many = rows - start < together ? rows - start : together;
        for (Py_ssize_t from = 0; from < classes; from += PIECE) { /* more than once for very wide rows alone */
            Py_ssize_t wide = classes - from < PIECE ? classes - from : PIECE;
            const T *part = v + start * classes + from;
            for (Py_ssize_t i = 0; i < many * wide; i++)
                code[i] = (halves ? NAME(half_bin)(part[i]) : NAME(any_bin)(part[i])) >> shift;
            for (Py_ssize_t r = 0; r < many; r++)
                for (Py_ssize_t k = 0; k < wide; k++)
                    counts[(from + k) * width + code[r * wide + k]]++;
        }
        for (Py_ssize_t r = start; r < start + many; r++) {
            const T *row = v + r * classes;
            Py_ssize_t own = predicted[r];
            double *restrict line = mass + own * classes;
            for (Py_ssize_t k = 0; k < classes; k++)
                line[k] += (double)row[k];
            counts[own * width + ((halves ? NAME(half_bin)(row[own]) : NAME(any_bin)(row[own])) >> shift)]--;
        }
    }
    for (Py_ssize_t k = 0; k < classes; k++)
        mass[k * classes + k] = 0;
}

#undef OFFER
#undef LANES
