// Estimated rates with their intervals, all on one axis from 0 to a round end beyond the largest of them.

const isRate = (rate) => rate && Number.isFinite(rate.estimate);
// Summaries of older versions call the rates otherwise.
const OLDER_KINDS = { wrong: "closed", foreign: "open" };
const rateIn = (rates, kind) => rates[kind] ?? rates[OLDER_KINDS[kind]];
const RATE_KINDS = [
  { kind: "wrong", verdict: "mislabelled", name: "Wrong labels", among: "among all images", colour: "--mislabelled" },
  { kind: "foreign", verdict: "foreign", name: "Foreign images", among: "among all images", colour: "--foreign" },
];
// An interval wider than this says nothing that a person could use.
const WIDEST = 0.5;
const lowOf = (rate) => (Number.isFinite(rate.low) ? rate.low : rate.estimate);
const highOf = (rate) => (Number.isFinite(rate.high) ? rate.high : rate.estimate);
const isTooWide = (rate) => isRate(rate) && highOf(rate) - lowOf(rate) > WIDEST;

// The end of the axis for some rates.
function endOfAxis(rates) {
  const highest = Math.max(0, ...rates.filter(isRate).map(highOf));
  return [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8].find((end) => end >= highest) ?? 1;
}

function interval(rate, colour, end) {
  const track = make("span", { class: "track", "aria-hidden": "true" });
  if (!isRate(rate)) return track;
  const band = make("span", { class: "band" });
  band.style.left = `${(100 * lowOf(rate)) / end}%`;
  band.style.width = `${(100 * Math.max(0, highOf(rate) - lowOf(rate))) / end}%`;
  const dot = make("span", { class: "dot" });
  dot.style.left = `${(100 * rate.estimate) / end}%`;
  for (const node of [band, dot]) node.style.background = `var(${colour})`;
  track.append(band, ...(isTooWide(rate) ? [] : [dot]));
  return track;
}

const percentAxis = (end) => make("span", { class: "axis", "aria-hidden": "true" }, ...[0, end / 2, end].map((share) => make("span", { text: percent(share) })));

function rateNumbers(rate) {
  if (!isRate(rate)) return "–";
  const range = Number.isFinite(rate.low) && Number.isFinite(rate.high) ? ` (${(100 * rate.low).toFixed(1)}–${percent(rate.high, 1)})` : "";
  return `${percent(rate.estimate, 1)}${range}`;
}

function rateText(rate) {
  if (!isTooWide(rate)) return make("span", { class: "number", text: rateNumbers(rate) });
  return make("span", { class: "number", text: "too few images to tell", title: rateNumbers(rate) });
}

const amongWords = (among) => (among.includes("known") ? ["among ", term("known"), " images"] : [among]);

// Audits of version 0.1 have no chances, so their limits are no shares.
function limitsOfVerdicts() {
  if (scores.p_value.some(Number.isFinite)) return "Verdicts name the images that pass a limit.";
  return `Verdicts name the images that pass a limit. ${callsForeign ? `Foreign: the probability that the image belongs to no class exceeds ${percent(FOREIGN_FROM)}.` : `But ${NONE_FOREIGN}.`} Mislabelled: the probability that the label is wrong exceeds ${percent(WRONG_FROM)}, given that the image is not foreign.`;
}

const SECOND_RATES = "This is a second look, in which an estimate may rise as well as fall: the images that you decided on count as you decided, and the chances of all the others, which you did not look at, were judged anew.";

function rateSection() {
  const rates = summary.rates;
  const byGiven = asList(rates?.by_class);
  if (!rates || (!RATE_KINDS.some(({ kind }) => isRate(rateIn(rates, kind))) && !byGiven.length)) return null;
  const end = endOfAxis([rates, ...byGiven].flatMap((part) => RATE_KINDS.map(({ kind }) => rateIn(part, kind))));
  const line = ({ kind, verdict: name, name: title, among, colour }) => make("div", { class: "rate" },
    make("span", { class: "rate-name" }, markOf(name), make("span", {}, make("b", { text: title }), make("small", {}, " ", ...amongWords(among)))),
    interval(rateIn(rates, kind), colour, end), rateText(rateIn(rates, kind)));
  const overall = make("div", { class: "rates" }, ...RATE_KINDS.map(line), make("div", { class: "rate scale" }, make("span"), percentAxis(end), make("span")));
  const section = block("Estimated rates", null, make("p", { class: "lead" }, "The dot is the estimate, the bar its ", term("95 % interval", "interval"), ". Choose a class to see its images."),
    make("p", { class: "lead", text: limitsOfVerdicts() }), overall, ...differences(rates));
  if (hasDecidedBefore) section.append(make("p", { class: "lead", id: "second-rates", text: SECOND_RATES }));
  const few = fewForeign(rates);
  if (few) section.append(few);
  if (byGiven.length) section.append(rateTable(byGiven, end));
  return section;
}

// How many images are called so in the whole set, of which a page may show a part.
const calledSo = (name) => summary.counts?.[name] ?? counts[verdictNames.indexOf(name)];
// How many images an estimate comes to; rates count labelled images without a conflict, of exact copies one.
function expectedIn(rates, kind) {
  const rate = rateIn(rates, kind);
  const counted = asList(rates.by_class).reduce((sum, { images }) => sum + (Number.isFinite(images) ? images : 0), 0);
  return isRate(rate) ? Math.round(rate.estimate * (counted || (summary.images ?? N))) : NaN;
}

// Why an estimate and the number of images that are called so differ: a sentence for each that does.
function differences(rates) {
  return RATE_KINDS.flatMap(({ kind, verdict: name }) => {
    const [expected, called] = [expectedIn(rates, kind), calledSo(name)];
    if (!Number.isFinite(expected) || isTooWide(rateIn(rates, kind)) || Math.abs(expected - called) <= Math.max(1, 0.02 * called) || isFarMore(kind, expected, called)) return [];
    const why = expected < called ? `each of these counts only as much as it is likely to be so${hasExactCopies ? ", and exact copies count once" : ""}`
      : kind === "foreign" && !callsForeign ? `${NONE_FOREIGN}, but they count with their chances` : "images below the limit are not called so, but count with their chances";
    return [make("p", { class: "small", "data-differs": kind, text: `${count(called, "image is", "images are")} called ${name}, but the estimate comes to about ${number.format(expected)}: ${why}.` })];
  });
}
const hasExactCopies = columns.copy.values.includes("exact");
const isFarMore = (kind, expected, called) => kind === "foreign" && expected > 2 * called + 5;

// Far fewer images are called foreign than there are: where to look for the others.
function fewForeign(rates) {
  const [expected, called] = [expectedIn(rates, "foreign"), calledSo("foreign")];
  if (!isFarMore("foreign", expected, called)) return null;
  return make("p", { class: "lead" }, `By the estimate, about ${number.format(expected)} images may be foreign; ${callsForeign ? `${called ? `only ${number.format(called)}` : "none"} of them ${called > 1 ? "are" : "is"} sure enough to be called so` : NONE_FOREIGN}. `,
    make("button", { id: "see-foreign", text: "See the likeliest first", onclick: () => { sortBy("foreign"); groupBy(""); review({}); } }));
}

function rateTable(byGiven, end) {
  const cell = (entry, { kind, name, colour }) => make("td", {},
    make("div", { class: "with-track", "data-name": name }, interval(rateIn(entry, kind), colour, end), rateText(rateIn(entry, kind))));
  const nameOfClass = (entry) => {
    const code = labels.indexOf(String(entry.class));
    const text = { dir: "auto", text: show(entry.class, 60), title: show(entry.class, 200) };
    return code < 0 ? make("span", text) : make("button", { ...text, class: "class-link", "data-class": code, onclick: () => review({ given: String(code) }) });
  };
  const line = (entry) => make("tr", {}, make("th", { scope: "row" }, nameOfClass(entry)),
    make("td", { class: "number", "data-name": "Images", text: Number.isFinite(entry.images) ? number.format(entry.images) : "–" }),
    ...RATE_KINDS.map((kind) => cell(entry, kind)));
  const body = make("tbody", {}, ...byGiven.slice(0, 12).map(line));
  const head = ({ name, among }) => make("th", { scope: "col" }, make("span", { class: "column-name" }, `${name} `, make("small", { text: among })),
    make("div", { class: "with-track" }, percentAxis(end), make("span", { class: "number" })));
  const table = make("table", { class: "by-class" }, make("caption", {}, "By given class ", make("small", { text: "readable images with a label and no conflict; of exact copies one counts" })),
    make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "Class" }), make("th", { scope: "col", text: "Images" }), ...RATE_KINDS.map(head))), body);
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rates by class" }, table);
  if (byGiven.length <= 12) return box;
  const more = make("button", { text: `Show all ${number.format(byGiven.length)} classes`, onclick: () => { body.replaceChildren(...byGiven.map(line)); more.remove(); } });
  return make("div", {}, box, more);
}
