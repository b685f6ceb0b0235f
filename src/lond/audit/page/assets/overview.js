// The overview: counts, scores and what is taken for what; and what the page itself is.

const asList = (value) => (Array.isArray(value) ? value : []);
const block = (title, lead, ...content) => make("section", { class: "block" }, make("h2", { text: title }), lead ? make("p", { class: "lead", text: lead }) : null, ...content);

// The images behind a figure, from the first one on: an image that was open before would scroll the list to itself.
function review(changes) {
  state.current = NONE;
  emit("current", {});
  setFilter({ ...NO_FILTER, ...changes });
  openTab("review");
  // What is hidden cannot be scrolled, so not before.
  gallery.scrollTop = 0;
  renderGallery();
  $("tab-review").focus();
}

function verdictCards() {
  const total = summary.images ?? N;
  const tally = (code) => summary.counts?.[verdictNames[code]] ?? counts[code];
  const strip = make("div", { class: "strip", "aria-hidden": "true" });
  const cards = make("div", { class: "cards" });
  for (const code of verdictsInOrder) {
    const name = verdictNames[code];
    const piece = make("span");
    piece.style.flexGrow = String(tally(code));
    piece.style.background = `var(${styleOf(name).colour})`;
    if (tally(code)) strip.append(piece);
    const share = total ? tally(code) / total : 0;
    cards.append(make("button", { class: "card", "data-verdict": name, onclick: () => review(asCalled(code)) },
      make("span", { class: "card-name" }, markOf(name), make("b", { text: show(name) })),
      make("span", { class: "card-number", text: number.format(tally(code)) }),
      make("span", { class: "card-share", text: tally(code) ? `${share < 0.001 ? "< 0.1 %" : percent(share, 1)} · ${styleOf(name).means}` : "none" }),
      unsureOf[code] ? make("span", { class: "card-share card-unsure", title: explanationOf(UNSURE_NAME), text: `In Review: ${number.format(kindCounts[code])} ${name} + ${number.format(unsureOf[code])} ${UNSURE_NAME}` }) : null,
      make("span", { class: "card-note", hidden: true })));
  }
  return [strip, cards];
}

// A verdict that a person was not sure of still counts as what the audit says, so the cards tell how many these are.
function showUnsure() {
  const unsure = new Uint32Array(verdictNames.length);
  for (let row = 0; row < N; row += 1) if (decisions[row] === REJECT) unsure[verdict[row]] += 1;
  for (const card of document.querySelectorAll(".card")) {
    const images = unsure[verdictNames.indexOf(card.dataset.verdict)];
    const note = card.querySelector(".card-note");
    note.hidden = !images;
    note.textContent = images ? `${number.format(images)} marked not sure by you: ${images === 1 ? "stays as it is" : "stay as they are"}` : "";
  }
}

// What is odd about pictures; apart from the verdicts, because it is no judgement of the label.
function qualitySection() {
  const limits = summary.quality && typeof summary.quality === "object" ? summary.quality : {};
  if (!qualityNames.length && !Object.keys(limits).length) return null;
  const lead = make("p", { class: "lead" }, "Pictures that differ from the rest of the set. ", term("Quality", "quality"), " says nothing about the label.");
  if (!qualityNames.length) return make("section", { class: "block" }, make("h2", { text: "Picture quality" }), make("p", { class: "quiet", text: "No picture stands out." }));
  const line = (name, bit) => {
    const images = qualityBits.reduce((sum, bits) => sum + ((bits >> bit) & 1), 0);
    return make("li", {}, make("button", { class: "pairline", "data-quality": name, onclick: () => review({ quality: 1 << bit }) },
      make("span", { class: "labels" }, make("b", { text: show(name) }), make("small", { text: ` ${explanationOf(name)}` })), make("span", { class: "number", text: number.format(images) })));
  };
  return make("section", { class: "block" }, make("h2", { text: "Picture quality" }), lead, make("ul", { class: "pairs quality-list" }, ...qualityNames.map(line)));
}

function confusions() {
  const stated = asList(summary.confusions).filter((pair) => pair && Number.isFinite(pair.images));
  if (stated.length) return stated.map((pair) => ({ from: String(pair.given ?? ""), to: String(pair.suggested ?? ""), images: pair.images }));
  const tally = new Map();
  for (let row = 0; row < N; row += 1) {
    if (verdictOf(row) !== "mislabelled" || given[row] === NONE || suggested[row] === NONE) continue;
    const key = given[row] * labels.length + suggested[row];
    tally.set(key, (tally.get(key) || 0) + 1);
  }
  return [...tally].map(([key, images]) => ({ from: labels[Math.floor(key / labels.length)], to: labels[key % labels.length], images }));
}

const openPair = (pair) => {
  const code = (name) => { const at = labels.indexOf(name); return at < 0 ? "" : String(at); };
  const group = code(pair.from) === "" || code(pair.to) === "" ? {} : { given: code(pair.from), suggested: code(pair.to) };
  review({ ...asCalled(MISLABELLED), ...group });
};

function confusionSection() {
  const pairs = confusions().sort((a, b) => b.images - a.images);
  const lead = "Given label → suggested label, among the mislabelled. Choose a pair to see its images.";
  if (!pairs.length) return block("What is taken for what", null, make("p", { class: "quiet", text: "No image was judged mislabelled." }));
  return block("What is taken for what", lead, make("div", { class: "confusion" }, pairList(pairs), matrix(pairs)));
}

function pairList(pairs) {
  const line = (pair) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * pair.images) / pairs[0].images}%`;
    return make("li", {}, make("button", { class: "pairline", onclick: () => openPair(pair) }, bar,
      make("span", { class: "labels", dir: "auto" }, make("bdi", { text: show(pair.from, 40) }), " → ", make("bdi", { text: show(pair.to, 40) })),
      make("span", { class: "number", text: number.format(pair.images) })));
  };
  const list = make("ol", { class: "pairs" }, ...pairs.slice(0, 12).map(line));
  const box = make("div", {}, list);
  if (pairs.length > 12) {
    const more = make("button", { text: `Show ${number.format(Math.min(500, pairs.length))} pairs`, onclick: () => { list.replaceChildren(...pairs.slice(0, 500).map(line)); more.remove(); } });
    box.append(more);
  }
  return box;
}

function matrix(pairs) {
  const weight = new Map();
  for (const pair of pairs) for (const name of [pair.from, pair.to]) weight.set(name, (weight.get(name) || 0) + pair.images);
  const names = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, 14);
  const position = (name) => { const at = labels.indexOf(name); return at < 0 ? labels.length : at; };
  names.sort((a, b) => position(a) - position(b));
  const pairOf = new Map(pairs.map((pair) => [`${pair.from}\u0000${pair.to}`, pair]));
  const cell = (from, to) => {
    const pair = pairOf.get(`${from}\u0000${to}`);
    const node = make("td", { class: from === to ? "same" : "" });
    if (!pair) return node;
    const share = Math.sqrt(pair.images / pairs[0].images);
    node.style.background = `color-mix(in oklab, var(--mislabelled) ${Math.round(8 + 38 * share)}%, var(--page))`;
    node.append(make("button", {
      tabindex: "-1", text: number.format(pair.images), "aria-label": `${show(from)} taken for ${show(to)}: ${pair.images}`, onclick: () => openPair(pair),
    }));
    return node;
  };
  const head = make("tr", {}, make("th", { class: "corner" }, make("small", { text: "given ↓ suggested →" })), ...names.map((name) => make("th", { scope: "col" }, make("span", { dir: "auto", text: show(name, 24), title: show(name, 200) }))));
  const body = names.map((from) => make("tr", {}, make("th", { scope: "row", dir: "auto", text: show(from, 24), title: show(from, 200) }), ...names.map((to) => cell(from, to))));
  const note = weight.size > names.length ? make("p", { class: "small", text: `The ${names.length} classes most involved, of ${number.format(weight.size)}.` }) : null;
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix of given and suggested labels" },
    make("table", { class: "matrix" }, make("caption", { class: "hidden", text: "Images by given and suggested label" }), make("thead", {}, head), make("tbody", {}, ...body)), note);
}

// Whatever is in the summary, as text.
function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? number.format(value) : figure(value);
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([key, inner]) => `${key}: ${plain(inner)}`).join(" · ");
  return String(value);
}

function textList(title, lead, texts) {
  if (!texts.length) return null;
  const shown = texts.slice(0, 100);
  const list = make("ul", { class: "texts" }, ...shown.map((text) => make("li", { dir: "auto", text: show(text, 600) })));
  if (texts.length > shown.length) list.append(make("li", { class: "quiet", text: `and ${number.format(texts.length - shown.length)} more` }));
  return block(title, lead, list);
}

function setUpOverview() {
  const histograms = [
    histogram("foreign_score", "Larger is more foreign. Each line is scaled to its own tallest bar. Choose a bar to see its images.", callsForeign ? summary.threshold ?? NaN : NaN),
    histogram("neighbour_margin", "How far the neighbours support the given label. Choose a bar to see its images."),
  ].filter(Boolean);
  const problems = asList(summary.problems).map((problem) => (problem && typeof problem === "object" ? `${problem.id ?? "?"} — ${problem.reason ?? ""}` : plain(problem)));
  $("panel-overview").append(...[
    N ? null : make("div", { class: "empty" }, make("p", { text: "The table has no images." })),
    make("section", { class: "block" }, make("h2", { class: "hidden", text: "Verdicts" }), ...verdictCards()),
    textList("Notes", null, asList(summary.notes).map(plain)),
    rateSection(),
    histograms.length ? make("section", { class: "halves", "aria-label": "Scores by verdict" }, ...histograms) : null,
    confusionSection(),
    qualitySection(),
    textList("Problems", "Rows that could not be used.", problems),
    textList("Leaks", "The same picture in sets that should be apart.", asList(summary.leaks).map(plain)),
  ].filter(Boolean));
  showUnsure();
  on("decided", showUnsure);
}

function aboutLines() {
  const without = N - sprites.count - counts[UNREADABLE];
  const limit = (payload.bounds.bytes / 1e6).toFixed(0);
  const lines = [
    "This page is one file. It loads nothing from a network and sends nothing; a policy inside it forbids both.",
    `It may take up to ${limit} MB. Thumbnails are as large as that allows, of ${payload.bounds.sides.join(", ")} pixels at the longest side; here they are ${sprites.side ? `at most ${sprites.side} pixels` : "left out"}.`,
    sprites.count >= N ? `All ${count(N, "image")} have a thumbnail.` : `${count(sprites.count, "image")} of ${number.format(N)} have a thumbnail${without > 0 ? `; ${number.format(without)} readable ones have none, because those that most need a look come first and the file is bounded or the picture was not to be had` : ""}.`,
    `Only what is in sight is drawn, and at most ${KEPT_SHEETS} sheets of pictures stay decoded, so that it remains fluid with tens of thousands of images.`,
    "The bold line of a card is the likeliest answer (of copies with different labels, the likeliest of their labels), or your decision once you have made one. The line below it is the next likeliest answer; if the likeliest one leaves the label of a doubtful image, the likeliest that changes it. Every percentage is the chance of the words before it. Where the likeliest answer is not the verdict's, the card says unsure, the label is not struck out, and the panel says why. The list is sorted and filtered by confidence: the chance of the suggested label of a mislabelled image, and of the verdict of the others.",
    `The list begins with what most needs a look. ${WORDS.order}`,
    `${DOUBTS_MEAN} The list shows them at first, and the progress at the top counts them. You may decide on any other image as well.`,
    "Keep label says that the given label is right, and counts as truth when the set is judged again. Not sure skips an image: it stays as it is, and teaches nothing.",
    ...(hasDecidedBefore ? ["This is a second look: decisions that you had made before are kept and marked, and the other images were judged again with what they taught."] : []),
    "To judge again with your decisions, download them and run lond audit with --decisions decisions.csv.",
    "Decisions are kept in this browser under a fingerprint of the table. They leave it only when you download them.",
  ];
  return lines.map((text) => make("p", { text }));
}

function setUpAbout() {
  const settings = Object.entries(summary.settings && typeof summary.settings === "object" ? summary.settings : {});
  $("panel-about").append(block("About this page", null, ...aboutLines()),
    block("Verdicts", null, make("dl", { class: "verdict-list" }, ...verdictsInOrder.flatMap((code) => [
      make("dt", {}, markOf(verdictNames[code]), show(verdictNames[code])), make("dd", { text: styleOf(verdictNames[code]).means || "–" })]),
      make("dt", {}, markOf(UNSURE_NAME), UNSURE_NAME), make("dd", { text: explanationOf(UNSURE_NAME) }))));
  if (settings.length) {
    $("panel-about").append(block("Settings of the audit", null, make("dl", { class: "verdict-list" }, ...settings.flatMap(([name, value]) => [
      make("dt", { dir: "auto", text: show(name, 80) }), make("dd", { dir: "auto", text: show(plain(value), 600) })]))));
  }
}
