// The selected image, large, with all that is known about it.

const detail = $("detail");
const SCORE_NAMES = {
  confidence: ["Confidence", ""],
  foreign_score: ["Foreign score", "chance that it belongs to no class"],
  wrong_score: ["Wrong score", "chance that the label is wrong"],
  neighbour_margin: ["Neighbour margin", "how far the neighbours support the given label"],
  negative_margin: ["Negative margin", "how far the classifier stands behind it"],
  p_value: ["p-value", "share of known images with as high a score"],
};
let groupByRoot = null;

// The other images of the same group, and an original that is not in the table.
function repeatsOf(row) {
  groupByRoot ||= new Map(copyGroups.map((rows) => [rows[0], rows]));
  const others = (groupByRoot.get(rootOfGroup[row]) || []).filter((other) => other !== row);
  return duplicateOf[row] >= N ? [duplicateOf[row], ...others] : others;
}

// A small picture that leads to its image; ids of other tables are only named.
function link(reference) {
  if (reference >= N) return make("span", { class: "linked stranger", text: show(nameOf(reference), 60), title: "not in this table" });
  const name = `${fileName(reference)}, ${labelName(given[reference], 200)}, ${kindOf(reference)}`;
  return make("button", { class: "linked", "aria-label": name, title: name, onclick: () => { select(reference, { open: true }); detail.querySelector("h2")?.focus(); } },
    thumbnail(reference, 96), make("span", { class: "under" }, markOf(kindOf(reference)), make("bdi", { text: labelName(given[reference]) })));
}

function choiceOfLabel(row) {
  const value = decisions[row] === RELABEL ? String(chosen[row]) : "";
  const list = labelChoice("relabel", "Another label", value, (code) => decideRow(row, RELABEL, code));
  list.classList.toggle("chosen", value !== "");
  return list;
}

// Gives an image the label of a copy, in the place of the suggestion or below the copies.
function copyButton(row, code, key = "") {
  const text = `→ ${labelName(code, 40)}`;
  return make("button", {
    class: key ? "" : "wide", "aria-pressed": String(decisions[row] === RELABEL && chosen[row] === code), "data-action": key ? CODES[ACCEPT] : `copy ${code}`, "aria-keyshortcuts": key || false,
    title: `${labelName(code)}: the label of a copy`, onclick: () => decideRow(row, RELABEL, code),
  }, make("span", { class: text.length > 14 ? "long" : "", text }), key ? make("kbd", { text: key }) : null);
}

// Every answer has its own place; the likeliest one is filled and has the key A besides.
function actionButtons(row) {
  const button = (text, code, able = true) => {
    const isBest = code === bestOf(row) && able;
    return make("button", {
      class: isBest ? (decisions[row] ? "likeliest" : "likeliest solid") : "", "aria-pressed": String(decisions[row] === code), "data-action": CODES[code], disabled: !able,
      "aria-keyshortcuts": isBest ? `A ${KEY_OF[code]}` : KEY_OF[code],
      title: `${isBest ? `${firstInWords(row).replace("l", "L")}. ` : ""}${code === ACCEPT && able ? `${effectOfYes(row)}: ${meaningHere(row, ACCEPT)}` : MEANINGS[code]}`,
      onclick: () => decideRow(row, code),
    }, make("span", { class: text.length > (isBest && text.startsWith("→") ? 9 : 14) ? "long" : "", text }), ...(isBest ? [make("kbd", { text: "A" })] : []), make("kbd", { text: KEY_OF[code] }));
  };
  const offers = hasSuggestion(row);
  return make("div", { class: "choices", role: "group", "aria-label": "Decide" },
    copyAnswer(row) ? copyButton(row, copyAnswer(row)[0], "S") : button(!offers ? "No suggestion" : leaves(row) ? effectOfYes(row) : `→ ${effectOfYes(row)}`, ACCEPT, offers), button("Keep label", KEEP, given[row] !== NONE),
    button("Foreign", MARK_FOREIGN), button("Not sure", REJECT), choiceOfLabel(row));
}

// What was decided, and the way back; before that, what the filled button says.
function decisionLine(row) {
  const best = canAccept(row) ? `; ${firstInWords(row)}: ${effectOf(row, codeOfYes[row])}` : "";
  return make("div", { class: "decision" }, make("p", { text: isDecided(row) ? decisionText(row) : `undecided${best}` }),
    decisions[row] ? make("button", { class: "quiet", id: "take-back", "data-action": "clear", "aria-keyshortcuts": "C", title: MEANINGS[0], onclick: () => decideRow(row, 0) }, make("span", { text: "Take back" }), make("kbd", { text: "C" })) : null);
}

const CHANCES = ["confidence", "foreign_score", "wrong_score"];
const scoreText = (name, row) => (isYourVerdict(row) && CHANCES.includes(name) ? "decided" : CHANCES.includes(name) && (name === "confidence" || hasChances(row)) ? sure(scores[name][row]) : figure(scores[name][row]));

function scoreTable(row) {
  const body = make("tbody");
  for (const [name, [title, means]] of Object.entries(SCORE_NAMES)) {
    if (name === "p_value" && hasChances(row)) continue;
    body.append(make("tr", {}, make("th", { scope: "row" }, term(title), make("small", { text: name === "confidence" ? ofWhat(row) : means })), make("td", { text: scoreText(name, row) })));
  }
  return make("table", { class: "scores" }, make("caption", { class: "hidden", text: "Scores" }), body);
}

const part = (title, ...content) => make("section", {}, make("h3", { text: title }), ...content);

function verdictLine(row) {
  const [from, to] = change(row);
  const labelsLine = make("p", { class: "big", dir: "auto" }, make("bdi", { class: isStruckOut(row) ? "from" : "", text: from }));
  if (to) labelsLine.append(" → ", make("bdi", { class: "to", text: to }));
  const verdictText = make("p", { class: "verdict" }, markOf(kindOf(row)), make("b", { text: kindOf(row) }),
    make("span", { text: verdictInWords(row) }));
  if (isJudgedByP(row)) verdictText.append(make("span", { class: "number", text: strength(row), title: strengthInWords(row) }));
  if (Number.isFinite(chanceOfChange(row))) labelsLine.append(make("small", { text: ` ${sure(chanceOfChange(row))}`, title: isContrary(row) ? "chance of the likeliest answer" : ofWhat(row) }));
  const why = whyCalled(row);
  return [verdictText, labelsLine, ...chanceParts(row), ...(why ? [make("p", { class: "small", text: why })] : [])];
}

const CHANCE_NAMES = [["right", "Label right", "clean"], ["wrong", "Label wrong", "mislabelled"], ["foreign", "Foreign", "foreign"]];

// The three chances as one bar with their names; those of older audits as they are.
function chanceParts(row) {
  if (isYourVerdict(row)) return [make("p", { class: "small", id: "yours", text: `You decided on this image before it was judged again. ${earlierInWords(row)}` })];
  const chances = chancesOf(row);
  if (!chances) {
    const known = ["foreign_score", "wrong_score"].filter((name) => Number.isFinite(scores[name][row]));
    return known.length ? [make("p", { class: "chances" }, ...known.map((name) => make("span", {}, term(SCORE_NAMES[name][0]), ` ${scoreText(name, row)}`)))] : [];
  }
  const bar = make("div", { class: "chance-bar", "aria-hidden": "true" });
  const names = CHANCE_NAMES.map(([word, title, style], at) => {
    const piece = make("span");
    piece.style.flexGrow = String(chances[at]);
    piece.style.background = `var(${styleOf(style).colour})`;
    bar.append(piece);
    return make("span", {}, markOf(style), term(title, `chance ${word}`), ` ${sure(chances[at])}`);
  });
  return [bar, make("p", { class: "chances" }, ...names)];
}

function renderDetail() {
  const row = state.current;
  if (row === NONE) {
    detail.replaceChildren(make("div", { class: "empty" }, make("p", { text: "Choose an image to see it large, with its scores and its neighbours." })));
    return;
  }
  const near = [];
  for (let at = 0; at < neighbourWidth; at += 1) {
    const reference = neighbours[row * neighbourWidth + at];
    if (reference !== NONE) near.push(reference);
  }
  const repeats = repeatsOf(row).slice(0, 12);
  const oddities = qualityOf(row);
  const place = placeOfRow[row];
  detail.replaceChildren(
    make("div", { class: "sheet-head" },
      make("h2", { dir: "auto", tabindex: "-1", title: show(pathOf(row), 400) }, folderName(row) ? make("span", { class: "folder", text: `${folderName(row)}/` }) : null, make("span", { text: fileName(row) })),
      make("span", { class: "number", text: place === NONE ? "not in the list" : `${number.format(place + 1)} / ${number.format(state.view.length)}` }),
      make("button", { class: "icon close", "aria-label": "Close", text: "✕", onclick: closeDetail })),
    make("div", { class: "look" }, thumbnail(row, 320), seenFrame(row)),
    pictureLink(row) ?? "",
    actionButtons(row),
    decisionLine(row),
    // Below the buttons, which stand in the same place for every image.
    seenNote(row) ?? "",
    ...verdictLine(row),
    ...(reasonOf(row) ? [part("Why", make("p", { text: show(reasonOf(row), 600), dir: "auto" }))] : []),
    part("Nearest images", near.length ? make("div", { class: "links" }, ...near.map(link)) : make("p", { class: "quiet", text: "None are known." })),
    ...(repeats.length ? [part("The same picture", make("div", { class: "links" }, ...repeats.map(link)),
      ...furtherCopyLabels(row).slice(0, 12).map((code) => copyButton(row, code)),
      isExactCopy(row) ? null : make("button", { class: "wide", "data-action": "apart", "aria-pressed": String(apart[row] > 0), text: "Not the same", onclick: () => setApart([row], !apart[row], apart[row] ? `The same picture after all: ${fileName(row)}` : `Not the same picture: ${fileName(row)}`) }))] : []),
    ...(oddities.length ? [part("Picture quality", make("dl", { class: "oddities" }, ...oddities.flatMap((name) => [make("dt", { text: name }), make("dd", { text: explanationOf(name) })])))] : []),
    part("Scores", scoreTable(row)),
    part("File", make("p", { class: "path", dir: "auto", text: show(pathOf(row), 5000) }),
      ...(idOf(row) === pathOf(row) ? [] : [make("p", { class: "path quiet", dir: "auto", text: `id ${show(idOf(row), 5000)}` })])));
}

// Where the picture itself lies, if the page was opened from a disk that may hold it.
function addressOf(row) {
  const path = pathOf(row);
  const parts = path.split("/");
  if (!payload.root || location.protocol !== "file:" || parts[0] === "" || parts.includes("..") || /\p{Cs}/u.test(path)) return "";
  return `${payload.root}/${parts.map(encodeURIComponent).join("/")}`;
}
function pictureLink(row) {
  const address = addressOf(row);
  return address ? make("a", { class: "small", id: "open-picture", href: address, target: "_blank", rel: "noopener noreferrer", text: "Open the picture in full size" }) : null;
}

function closeDetail() {
  detail.classList.remove("open");
  if (state.tab === "review") focusCurrent();
}

function setUpDetail() {
  on("current", ({ open }) => {
    renderDetail();
    detail.scrollTop = 0;
    if (open) detail.classList.add("open");
  });
  on("decided", (rows) => { if (rows.includes(state.current)) keepFocus(renderDetail); });
  on("view", () => keepFocus(renderDetail));
  on("labels", () => keepFocus(renderDetail));
  renderDetail();
}

// Redrawing must not throw the focus out of the pane.
function keepFocus(redraw) {
  const focused = detail.contains(document.activeElement) ? document.activeElement : null;
  const action = focused?.dataset.action;
  redraw();
  if (!focused) return;
  const again = action ? detail.querySelector(`[data-action="${action}"]`) : focused.id === "relabel" ? $("relabel") : detail.querySelector("h2");
  again?.focus({ preventScroll: true });
}
