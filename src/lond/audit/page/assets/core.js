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
const qualityNames = columns.quality.values;
const qualityBits = numbersOf(columns.quality.bits);
const qualityOf = (row) => qualityNames.filter((_, bit) => qualityBits[row] & (1 << bit));
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
const styleOf = (name) => STYLES[name] || { mark: "○", colour: "--clean", means: "" };
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
const figure = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–");
// Never round up to certainty.
const sure = (share) => (Number.isFinite(share) ? `${Math.min(share < 1 ? 99.9 : 100, 100 * share).toFixed(1)} %` : "–");

// The same in as few letters as a card has room for.
const sureInShort = (share) => (Number.isFinite(share) ? `${share < 1 ? Math.min(99, Math.round(100 * share)) : 100} %` : "–");

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
const isUnsureClean = Uint8Array.from(verdict, (code, row) => (code === CLEAN && scores.confidence[row] < 0.5 ? 1 : 0));
const unsureCount = isUnsureClean.reduce((sum, isUnsure) => sum + isUnsure, 0);
// Scores of version 0.1 are no chances.
const hasChances = (row) => !Number.isFinite(scores.p_value[row]);
// What such an image may be rather than clean: [words, chance], or null.
function perhaps(row) {
  if (!isUnsureClean[row]) return null;
  const { confidence, foreign_score: foreign, wrong_score: wrong } = scores;
  const likeliest = [["perhaps foreign", foreign[row]], ["perhaps wrong", wrong[row]]]
    .filter(([, chance]) => hasChances(row) && chance > confidence[row]).sort((a, b) => b[1] - a[1])[0];
  return likeliest || ["perhaps clean", confidence[row]];
}
// Whether the audit tells chances of this image; without a label there is none that the label is wrong.
const isJudged = (row) => hasChances(row) && Number.isFinite(scores.foreign_score[row]);
const isWithoutLabel = (row) => isJudged(row) && given[row] === NONE;
// The three chances of an image, which sum to one: [right, wrong, foreign]; null where the audit gives none.
function chancesOf(row) {
  const { foreign_score: foreign, wrong_score: wrong } = scores;
  if (!isJudged(row) || given[row] === NONE || !Number.isFinite(wrong[row])) return null;
  return [Math.max(0, 1 - wrong[row] - foreign[row]), wrong[row], foreign[row]];
}
// Called mislabelled, because it is not sure enough to be called foreign, which is likelier.
const isPerhapsForeign = (row) => { const chances = chancesOf(row); return verdict[row] === MISLABELLED && !decidedBefore(row) && chances !== null && chances[2] > chances[1]; };
// What a card says besides the labels: words, and the chance that exactly these words are true (null: it has none).
function told(row) {
  const found = perhaps(row);
  const words = styleOf(verdictOf(row)).short ?? verdictOf(row);
  const chances = chancesOf(row);
  if (found) return found;
  // A verdict that is not the likeliest, or likelier wrong than right, says so in its words.
  if (verdict[row] === MISLABELLED && chances) return isPerhapsForeign(row) ? ["perhaps foreign", chances[2]] : [chances[1] < 0.5 ? "perhaps wrong" : words, chances[1]];
  return [words, verdict[row] === CLEAN || verdict[row] === FOREIGN || (!chances && !isWithoutLabel(row)) ? scores.sureness[row] : null];
}
const toldInWords = (row) => { const [words, chance] = told(row); return Number.isFinite(chance) && !isJudgedByP(row) ? `${words} ${sure(chance)}` : ""; };
// The chance of the suggested label to be the true one; NaN where the verdict is about the given label.
const chanceOfSuggestion = (row) => ((chancesOf(row) || isWithoutLabel(row)) && verdict[row] !== CLEAN && verdict[row] !== FOREIGN ? scores.sureness[row] : NaN);
// All chances of an image by name, a line each, as the tip of a card tells them.
function chancesInWords(row) {
  const chances = chancesOf(row);
  const lines = Number.isFinite(chanceOfSuggestion(row)) && suggested[row] !== NONE ? [[`the true label is ${labelName(suggested[row])}`, chanceOfSuggestion(row)]] : [];
  if (chances) lines.push(["the given label is right", chances[0]], ["the label is wrong (another class)", chances[1]], ["the image is foreign (no class)", chances[2]]);
  else if (isWithoutLabel(row)) lines.push(["the image is foreign (no class)", scores.foreign_score[row]]);
  return lines.map(([words, chance]) => `${sure(chance)} chance that ${words}`);
}
// Which limit an image is past that is not called what is likeliest; "" where there is nothing to explain.
function whyCalled(row) {
  const chances = chancesOf(row);
  if (!chances || decidedBefore(row)) return "";
  const [right, wrong, foreign] = chances;
  const fromForeign = percent(summary.threshold ?? 0.65);
  const fromWrong = percent(summary.wrong_threshold ?? 0.45);
  if (verdict[row] === MISLABELLED && foreign > wrong) return `Foreign is likelier, but is called so only from ${fromForeign} on. Called mislabelled because the probability that the label is wrong, given that the image is not foreign, is ${sure(wrong / (wrong + right))}, which exceeds ${fromWrong}.`;
  if (verdict[row] === MISLABELLED && right >= wrong) return `Called mislabelled because the probability that the label is wrong, given that the image is not foreign, is ${sure(wrong / (wrong + right))}, which exceeds ${fromWrong}.`;
  if (isUnsureClean[row]) return `Called clean because no other verdict reaches its limit: foreign takes a probability of ${fromForeign}, mislabelled one of ${fromWrong} that the label is wrong, given that the image is not foreign.`;
  return "";
}

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
