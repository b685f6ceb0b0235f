// Decisions of a person: kept a row, undone and redone in steps, remembered by the browser.

const CODES = ["", "accept", "not sure", "relabel", "foreign", "keep"];
// Files and tables of earlier versions say "reject".
const codeOfWord = (word) => CODES.indexOf(word === "reject" ? "not sure" : word);
const ACCEPT = 1, REJECT = 2, RELABEL = 3, MARK_FOREIGN = 4, KEEP = 5;
const decisions = new Uint8Array(N);
const chosen = new Int32Array(N).fill(NONE);
// Images of which a person said that they repeat no other image.
const apart = new Uint8Array(N);
// Images that got their decision with their whole group of copies, not by hand.
const withGroup = new Uint8Array(N);
const done = [];
const undone = [];
let decided = 0;
let decidedFlagged = 0;
let keptBefore = 0;
// The same images that the list shows at first.
const DOUBTS = ["mislabelled", "foreign", "duplicate conflict"];
const isDoubt = verdictNames.map((name) => DOUBTS.includes(name));
const isListed = (row) => isDoubt[verdict[row]] || isUnsureClean[row] > 0;
const flagged = verdict.reduce((sum, _, row) => sum + (isListed(row) ? 1 : 0), 0);
const DOUBTS_MEAN = "Doubts are the images judged mislabelled, foreign or duplicate conflict, and those called clean with a confidence below 50 %.";
const STORAGE_KEY = `lond-audit:${payload.key}`;
let storageWorks = true;
let saveTimer = 0;
let unsaved = false;

// Decisions of an earlier look came with the table; the verdict, and the suggestion of a new label, follow them.
function valueBefore(row) {
  const word = codeOfWord(decidedBefore(row));
  const code = word === RELABEL && judgedBefore(row)?.[1] === labels[suggested[row]] ? ACCEPT : word;
  return code > 0 ? { code, to: code === RELABEL ? suggested[row] : NONE, alone: 0 } : null;
}
// How the image was judged when it was decided on: [verdict, suggested label, confidence]; undefined where that is not known.
const judgedBefore = (row) => summary.second_look?.judged?.[idOf(row)];
// Decisions of different words may leave the same label.
const isKept = (row) => {
  const before = valueBefore(row);
  if (before === null || !decisions[row] || (before.code === REJECT) !== (decisions[row] === REJECT)) return false;
  return labelAfter(row, before) === finalLabel(row);
};
const hasDecidedBefore = columns.decided.values.some((word) => word !== "");

const canAccept = (row) => leaves(row) || proposedLabel(row) !== NONE;
// The first answer and its chance, [code, chance]: accepting, unless foreign or the given label is likelier. In a conflict
// the likeliest label of the copies comes first, and what a person decided before stands.
function likeliestAnswer(row) {
  const { sureness, foreign_score: foreign } = scores;
  const proposed = [ACCEPT, sureness[row]];
  if (!isJudged(row) || decidedBefore(row) || copiesComeFirst(row) || verdict[row] === UNREADABLE || !canAccept(row) || !Number.isFinite(sureness[row])) return proposed;
  const others = [[MARK_FOREIGN, verdict[row] === FOREIGN ? NONE : foreign[row]]];
  const chances = chancesOf(row);
  if (chances && verdict[row] !== CLEAN && verdict[row] !== CONFLICT) others.push([KEEP, chances[0]]);
  return others.reduce((best, other) => (other[1] > best[1] ? other : best), proposed);
}
const codeOfYes = Uint8Array.from({ length: N }, (_, row) => likeliestAnswer(row)[0]);
const chanceOfYes = (row) => likeliestAnswer(row)[1];
// Whether the likeliest answer is another one than the verdict's.
const isContrary = (row) => codeOfYes[row] !== ACCEPT;
// What an image is shown and counted as: its verdict, or unsure. A conflict and a missing label remain what they are.
const UNSURE = verdictNames.length;
const kindNames = [...verdictNames, UNSURE_NAME];
const isUnsure = (row) => isUnsureClean[row] > 0 || (isContrary(row) && (verdict[row] === MISLABELLED || verdict[row] === CLEAN));
const kinds = Uint8Array.from(verdict, (code, row) => (isUnsure(row) ? UNSURE : code));
const kindOf = (row) => kindNames[kinds[row]];
const kindCounts = new Uint32Array(kindNames.length);
// How many images of each verdict are shown as unsure.
const unsureOf = new Uint32Array(verdictNames.length);
for (let row = 0; row < N; row += 1) {
  kindCounts[kinds[row]] += 1;
  if (kinds[row] === UNSURE) unsureOf[verdict[row]] += 1;
}
// Unsure images stand first in groups: they most need a look.
const rankOfKind = [...rankOfVerdict, -1];
const takeLikeliest = (rows, text) => takeStep(rows, (row) => ({ code: codeOfYes[row], to: NONE }), text);
// How many of some images get another answer than the suggested one, in words; "" if none.
function otherwise(rows) {
  const times = (code) => rows.reduce((sum, row) => sum + (codeOfYes[row] === code ? 1 : 0), 0);
  const parts = [[MARK_FOREIGN, "as foreign"], [KEEP, "with the label kept"]].map(([code, words]) => [times(code), words]).filter(([n]) => n);
  return parts.length ? `${parts.map(([n, words]) => `${number.format(n)} ${words}`).join(" and ")}, which is likelier than the suggestion` : "";
}

const isDecided = (row) => decisions[row] > 0 || apart[row] > 0;

// The label after a decision; NONE where the image leaves the set.
function labelAfter(row, { code, to }) {
  switch (code) {
    case ACCEPT: return proposedLabel(row);
    case RELABEL: return to;
    case MARK_FOREIGN: return NONE;
    default: return verdict[row] === UNREADABLE ? NONE : given[row];
  }
}
const finalLabel = (row) => labelAfter(row, valueOf(row));

function decisionText(row) {
  const parts = [];
  switch (decisions[row]) {
    case ACCEPT: parts.push(`accepted: ${proposal(row)}`); break;
    case REJECT: parts.push(`not sure: stays ${labelName(given[row])}`); break;
    case RELABEL: parts.push(`relabelled: ${labelName(chosen[row])}`); break;
    case MARK_FOREIGN: parts.push("marked foreign"); break;
    case KEEP: parts.push(`label kept: ${labelName(given[row])}`); break;
    default: break;
  }
  if (apart[row]) parts.push("not the same picture");
  return parts.join("; ") || "undecided";
}

function put(row, { code, to, alone, grouped = 0 }) {
  const [before, wasKept] = [isDecided(row), isKept(row)];
  decisions[row] = outcomeOf(row, code, to);
  chosen[row] = decisions[row] === RELABEL ? to : NONE;
  apart[row] = alone;
  withGroup[row] = grouped;
  const change = isDecided(row) - before;
  decided += change;
  keptBefore += isKept(row) - wasKept;
  if (isListed(row)) decidedFlagged += change;
}

const valueOf = (row) => ({ code: decisions[row], to: chosen[row], alone: apart[row], grouped: withGroup[row] });
// A new decision is one by hand, unless it says otherwise.
const changedValue = (value, change) => ({ ...value, ...("code" in change ? { grouped: 0 } : {}), ...change });

// One step; `changeOf` gives what changes of a row's value.
function takeStep(rows, changeOf, text) {
  const step = { text, rows: Int32Array.from(rows) };
  step.before = Array.from(step.rows, valueOf);
  step.after = step.before.map((value, at) => changedValue(value, changeOf(step.rows[at], at)));
  step.rows.forEach((row, at) => put(row, step.after[at]));
  done.push(step);
  undone.length = 0;
  changed(step.rows);
  say(text, true);
}
const decide = (rows, code, to, text) => takeStep(rows, () => ({ code, to }), text);
const setApart = (rows, alone, text) => takeStep(rows, () => ({ alone: alone ? 1 : 0 }), text);

function undo() {
  const step = done.pop();
  if (!step) return say("Nothing to undo");
  step.rows.forEach((row, at) => put(row, step.before[at]));
  undone.push(step);
  changed(step.rows);
  say(`Undone: ${step.text}`);
  return step;
}

function redo() {
  const step = undone.pop();
  if (!step) return say("Nothing to redo");
  step.rows.forEach((row, at) => put(row, step.after[at]));
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
  const kept = { rows: [], codes: [], names: {}, apart: [], grouped: [] };
  for (let row = 0; row < N; row += 1) {
    if (apart[row]) kept.apart.push(row);
    if (withGroup[row]) kept.grouped.push(row);
    if (!decisions[row]) continue;
    kept.rows.push(row);
    // By its name, an accepted label of a copy is no other suggestion's.
    const isNamed = decisions[row] === RELABEL || (decisions[row] === ACCEPT && copiesComeFirst(row));
    kept.codes.push(isNamed ? RELABEL : decisions[row]);
    if (isNamed) kept.names[row] = labels[finalLabel(row)];
  }
  try {
    if (decided || hasDecidedBefore) localStorage.setItem(STORAGE_KEY, JSON.stringify(kept));
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
  for (let row = 0; row < N; row += 1) {
    const before = text === null && hasDecidedBefore ? valueBefore(row) : null;
    if (before || isDecided(row)) put(row, before || { code: 0, to: NONE, alone: 0 });
  }
  try {
    const kept = JSON.parse(text || '{"rows":[]}');
    const isRow = (row) => Number.isInteger(row) && row >= 0 && row < N;
    kept.rows.forEach((row, at) => {
      const code = kept.codes[at];
      if (!isRow(row) || !CODES[code]) return;
      if (code === RELABEL && typeof kept.names[row] !== "string") return;
      if (code === ACCEPT && copiesComeFirst(row)) put(row, { code: RELABEL, to: proposedByAudit(row), alone: 0 });
      else put(row, { code, to: code === RELABEL ? codeOfLabel(kept.names[row]) : NONE, alone: 0 });
    });
    for (const row of (kept.apart || []).filter(isRow)) put(row, { ...valueOf(row), alone: 1 });
    for (const row of (kept.grouped || []).filter(isRow)) put(row, { ...valueOf(row), grouped: 1 });
  } catch {
    say("The decisions kept by the browser could not be read");
  }
}

function storageFails() {
  storageWorks = false;
  $("storage-note").hidden = false;
  $("storage-note").textContent = "This browser does not keep decisions for this page. Download them before you close it.";
}

// Over an open dialog lies only what is inside it, and only that can be clicked: there the message stands above the buttons.
function placeToast() {
  const dialog = document.querySelector("dialog[open]");
  const room = dialog?.querySelector("form, .buttons") ?? dialog ?? document.body;
  if ($("toast").parentElement !== room) room.append($("toast"));
}
const hideToast = () => $("toast").classList.remove("up");

let toastTimer = 0;
function say(text, undoable = false) {
  placeToast();
  $("toast-text").textContent = text;
  $("toast-undo").hidden = !undoable;
  $("toast").classList.add("up");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(hideToast, 4000);
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
