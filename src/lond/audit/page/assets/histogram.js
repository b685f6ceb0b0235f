// Bars of one score, a line a verdict on a common axis; far values are counted at the ends.

const BINS = 56;

// Whether a score is a chance, so that its axis goes from 0 to 1.
const isChance = (score) => score === "foreign_score" && scores.p_value.every(Number.isNaN);

// Ends of the axis: 0 and 1 of a chance, else without the few farthest values but with the threshold.
function axisOf(known, threshold, score) {
  const at = (share) => known[Math.min(known.length - 1, Math.floor(share * known.length))];
  let [low, high] = isChance(score) ? [0, 1] : [at(0.001), at(0.999)];
  if (Number.isFinite(threshold)) [low, high] = [Math.min(low, threshold), Math.max(high, threshold)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  return { low, high, isCut: known[0] < low || known[known.length - 1] > high, place: (value) => (value - low) / (high - low) };
}

// Round values inside the axis: multiples of 1, 2 or 5 times a power of ten.
function ticksOf({ low, high }) {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at += 1) ticks.push({ value: at * step, text: Number((at * step).toFixed(digits)) });
  return ticks;
}

// Which bar a value belongs to; the outer ones hold all that lies beyond.
const binOf = (value, { low, high }) => Math.min(BINS - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * BINS)));

function endsOfBin({ bin, low, high }) {
  const edge = (at) => withMinus(String(twoDigits(low + ((high - low) * at) / BINS)));
  if (bin === 0) return `below ${edge(1)}`;
  return bin === BINS - 1 ? `from ${edge(bin)} on` : `${edge(bin)} to ${edge(bin + 1)}`;
}

function binned(values, axis) {
  const lines = verdictNames.map(() => ({ bins: new Uint32Array(BINS), values: [] }));
  for (let row = 0; row < N; row += 1) {
    if (!Number.isFinite(values[row])) continue;
    const line = lines[verdict[row]];
    line.bins[binOf(values[row], axis)] += 1;
    line.values.push(values[row]);
  }
  return lines;
}

// One stop of the Tab key a line; arrows go from bar to bar.
function moveAmongBars(event) {
  const bars = [...event.currentTarget.querySelectorAll(".hit")];
  const at = bars.indexOf(document.activeElement);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: bars.length - 1 }[event.key];
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); document.activeElement.dispatchEvent(new MouseEvent("click")); }
  if (next === undefined || !bars[next]) return;
  event.preventDefault();
  bars.forEach((bar, place) => bar.setAttribute("tabindex", place === next ? "0" : "-1"));
  bars[next].focus();
}

function barsOf(code, score, axis, { bins, values }, thresholdAt) {
  const name = verdictNames[code];
  const tallest = Math.max(...bins);
  const middle = values.sort((a, b) => a - b)[values.length >> 1];
  const bars = svg("svg", { viewBox: `0 0 ${BINS} 40`, preserveAspectRatio: "none", role: "group", "aria-label": `${name}: ${count(values.length, "image")}, median ${figure(middle)}` });
  bins.forEach((value, bin) => {
    if (!value) return;
    const tall = Math.max(1.2, (38 * value) / tallest);
    bars.append(svg("rect", { class: "bar", x: bin + 0.08, y: 40 - tall, width: 0.84, height: tall }));
    const range = { score, bin, low: axis.low, high: axis.high };
    const text = `${count(value, "image")}, ${SCORE_NAMES[score][0].toLowerCase()} ${endsOfBin(range)}`;
    const hit = svg("rect", { class: "hit", x: bin, y: 0, width: 1, height: 40, role: "button", tabindex: bars.querySelector(".hit") ? "-1" : "0", "aria-label": text }, svg("title"));
    hit.firstChild.textContent = `${name}: ${text}`;
    hit.addEventListener("click", () => review({ ...asCalled(code), range }));
    bars.append(hit);
  });
  bars.addEventListener("keydown", moveAmongBars);
  const x = BINS * thresholdAt;
  if (Number.isFinite(x)) bars.append(svg("line", { class: "threshold", x1: x, x2: x, y1: 0, y2: 40 }));
  bars.style.fill = `var(${styleOf(name).colour})`;
  return [make("div", { class: "hist-name" }, markOf(name), make("span", { text: show(name) }), make("span", { class: "number", text: number.format(values.length) })), bars];
}

function axisLine(axis, threshold) {
  const put = (value, text, name) => {
    const node = make("span", { class: name, text: withMinus(String(text)) });
    node.style.left = `${100 * axis.place(value)}%`;
    return node;
  };
  const line = make("div", { class: "ticks" }, ...ticksOf(axis).map(({ value, text }) => put(value, text, "tick")));
  if (!Number.isFinite(threshold)) return [line];
  const label = put(threshold, `foreign from ${twoDigits(threshold)} on`, "threshold-label");
  // Moved back by its own place, the text stays inside at either end.
  label.style.transform = `translateX(${-100 * axis.place(threshold)}%)`;
  return [make("div", { class: "ticks" }, label), line];
}

function histogram(score, lead, threshold = NaN) {
  const values = scores[score];
  const known = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!known.length) return null;
  const axis = axisOf(known, threshold, score);
  const chart = make("div", { class: "histogram" });
  const lines = binned(values, axis);
  for (const code of verdictsInOrder) if (lines[code].values.length) chart.append(...barsOf(code, score, axis, lines[code], axis.place(threshold)));
  for (const line of axisLine(axis, threshold)) chart.append(make("span"), line);
  const note = axis.isCut ? `${lead} The few values beyond the axis are counted at its ends.` : lead;
  return make("section", { class: "block half" }, make("h3", {}, term(SCORE_NAMES[score][0])), make("p", { class: "lead", text: note }), chart);
}
