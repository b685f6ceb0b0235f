// The overview: counts, rates, scores and what is taken for what; and what the page itself is.

const asList = (value) => (Array.isArray(value) ? value : []);
const block = (title, lead, ...content) => make("section", { class: "block" }, make("h2", { text: title }), lead ? make("p", { class: "lead", text: lead }) : null, ...content);

function review(changes) {
  setFilter({ ...NO_FILTER, verdicts: new Set(), ...changes });
  openTab("review");
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
    cards.append(make("button", { class: "card", "data-verdict": name, onclick: () => review({ verdicts: new Set([code]) }) },
      make("span", { class: "card-name" }, markOf(name), make("b", { text: show(name) })),
      make("span", { class: "card-number", text: number.format(tally(code)) }),
      make("span", { class: "card-share", text: tally(code) ? `${share < 0.001 ? "< 0.1 %" : percent(share, 1)} · ${styleOf(name).means}` : "none" })));
  }
  return [strip, cards];
}

const isRate = (rate) => rate && Number.isFinite(rate.estimate);

function interval(rate, top, colour) {
  const track = make("span", { class: "track", "aria-hidden": "true" });
  if (!isRate(rate)) return track;
  const low = Number.isFinite(rate.low) ? rate.low : rate.estimate;
  const high = Number.isFinite(rate.high) ? rate.high : rate.estimate;
  const band = make("span", { class: "band" });
  band.style.left = `${(100 * low) / top}%`;
  band.style.width = `${(100 * Math.max(0, high - low)) / top}%`;
  const dot = make("span", { class: "dot" });
  dot.style.left = `${(100 * rate.estimate) / top}%`;
  for (const node of [band, dot]) node.style.background = `var(${colour})`;
  track.append(band, dot);
  return track;
}

function rateText(rate) {
  if (!isRate(rate)) return "–";
  const range = Number.isFinite(rate.low) && Number.isFinite(rate.high) ? ` (${(100 * rate.low).toFixed(1)}–${percent(rate.high, 1)})` : "";
  return `${percent(rate.estimate, 1)}${range}`;
}

function rateSection() {
  const rates = summary.rates;
  const byClass = asList(rates?.by_class);
  if (!rates || (!isRate(rates.closed) && !isRate(rates.open) && !byClass.length)) return null;
  const kinds = [["closed", "Mislabelled", "--mislabelled"], ["open", "Foreign", "--foreign"]];
  const topOf = (entries) => Math.max(0.01, ...entries.flatMap((entry) => kinds.map(([kind]) => entry[kind]?.high ?? entry[kind]?.estimate ?? 0))) * 1.05;
  const overall = make("div", { class: "rates" }, ...kinds.map(([kind, name, colour]) => make("div", { class: "rate" },
    make("span", { class: "card-name" }, markOf(name.toLowerCase()), make("b", { text: name })), interval(rates[kind], topOf([rates]), colour),
    make("span", { class: "number", text: rateText(rates[kind]) }))));
  const section = block("Estimated share of wrong labels", "With the interval that the estimate leaves open.", overall);
  if (byClass.length) section.append(rateTable(byClass, kinds, topOf(byClass)));
  return section;
}

function rateTable(byClass, kinds, top) {
  const line = (entry) => make("tr", {}, make("th", { scope: "row", dir: "auto", text: show(entry.class, 60) }),
    make("td", { class: "number", text: Number.isFinite(entry.images) ? number.format(entry.images) : "–" }),
    ...kinds.map(([kind, , colour]) => make("td", {}, make("div", { class: "with-track" }, interval(entry[kind], top, colour), make("span", { class: "number", text: rateText(entry[kind]) })))));
  const body = make("tbody", {}, ...byClass.slice(0, 12).map(line));
  const table = make("table", { class: "by-class" }, make("caption", { text: "By given class" }),
    make("thead", {}, make("tr", {}, ...["Class", "Images", "Mislabelled", "Foreign"].map((text) => make("th", { scope: "col", text })))), body);
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rates by class" }, table);
  if (byClass.length > 12) {
    const more = make("button", { text: `Show all ${number.format(byClass.length)} classes`, onclick: () => { body.replaceChildren(...byClass.map(line)); more.remove(); } });
    return make("div", {}, box, more);
  }
  return box;
}

// Bars of one score, a line a verdict on a common axis; far values are counted at the ends.
function histogram(values, title, lead) {
  const known = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!known.length) return null;
  const at = (share) => known[Math.min(known.length - 1, Math.floor(share * known.length))];
  let [low, high] = [at(0.001), at(0.999)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const BINS = 56;
  const lines = verdictsInOrder.map((code) => ({ code, bins: new Uint32Array(BINS), total: 0, sum: [] }));
  const byCode = Object.fromEntries(lines.map((line) => [line.code, line]));
  for (let row = 0; row < N; row += 1) {
    if (!Number.isFinite(values[row])) continue;
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor(((values[row] - low) / (high - low)) * BINS)));
    byCode[verdict[row]].bins[bin] += 1;
    byCode[verdict[row]].sum.push(values[row]);
  }
  const chart = make("div", { class: "histogram" });
  for (const { code, bins, sum } of lines) {
    if (!sum.length) continue;
    const name = verdictNames[code];
    const tallest = Math.max(...bins);
    const middle = sum.sort((a, b) => a - b)[sum.length >> 1];
    const bars = svg("svg", { viewBox: `0 0 ${BINS} 40`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${count(sum.length, "image")}, median ${figure(middle)}` });
    bins.forEach((value, bin) => {
      if (!value) return;
      const tall = Math.max(1.2, (38 * value) / tallest);
      bars.append(svg("rect", { x: bin + 0.08, y: 40 - tall, width: 0.84, height: tall }));
    });
    bars.style.fill = `var(${styleOf(name).colour})`;
    chart.append(make("div", { class: "hist-name" }, markOf(name), make("span", { text: show(name) }), make("span", { class: "number", text: number.format(sum.length) })), bars);
  }
  const end = (value, sign, cut) => make("span", { text: `${cut ? sign : ""}${Number(value.toPrecision(3))}`.replace("-", "−") });
  chart.append(make("span"), make("div", { class: "axis" }, end(low, "≤ ", known[0] < low), end((low + high) / 2, "", false), end(high, "≥ ", known[known.length - 1] > high)));
  return make("section", { class: "block half" }, make("h3", { text: title }), make("p", { class: "lead", text: lead }), chart);
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
  review({ verdicts: new Set([verdictNames.indexOf("mislabelled")]), given: code(pair.from), suggested: code(pair.to) });
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
  const head = make("tr", {}, make("th", { class: "corner" }, make("small", { text: "given ↓ suggested →" })), ...names.map((name) => make("th", { scope: "col" }, make("span", { dir: "auto", text: show(name, 24) }))));
  const body = names.map((from) => make("tr", {}, make("th", { scope: "row", dir: "auto", text: show(from, 24) }), ...names.map((to) => cell(from, to))));
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
    histogram(scores.foreign_score, "Foreign score", "Larger is more foreign. Each line is scaled to its own tallest bar."),
    histogram(scores.neighbour_margin, "Neighbour margin", "How far the neighbours support the given label."),
  ].filter(Boolean);
  const problems = asList(summary.problems).map((problem) => (problem && typeof problem === "object" ? `${problem.id ?? "?"} — ${problem.reason ?? ""}` : plain(problem)));
  $("panel-overview").append(...[
    N ? null : make("div", { class: "empty" }, make("p", { text: "The table has no images." })),
    make("section", { class: "block" }, make("h2", { class: "hidden", text: "Verdicts" }), ...verdictCards()),
    textList("Notes", null, asList(summary.notes).map(plain)),
    rateSection(),
    histograms.length ? make("section", { class: "halves", "aria-label": "Scores by verdict" }, ...histograms) : null,
    confusionSection(),
    textList("Problems", "Rows that could not be used.", problems),
    textList("Leaks", "The same picture in sets that should be apart.", asList(summary.leaks).map(plain)),
  ].filter(Boolean));
}

function aboutLines() {
  const without = N - sprites.count - counts[UNREADABLE];
  const limit = (payload.bounds.bytes / 1e6).toFixed(0);
  const lines = [
    "This page is one file. It loads nothing from a network and sends nothing; a policy inside it forbids both.",
    `It may take up to ${limit} MB. Thumbnails are as large as that allows, of ${payload.bounds.sides.join(", ")} pixels at the longest side; here they are ${sprites.side ? `at most ${sprites.side} pixels` : "left out"}.`,
    sprites.count >= N ? `All ${count(N, "image")} have a thumbnail.` : `${count(sprites.count, "image")} of ${number.format(N)} have a thumbnail${without > 0 ? `; ${number.format(without)} readable ones have none, because the most suspicious come first and the file is bounded or the picture was not to be had` : ""}.`,
    `Only what is in sight is drawn, and at most ${KEPT_SHEETS} sheets of pictures stay decoded, so that it remains fluid with tens of thousands of images.`,
    "Sureness is 1 − p-value for images judged foreign, else the confidence of the suggested label.",
    "Decisions are kept in this browser under a fingerprint of the table. They leave it only when you download them.",
  ];
  return lines.map((text) => make("p", { text }));
}

function setUpAbout() {
  const settings = Object.entries(summary.settings && typeof summary.settings === "object" ? summary.settings : {});
  $("panel-about").append(block("About this page", null, ...aboutLines()),
    block("Verdicts", null, make("dl", { class: "verdict-list" }, ...verdictsInOrder.flatMap((code) => [
      make("dt", {}, markOf(verdictNames[code]), show(verdictNames[code])), make("dd", { text: styleOf(verdictNames[code]).means || "–" })]))));
  if (settings.length) {
    $("panel-about").append(block("Settings of the audit", null, make("dl", { class: "verdict-list" }, ...settings.flatMap(([name, value]) => [
      make("dt", { dir: "auto", text: show(name, 80) }), make("dd", { dir: "auto", text: show(plain(value), 600) })]))));
  }
}
