// Decisions of a person: kept a row, undone and redone in steps, remembered by the browser.

const CODES = ["", "accept", "reject", "relabel", "foreign"];
const ACCEPT = 1, REJECT = 2, RELABEL = 3, MARK_FOREIGN = 4;
const decisions = new Uint8Array(N);
const chosen = new Int32Array(N).fill(NONE);
const done = [];
const undone = [];
let decided = 0;
let decidedFlagged = 0;
// The same verdicts that the list shows at first.
const DOUBTS = ["mislabelled", "foreign", "duplicate conflict"];
const isDoubt = verdictNames.map((name) => DOUBTS.includes(name));
const flagged = verdictNames.reduce((sum, _, code) => sum + (isDoubt[code] ? counts[code] : 0), 0);
const STORAGE_KEY = `lond-audit:${payload.key}`;
let storageWorks = true;
let saveTimer = 0;
let unsaved = false;

// The label after the decisions; NONE where the image leaves the set.
function finalLabel(row) {
  switch (decisions[row]) {
    case ACCEPT: return proposedLabel(row);
    case RELABEL: return chosen[row];
    case MARK_FOREIGN: return NONE;
    default: return given[row];
  }
}

function decisionText(row) {
  switch (decisions[row]) {
    case ACCEPT: return `accepted: ${proposal(row)}`;
    case REJECT: return `rejected: stays ${labelName(given[row])}`;
    case RELABEL: return `relabelled: ${labelName(chosen[row])}`;
    case MARK_FOREIGN: return "marked foreign";
    default: return "undecided";
  }
}

function put(row, code, label) {
  const change = (code ? 1 : 0) - (decisions[row] ? 1 : 0);
  decided += change;
  if (isDoubt[verdict[row]]) decidedFlagged += change;
  decisions[row] = code;
  chosen[row] = code === RELABEL ? label : NONE;
}

// One step: `codes` and `to` are one value for all rows, or one a row.
function decide(rows, codes, to, text) {
  const pick = (values, at) => (typeof values === "number" ? values : values[at]);
  const step = { text, rows: Int32Array.from(rows), before: [], beforeTo: [], after: [], afterTo: [] };
  step.rows.forEach((row, at) => {
    step.before.push(decisions[row]);
    step.beforeTo.push(chosen[row]);
    step.after.push(pick(codes, at));
    step.afterTo.push(pick(to, at));
    put(row, step.after[at], step.afterTo[at]);
  });
  done.push(step);
  undone.length = 0;
  changed(step.rows);
  say(text, true);
}

function undo() {
  const step = done.pop();
  if (!step) return say("Nothing to undo");
  step.rows.forEach((row, at) => put(row, step.before[at], step.beforeTo[at]));
  undone.push(step);
  changed(step.rows);
  say(`Undone: ${step.text}`);
  return step;
}

function redo() {
  const step = undone.pop();
  if (!step) return say("Nothing to redo");
  step.rows.forEach((row, at) => put(row, step.after[at], step.afterTo[at]));
  done.push(step);
  changed(step.rows);
  say(`Done again: ${step.text}`);
  return step;
}

function changed(rows) {
  unsaved = true;
  clearTimeout(saveTimer);
  saveTimer = setTimeout(save, 200);
  emit("decided", rows);
}

function save() {
  clearTimeout(saveTimer);
  if (!unsaved || !storageWorks) return;
  const rows = [];
  const codes = [];
  const names = {};
  for (let row = 0; row < N; row += 1) {
    if (!decisions[row]) continue;
    rows.push(row);
    codes.push(decisions[row]);
    if (decisions[row] === RELABEL) names[row] = labels[chosen[row]];
  }
  try {
    if (rows.length) localStorage.setItem(STORAGE_KEY, JSON.stringify({ rows, codes, names }));
    else localStorage.removeItem(STORAGE_KEY);
    unsaved = false;
  } catch {
    storageFails();
  }
}

function codeOfLabel(name) {
  if (name === "") return NONE;
  if (!codeOfLabel.codes) codeOfLabel.codes = new Map(labels.map((label, code) => [label, code]));
  if (!codeOfLabel.codes.has(name)) {
    codeOfLabel.codes.set(name, labels.length);
    labels.push(name);
    emit("labels");
  }
  return codeOfLabel.codes.get(name);
}

function restore() {
  let text = null;
  try {
    text = localStorage.getItem(STORAGE_KEY);
    localStorage.setItem(`${STORAGE_KEY}:try`, "1");
    localStorage.removeItem(`${STORAGE_KEY}:try`);
  } catch {
    storageFails();
  }
  for (let row = 0; row < N; row += 1) if (decisions[row]) put(row, 0, NONE);
  try {
    const kept = JSON.parse(text || '{"rows":[]}');
    kept.rows.forEach((row, at) => {
      if (!Number.isInteger(row) || row < 0 || row >= N || !CODES[kept.codes[at]]) return;
      if (kept.codes[at] === RELABEL && typeof kept.names[row] !== "string") return;
      put(row, kept.codes[at], kept.codes[at] === RELABEL ? codeOfLabel(kept.names[row]) : NONE);
    });
  } catch {
    say("The decisions kept by the browser could not be read");
  }
}

function storageFails() {
  storageWorks = false;
  $("storage-note").hidden = false;
  $("storage-note").textContent = "This browser does not keep decisions for this page. Download them before you close it.";
}

let toastTimer = 0;
function say(text, undoable = false) {
  $("toast-text").textContent = text;
  $("toast-undo").hidden = !undoable;
  $("toast").classList.add("up");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("up"), 4000);
}

window.addEventListener("pagehide", save);
document.addEventListener("visibilitychange", save);
window.addEventListener("beforeunload", (event) => {
  if (unsaved && !storageWorks && decided) event.preventDefault();
});
// The same page in another tab has decided: take that over rather than overwrite it.
window.addEventListener("storage", (event) => {
  if (event.key !== STORAGE_KEY) return;
  restore();
  done.length = 0;
  undone.length = 0;
  emit("decided", Int32Array.from({ length: N }, (_, row) => row));
});
