"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const MANY = 9;  // classes that have a key each; beyond them one searches
const UNKNOWN = "";  // the answer "don't know", which leaves the cell empty
const answers = new Map();  // row -> class, or UNKNOWN
const done = [];  // [row, what was answered before] of every answer, for undo
let here = 0, found = data.classes, place = 0, shown = data.judging, kept = true;

// ---- what this browser remembers, by the content of the page
const memory = `oodometer-labels-${data.hash}`;
function remember() {
  try {
    localStorage.setItem(memory, JSON.stringify({ answers: [...answers], here }));
  } catch {
    kept = false;
  }
}
function recall(first) {
  try {
    localStorage.setItem(`${memory}-tried`, "1");  // may it be written? Never over answers that are not read yet
    const old = JSON.parse(localStorage.getItem(memory) || "{}");
    for (const [row, answer] of old.answers || []) {
      if (data.rows[row] && (answer === UNKNOWN || data.classes.includes(answer))) answers.set(row, answer);
    }
    if (first && data.rows[old.here]) here = old.here;
  } catch {
    kept = false;
  }
}

// ---- one row
function element(tag, text, cls) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
}
function shownCell(value) {
  if (value === null) return element("span", "empty", "empty");
  if (Array.isArray(value)) {
    const list = element("ol", undefined, "turns");
    for (const one of value) list.append(element("li", one));
    return list;
  }
  if (typeof value === "object") {
    const picture = element("img");
    picture.src = value.image;
    picture.alt = "the picture to label";
    return picture;
  }
  return element("div", value, "text");
}
function fillTable(table, columns, cells) {
  table.replaceChildren(...columns.map((column) => {
    const line = element("tr"), value = cells[column], cell = element("td");
    // a long name may be broken behind its underscores
    const head = element("th", data.columns[column].replaceAll("_", "_\u200b"));
    head.scope = "row";
    if (value === null || typeof value === "object") cell.append(shownCell(value));
    else cell.textContent = value;
    line.append(head, cell);
    return line;
  }));
}
function show() {
  const row = data.rows[here];
  at("number").textContent = `Row ${here + 1} of ${data.rows.length}`;
  at("name").textContent = row.name;
  const texts = [];
  for (const column of data.texts) {
    if (data.texts.length > 1) texts.push(element("h2", data.columns[column]));
    texts.push(shownCell(row.cells[column]));
  }
  at("texts").replaceChildren(...texts);
  fillTable(at("open"), data.open, row.cells);
  fillTable(at("folded"), data.folded, row.cells);
  at("bare").hidden = data.texts.length + data.open.length + data.folded.length > 0;
  at("more").hidden = !data.folded.length;
  at("show").hidden = row.said === null || data.judging;
  at("show").setAttribute("aria-pressed", String(shown));
  at("said").hidden = !shown || row.said === null;
  at("said").textContent = row.said === null ? "" : `The model says: ${row.said}`;
  at("unknown").setAttribute("aria-pressed", String(answers.get(here) === UNKNOWN));
  at("back").disabled = here === 0;
  at("next").disabled = here === data.rows.length - 1;
  at("undo").disabled = !done.length;
  at("search").value = "";
  found = data.classes;
  place = 0;
  showClasses();
  showProgress();
}
function showProgress() {
  const known = [...answers.values()].filter((answer) => answer !== UNKNOWN).length;
  const passed = answers.size - known, all = data.rows.length, left = all - answers.size;
  at("filled").style.width = `${(100 * answers.size) / all}%`;
  at("filled").parentElement.setAttribute("aria-valuenow", answers.size);
  at("filled").parentElement.setAttribute("aria-valuemax", all);
  at("progress").textContent =
    `${known} labelled, ${passed} not known, ${left} left; ${kept ? "kept in this browser" : "this browser keeps nothing: save before you close the page"}`;
  at("note").hidden = left > 0;
  at("note").textContent = `All rows are answered. Save the CSV, then: oodometer audit REFERENCE TARGET --labels ${data.file}`;
}

// ---- classes: a button and a key each, or a search
const digits = data.classes.every((name) => /^[0-9]$/.test(name));
const searching = !digits && data.classes.length > MANY;
const words = data.words || data.classes;
function showClasses() {
  const focused = [...at("classes").children].indexOf(document.activeElement);  // the keyboard stays where it is
  const some = searching ? found.slice(0, MANY) : data.classes;
  at("classes").replaceChildren(...some.map((name, i) => {
    const button = element("button", words[data.classes.indexOf(name)]);
    button.type = "button";
    button.setAttribute("aria-pressed", String(answers.get(here) === name));
    if (!searching && !digits) button.append(element("kbd", String(i + 1)));
    if (searching && i === place && document.activeElement === at("search")) button.classList.add("first");
    button.onclick = () => answer(name);
    return button;
  }));
  const given = answers.get(here);
  if (searching && given && !some.includes(given)) {
    const button = element("button", given);
    button.setAttribute("aria-pressed", "true");
    at("classes").prepend(button);
  }
  if (searching && found.length > MANY) at("classes").append(element("span", `and ${found.length - MANY} more: search`, "empty"));
  at("classes").children[focused]?.focus();
  if (!some.length) at("classes").append(element("span", "no class like this", "empty"));
}
function search() {
  const asked = at("search").value.trim().toLowerCase();
  const rank = (name) => {
    const low = name.toLowerCase();
    return low === asked ? 0 : low.startsWith(asked) ? 1 : low.includes(asked) ? 2 : 3;
  };
  found = data.classes.filter((name) => rank(name) < 3);
  if (asked) found.sort((a, b) => rank(a) - rank(b));  // stable: ties keep the order of the classes
  place = 0;
  showClasses();
}

// ---- answers
function answer(name) {
  done.push([here, answers.has(here) ? answers.get(here) : null]);
  answers.set(here, name);
  const all = data.rows.length;
  for (let step = 1; step < all; step++) {
    const row = (here + step) % all;
    if (!answers.has(row)) {
      here = row;
      break;
    }
  }
  remember();
  at("search").blur();
  show();
  if (window.scrollY > 0) window.scrollTo(0, 0);
}
function undo() {
  const last = done.pop();
  if (!last) return;
  here = last[0];
  if (last[1] === null) answers.delete(here);
  else answers.set(here, last[1]);
  remember();
  show();
}
function go(step) {
  here = Math.min(Math.max(here + step, 0), data.rows.length - 1);
  remember();
  show();
}
function toggle() {
  if (at("show").hidden) return;
  shown = !shown;
  show();
}
function clear() {
  if (!confirm("Forget all answers of this page?")) return;
  answers.clear();
  done.length = 0;
  here = 0;
  remember();
  show();
}

// ---- the file
const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
function table() {
  const lines = [[...data.saved, data.answer]];
  data.rows.forEach((row, i) => lines.push([...row.saved, answers.get(i) ?? ""]));
  return lines.map((cells) => cells.map(quoted).join(",") + "\n").join("");
}
function save() {
  const text = table();
  const mark = /[^\x00-\x7f]/.test(text) ? "\ufeff" : "";  // without it Excel reads other letters
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([mark + text], { type: "text/csv;charset=utf-8" }));
  link.download = data.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- keys
function typed(event) {
  if (event.key === "Enter" && found.length) answer(found[Math.min(place, found.length - 1)]);
  else if (event.key === "ArrowDown") place = Math.min(place + 1, Math.min(found.length, MANY) - 1);
  else if (event.key === "ArrowUp") place = Math.max(place - 1, 0);
  else if (event.key === "Escape") at("search").blur();
  else return;
  event.preventDefault();
  if (event.key !== "Enter") showClasses();
}
function pressed(event) {
  if (event.target === at("search")) return typed(event);
  const command = event.ctrlKey || event.metaKey;
  if (event.altKey || (command && event.key !== "z")) return;
  const key = event.key;
  if (/^[0-9]$/.test(key) && !searching) {
    const name = digits ? key : data.classes[Number(key) - 1];
    if (data.classes.includes(name)) answer(name);
    return;
  }
  const does = {
    d: () => answer(UNKNOWN), "?": () => answer(UNKNOWN), u: undo, z: undo, Backspace: undo, s: save, m: toggle,
    ArrowLeft: () => go(-1), ArrowRight: () => go(1), "/": () => at("search").focus(),
  }[key];
  if (!does) return;
  event.preventDefault();
  does();
}

at("find").hidden = !searching;
at("file").textContent = data.file;
at("search").addEventListener("input", search);
at("search").addEventListener("focus", showClasses);
document.addEventListener("keydown", pressed);
for (const [id, call] of Object.entries({ save, undo, clear, show: toggle })) at(id).onclick = call;
at("unknown").onclick = () => answer(UNKNOWN);
at("back").onclick = () => go(-1);
at("next").onclick = () => go(1);
window.addEventListener("beforeunload", (event) => {
  if (!kept && answers.size) event.preventDefault();
});
window.addEventListener("storage", (event) => {  // another tab has the same page: its answers are read before ours are kept
  if (event.key === memory && event.newValue) {
    recall(false);
    show();
  }
});
recall(true);
show();
