// Decisions as CSV, out and in.

const HEAD = ["id", "path", "label", "verdict", "suggested_label", "confidence", "decision", "new_label", "not_a_copy"];
const BOM = "\ufeff";

// The same rules as in lond.audit.cells: a cell that a spreadsheet would run gets an apostrophe in front (apostrophes
// before such a cell count, or undoing would be ambiguous), and what UTF-8 cannot hold is written as \udcXX.
const neutralise = (text) => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const undoNeutralise = (text) => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text);
const printable = (text) => text.replace(/\p{Cs}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
const quoted = (text) => (/[",\r\n;\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const textCell = (text) => quoted(neutralise(printable(text)));
const labelCell = (code) => (code === NONE ? "" : textCell(labels[code]));

function toCsv(onlyDecided) {
  const lines = [HEAD.join(",")];
  for (let row = 0; row < N; row += 1) {
    if (onlyDecided && !isDecided(row)) continue;
    const confidence = scores.confidence[row];
    lines.push([
      textCell(idOf(row)), textCell(pathOf(row)), labelCell(given[row]), textCell(verdictOf(row)), labelCell(suggested[row]),
      Number.isFinite(confidence) ? String(Number(confidence.toPrecision(6))) : "", CODES[decisions[row]], onlyDecided && decisions[row] === REJECT ? "" : labelCell(finalLabel(row)),
      apart[row] ? "yes" : "",
    ].join(","));
  }
  return `${BOM}${lines.join("\r\n")}\r\n`;
}

function download(onlyDecided) {
  const url = URL.createObjectURL(new Blob([toCsv(onlyDecided)], { type: "text/csv;charset=utf-8" }));
  const link = make("a", { href: url, download: onlyDecided ? "decisions.csv" : "corrected_labels.csv" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(onlyDecided ? `Downloaded ${count(decided, "decision")}` : `Downloaded ${count(N, "row")}`);
}

// Cells of a CSV file, a list a line; quotes may hold separators and line ends.
function parseCsv(text) {
  const source = text.startsWith(BOM) ? text.slice(1) : text;
  const separator = separatorOf(source);
  const lines = [];
  let line = [];
  let at = 0;
  while (at < source.length) {
    let cell = "";
    if (source[at] === '"') {
      at += 1;
      for (;;) {
        const end = source.indexOf('"', at);
        if (end < 0) throw new Error("a quoted cell has no end");
        cell += source.slice(at, end);
        at = end + 1;
        if (source[at] !== '"') break;
        cell += '"';
        at += 1;
      }
    }
    const start = at;
    while (at < source.length && source[at] !== separator && source[at] !== "\n" && source[at] !== "\r") at += 1;
    line.push(cell + source.slice(start, at));
    if (source[at] === separator) {
      at += 1;
      if (at < source.length) continue;
      line.push("");
    }
    if (source[at] === "\r" && source[at + 1] === "\n") at += 1;
    at += 1;
    lines.push(line);
    line = [];
  }
  return lines.filter((cells) => cells.length > 1 || cells[0] !== "");
}

// Spreadsheets of some countries write semicolons.
function separatorOf(source) {
  const head = source.slice(0, source.search(/[\r\n]|$/));
  const times = (sign) => head.split(sign).length;
  return [",", ";", "\t"].reduce((best, sign) => (times(sign) > times(best) ? sign : best));
}

// Row of an id; ids that two rows share name neither.
function rowsById() {
  const rows = new Map();
  for (let row = 0; row < N; row += 1) {
    const name = printable(idOf(row));
    rows.set(name, rows.has(name) ? NONE : row);
  }
  return rows;
}

function importCsv(text) {
  const [head, ...lines] = parseCsv(text);
  const place = Object.fromEntries((head || []).map((name, at) => [name.trim(), at]));
  const missing = ["id", "decision"].filter((name) => !(name in place));
  if (missing.length) throw new Error(`it has no column ${missing.join(" and ")}`);
  const rows = rowsById();
  const found = new Map();
  const faults = { unknown: 0, odd: 0 };
  for (const cells of lines) readLine(cells, place, rows, found, faults);
  return { found, faults };
}

// What "accept" says in a file: its own verdict and suggestion, which need not be those of this page.
function valueOfAccept(row, cells, place) {
  const word = (cells[place.verdict] || "").trim();
  const label = undoNeutralise(cells[place.suggested_label] || "");
  const isOurs = word === verdictOf(row) && (!label || label === printable(labels[suggested[row]] ?? ""));
  if (!word || isOurs) return { code: ACCEPT, to: NONE };
  if (word === "foreign") return { code: MARK_FOREIGN, to: NONE };
  if (word === "clean") return { code: KEEP, to: NONE };
  if (!label || word === "unreadable") return { code: ACCEPT, to: NONE };
  const to = codeOfLabel(label);
  if (to === given[row]) return { code: KEEP, to: NONE };
  return !leaves(row) && to === proposedLabel(row) ? { code: ACCEPT, to: NONE } : { code: RELABEL, to };
}

function readLine(cells, place, rows, found, faults) {
  const word = (cells[place.decision] || "").trim().toLowerCase();
  const alone = (cells[place.not_a_copy] || "").trim().toLowerCase() === "yes" ? 1 : 0;
  if (!word && !alone) return;
  const id = cells[place.id] || "";
  const row = rows.get(undoNeutralise(id)) ?? rows.get(id) ?? NONE;
  const code = codeOfWord(word);
  const label = undoNeutralise(cells[place.new_label] || "");
  if (row === NONE) faults.unknown += 1;
  else if (code < 0 || (code === RELABEL && !label)) faults.odd += 1;
  else if (!code) found.set(row, { alone });
  else if (code === ACCEPT) found.set(row, { ...valueOfAccept(row, cells, place), alone });
  else found.set(row, { code, to: code === RELABEL ? codeOfLabel(label) : NONE, alone });
}

function importText(text) {
  try {
    const { found, faults } = importCsv(text);
    const parts = [`Loaded ${count(found.size, "decision")}`];
    if (faults.unknown) parts.push(`${count(faults.unknown, "id")} not (or twice) in this table`);
    if (faults.odd) parts.push(`${count(faults.odd, "line")} with an unknown decision or no label`);
    if (!found.size) return say(parts.join("; "));
    takeStep(found.keys(), (row) => found.get(row), parts.join("; "));
  } catch (error) {
    say(`The file was not loaded: ${error.message}`);
  }
}
