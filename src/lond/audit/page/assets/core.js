// What all parts share: the decoded data, safe text, elements and signals.

const $ = (id) => document.getElementById(id);
const payload = JSON.parse($("data").textContent);
$("data").remove();

const ARRAYS = { f4: Float32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

const numbersOf = (column) => new ARRAYS[column.type](bytesOf(column.data).buffer);

// A column of texts, as a function of the row.
function textsOf(column) {
  if (column.type === "plain") return (row) => column.values[row];
  const codes = numbersOf(column.codes);
  return (row) => column.values[codes[row]];
}

const columns = payload.columns;
const N = payload.rows;
const NONE = -1;
const labels = columns.labels;
const idOf = textsOf(columns.id);
const pathOf = columns.path.type === "same" ? idOf : textsOf(columns.path);
const reasonOf = textsOf(columns.reason);
const given = numbersOf(columns.label);
const suggested = numbersOf(columns.suggested_label);
const verdict = numbersOf(columns.verdict.codes);
const verdictNames = columns.verdict.values;
const duplicateOf = numbersOf(columns.duplicate_of);
const neighbours = numbersOf(columns.neighbours);
const neighbourWidth = columns.neighbours.width;
const rank = numbersOf(columns.rank);
const copyOf = textsOf(columns.copy);
// What a person had decided before this look, "" for nothing.
const decidedBefore = textsOf(columns.decided);
// What is shown of such an image is what the person said: chances of one or nothing, which no audit judged.
const isYourVerdict = (row) => !["", "not sure", "reject"].includes(decidedBefore(row));
const qualityNames = columns.quality.values;
const qualityBits = numbersOf(columns.quality.bits);
// Features of such pictures cannot be trusted, nor can a verdict that doubts their label, however sure it seems.
const HARD_TO_SEE = ["dark", "bright", "blurred", "uniform", "seen in part"];
const hardBits = qualityNames.reduce((bits, name, bit) => bits | (HARD_TO_SEE.includes(name) ? 1 << bit : 0), 0);
const isHardToSee = (row) => (qualityBits[row] & hardBits) > 0 && (verdict[row] === FOREIGN || verdict[row] === MISLABELLED);
const qualityOf = (row) => qualityNames.filter((_, bit) => qualityBits[row] & (1 << bit));
// What makes an image hard to see.
const hardnessOf = (row) => (isHardToSee(row) ? qualityOf(row).filter((name) => HARD_TO_SEE.includes(name)) : []);
const scores = {
  sureness: numbersOf(columns.sureness), confidence: numbersOf(columns.confidence),
  neighbour_margin: numbersOf(columns.neighbour_margin), negative_margin: numbersOf(columns.negative_margin),
  wrong_score: numbersOf(columns.wrong_score), foreign_score: numbersOf(columns.foreign_score), p_value: numbersOf(columns.p_value),
};
const summary = payload.summary || {};

// Verdict -> what to say, which mark, which colour (a custom property of the style sheet).
const STYLES = {
  mislabelled: { mark: "▲", colour: "--mislabelled", means: "seems to belong to another class" },
  foreign: { mark: "■", colour: "--foreign", means: "seems to belong to no known class" },
  "duplicate conflict": { mark: "◆", colour: "--duplicate", means: "repeated under different labels", short: "conflict" },
  unlabelled: { mark: "✚", colour: "--unlabelled", means: "had no label" },
  clean: { mark: "●", colour: "--clean", means: "agrees with its label" },
  unreadable: { mark: "✕", colour: "--unreadable", means: "cannot be opened" },
};
for (const name of Object.keys(STYLES)) if (!verdictNames.includes(name)) verdictNames.push(name);
const ORDER = Object.keys(STYLES);
// What the page shows in place of a verdict that another answer contradicts; no verdict of the table.
const UNSURE_NAME = "unsure";
const UNSURE_STYLE = { mark: "◐", colour: "--ink", means: "another answer is likelier than the verdict" };
const styleOf = (name) => STYLES[name] || (name === UNSURE_NAME ? UNSURE_STYLE : null) || { mark: "○", colour: "--clean", means: "" };
const rankOfVerdict = verdictNames.map((name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length));
const verdictsInOrder = verdictNames.map((_, code) => code).sort((a, b) => rankOfVerdict[a] - rankOfVerdict[b]);
const verdictOf = (row) => verdictNames[verdict[row]];
const counts = new Uint32Array(verdictNames.length);
for (let row = 0; row < N; row += 1) counts[verdict[row]] += 1;
const CLEAN = verdictNames.indexOf("clean");
const MISLABELLED = verdictNames.indexOf("mislabelled");
const FOREIGN = verdictNames.indexOf("foreign");
const CONFLICT = verdictNames.indexOf("duplicate conflict");
const UNREADABLE = verdictNames.indexOf("unreadable");

const number = new Intl.NumberFormat("en-GB");
const count = (value, one, many = `${one}s`) => `${number.format(value)} ${value === 1 ? one : many}`;
const percent = (share, digits = 0) => (Number.isFinite(share) ? `${(100 * share).toFixed(digits)} %` : "–");
const withMinus = (text) => text.replace("-", "−");
const figure = (value) => (Number.isFinite(value) ? withMinus(String(Number(value.toPrecision(4)))) : "–");
// Limits between verdicts; those of version 0.1 are no chances, and none is reached by rounding.
const FOREIGN_FROM = summary.threshold ?? 0.65;
const WRONG_FROM = summary.wrong_threshold ?? 0.45;
const UNSURE_BELOW = 0.5;
// A chance in percent; rounding takes it neither to certainty nor to a limit that it does not reach.
function chanceText(share, digits) {
  if (!Number.isFinite(share)) return "–";
  if (share >= 1) return `${(100).toFixed(digits)} %`;
  const unit = 10 ** digits;
  const passes = [UNSURE_BELOW, FOREIGN_FROM, 1].some((limit) => share < Math.fround(limit) && Math.round(100 * unit * share) >= 100 * unit * limit);
  return `${((passes ? Math.floor : Math.round)(100 * unit * share) / unit).toFixed(digits)} %`;
}
const sure = (share) => chanceText(share, 1);
// The same in as few letters as a card has room for.
const sureInShort = (share) => chanceText(share, 0);

// Audits of version 0.1 have p-values: no probability of being foreign, so never shown as a share of sureness.
const twoDigits = (value) => Number(value.toPrecision(2));
const isJudgedByP = (row) => verdict[row] === FOREIGN && Number.isFinite(scores.p_value[row]);
function strength(row) {
  if (!isJudgedByP(row)) return sure(scores.sureness[row]);
  const p = scores.p_value[row];
  return p < 0.001 ? "p < 0.001" : `p ${twoDigits(p)}`;
}
function ofWhat(row) {
  if (verdict[row] === FOREIGN) return "chance of being foreign";
  return verdict[row] === CLEAN ? "chance that the label is right" : "chance of the suggested label";
}
function strengthInWords(row) {
  if (!Number.isFinite(scores.sureness[row])) return "";
  if (!isJudgedByP(row)) return `${ofWhat(row)} ${sure(scores.sureness[row])}`;
  const p = scores.p_value[row];
  return `${strength(row)}: as high a score in ${p < 0.001 ? "less than 0.1" : twoDigits(100 * p)} % of known images`;
}

// Called clean, because no other verdict is sure enough, and yet likelier not to be.
const isUnsureClean = Uint8Array.from(verdict, (code, row) => (code === CLEAN && scores.confidence[row] < UNSURE_BELOW ? 1 : 0));
// Scores of version 0.1 are no chances.
const hasChances = (row) => !Number.isFinite(scores.p_value[row]);
// Whether the audit tells chances of this image; without a label there is none that the label is wrong.
const isJudged = (row) => hasChances(row) && Number.isFinite(scores.foreign_score[row]);
// Where the labels of a set fit its images too badly, no image is called foreign, whatever its chance.
const callsForeign = !verdict.some((code, row) => code !== FOREIGN && code !== CONFLICT && isJudged(row) && !decidedBefore(row) && scores.foreign_score[row] > FOREIGN_FROM);
const NONE_FOREIGN = "no image of this set is called foreign, because the labels fit the images too badly";
const isWithoutLabel = (row) => isJudged(row) && given[row] === NONE;
// The three chances of an image, which sum to one: [right, wrong, foreign]; null where the audit gives none.
function chancesOf(row) {
  const { foreign_score: foreign, wrong_score: wrong } = scores;
  if (!isJudged(row) || given[row] === NONE || !Number.isFinite(wrong[row])) return null;
  return [Math.max(0, 1 - wrong[row] - foreign[row]), wrong[row], foreign[row]];
}
// The chance of the suggested label to be the true one; NaN where the verdict is about the given label.
const chanceOfSuggestion = (row) => ((chancesOf(row) || isWithoutLabel(row)) && verdict[row] !== CLEAN && verdict[row] !== FOREIGN ? scores.sureness[row] : NaN);
// Text of strangers, made harmless to look at: what cannot be seen becomes visible, what is too long loses its middle.
function show(text, limit = 160) {
  let safe = String(text ?? "");
  if (safe.length > limit) safe = `${safe.slice(0, Math.ceil(limit * 0.55))} … ${safe.slice(-Math.floor(limit * 0.4))}`;
  return safe
    .replace(/\p{Cs}/gu, "\ufffd")
    .replace(/\r?\n/g, "↵")
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
      (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}
const labelName = (code, limit = 60) => (code === NONE ? "no label" : show(labels[code], limit));
const nameOf = (reference) => (reference < N ? idOf(reference) : columns.strangers[reference - N]);
const folderName = (row) => show(pathOf(row).split(/[/\\]/).slice(-2, -1)[0] ?? "", 60);
const fileName = (row) => show(pathOf(row).split(/[/\\]/).pop() || pathOf(row), 80);

// An element; texts are only ever set as text.
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function svg(tag, properties = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function markOf(name) {
  const mark = make("span", { class: "mark", "aria-hidden": "true", text: styleOf(name).mark });
  mark.style.color = `var(${styleOf(name).colour})`;
  return mark;
}

const hearers = {};
const on = (signal, hear) => (hearers[signal] ||= []).push(hear);
const emit = (signal, value) => (hearers[signal] || []).forEach((hear) => hear(value));

const state = { tab: "overview", current: NONE, view: new Int32Array(0), groups: [], passes: new Uint8Array(N) };

// What is proposed for an image, and what its label becomes if that is accepted (NONE: it leaves the set).
const leaves = (row) => verdict[row] === FOREIGN || verdict[row] === UNREADABLE;
function proposedLabel(row) {
  if (leaves(row)) return NONE;
  return verdict[row] === CLEAN || suggested[row] === NONE ? given[row] : suggested[row];
}
function proposal(row) {
  if (verdict[row] === FOREIGN) return "foreign";
  if (verdict[row] === UNREADABLE) return "leave out";
  return labelName(proposedLabel(row));
}
