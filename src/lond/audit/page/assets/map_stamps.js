// What a point looks like: its shape says the verdict, its colour the verdict or the given class, a hole that it is decided.

const LEGEND_CLASSES = 12;
const classRank = new Int32Array(labels.length).fill(NONE);
const classTally = new Uint32Array(labels.length);
for (let row = 0; row < N; row += 1) if (given[row] !== NONE) classTally[given[row]] += 1;
const usedClasses = labels.map((_, code) => code).filter((code) => classTally[code]);
usedClasses.forEach((code, rank) => { classRank[code] = rank; });

const byClass = () => $("colour").value === "class";
const fromStyle = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Hues in the order of the classes, light and dark in turn, so that neighbours on the circle differ.
function classColour(code) {
  if (code === NONE) return fromStyle("--faint");
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const hue = Math.round((360 * classRank[code]) / usedClasses.length);
  return `hsl(${hue} 72% ${(dark ? 58 : 36) + (classRank[code] % 2 ? 10 : 0)}%)`;
}
const pointColour = (row) => (byClass() ? classColour(given[row]) : fromStyle(styleOf(kindOf(row)).colour));

// One small picture a kind of point, drawn when first needed: its pixels are then copied for every point.
function makeStamps(radius) {
  const size = 2 * Math.ceil(radius + 1) + 1;
  const ofClass = byClass();
  const made = new Map();
  const draw = (colour, shape, alpha, hasHole = false) => {
    const canvas = make("canvas", { width: size, height: size });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.translate(size / 2, size / 2);
    context.fillStyle = context.strokeStyle = colour;
    context.globalAlpha = alpha;
    drawShape(context, shape, radius);
    if (hasHole) drawHole(context, radius);
    return context.getImageData(0, 0, size, size).data;
  };
  const drawFor = (row) => {
    if (!state.passes[row]) return draw(ofClass ? pointColour(row) : fromStyle("--faint"), "clean", ofClass ? 0.25 : 0.35);
    return draw(pointColour(row), kindOf(row), kinds[row] === CLEAN && !ofClass ? 0.55 : 0.95, isDecided(row));
  };
  const stampOf = (row) => {
    const shown = state.passes[row] ? 2 * kinds[row] + 1 + isDecided(row) : 0;
    const which = shown + (ofClass ? (given[row] + 1) * (2 * kindNames.length + 1) : 0);
    if (!made.has(which)) made.set(which, drawFor(row));
    return made.get(which);
  };
  return { size, radius, stampOf };
}

function drawShape(context, name, r) {
  context.beginPath();
  if (name === UNSURE_NAME) {
    context.lineWidth = Math.max(1, 0.3 * r);
    context.arc(0, 0, 1.15 * r - context.lineWidth / 2, 0, 2 * Math.PI);
    context.stroke();
    context.beginPath();
    context.arc(0, 0, 1.15 * r, Math.PI / 2, 1.5 * Math.PI);
  } else if (name === "mislabelled") { context.moveTo(0, -1.25 * r); context.lineTo(1.15 * r, 0.85 * r); context.lineTo(-1.15 * r, 0.85 * r); }
  else if (name === "foreign") context.rect(-0.95 * r, -0.95 * r, 1.9 * r, 1.9 * r);
  else if (name === "duplicate conflict") { context.moveTo(0, -1.3 * r); context.lineTo(1.3 * r, 0); context.lineTo(0, 1.3 * r); context.lineTo(-1.3 * r, 0); }
  else if (name === "unlabelled") { context.rect(-1.2 * r, -0.4 * r, 2.4 * r, 0.8 * r); context.rect(-0.4 * r, -1.2 * r, 0.8 * r, 2.4 * r); }
  else if (name === "unreadable") {
    context.lineWidth = Math.max(1, 0.5 * r);
    context.moveTo(-r, -r); context.lineTo(r, r); context.moveTo(-r, r); context.lineTo(r, -r);
    context.stroke();
    return;
  } else context.arc(0, 0, r, 0, 2 * Math.PI);
  context.fill();
}

function drawHole(context, r) {
  context.globalCompositeOperation = "destination-out";
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(0, 0, 0.5 * r, 0, 2 * Math.PI);
  context.fill();
}

function press(pixels, width, height, stamp, size, x, y) {
  const left = Math.round(x) - (size >> 1);
  const top = Math.round(y) - (size >> 1);
  for (let v = Math.max(0, -top); v < size && top + v < height; v += 1) {
    for (let h = Math.max(0, -left); h < size && left + h < width; h += 1) {
      const from = 4 * (v * size + h);
      const alpha = stamp[from + 3];
      if (!alpha) continue;
      const to = 4 * ((top + v) * width + left + h);
      const below = (pixels[to + 3] * (255 - alpha)) / 255;
      const sum = alpha + below;
      for (let c = 0; c < 3; c += 1) pixels[to + c] = (stamp[from + c] * alpha + pixels[to + c] * below) / sum;
      pixels[to + 3] = sum;
    }
  }
}

function fillLegend() {
  const shown = [...usedClasses].sort((a, b) => classTally[b] - classTally[a] || a - b).slice(0, LEGEND_CLASSES).sort((a, b) => a - b);
  const entry = (code) => {
    const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = classColour(code);
    return make("li", { dir: "auto" }, swatch, make("span", { text: labelName(code, 28), title: labelName(code, 200) }));
  };
  const more = usedClasses.length - shown.length;
  mapParts.legend.hidden = !byClass();
  mapParts.legend.replaceChildren(...shown.map(entry), ...(more ? [make("li", { class: "quiet", text: `the largest; and ${count(more, "more class", "more classes")}` })] : []));
}
