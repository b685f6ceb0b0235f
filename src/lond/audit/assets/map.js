// The map: all images as points, from a grid that finds those in sight and the one under the pointer.

const points = payload.positions ? numbersOf(payload.positions) : null;
const GRID = 128;
const PICTURES_BELOW = 260;
const cells = { starts: new Int32Array(GRID * GRID + 1), rows: new Int32Array(0) };
const look = { x: 0.5, y: 0.5, zoom: 1 };
const mapParts = {};
let mapFrame = 0;

const cellOf = (value) => Math.min(GRID - 1, Math.max(0, Math.floor(value * GRID)));

function fillGrid() {
  const placed = [];
  for (let row = 0; row < N; row += 1) if (Number.isFinite(points[2 * row])) placed.push(row);
  const cell = (row) => cellOf(points[2 * row + 1]) * GRID + cellOf(points[2 * row]);
  for (const row of placed) cells.starts[cell(row) + 1] += 1;
  for (let at = 0; at < GRID * GRID; at += 1) cells.starts[at + 1] += cells.starts[at];
  const next = cells.starts.slice();
  cells.rows = new Int32Array(placed.length);
  for (const row of placed) cells.rows[next[cell(row)]++] = row;
}

// Pixels of the canvas a unit of the map takes; the whole map fits at zoom 1.
const scaleOf = () => 0.94 * Math.min(mapParts.canvas.width, mapParts.canvas.height) * look.zoom;
const toX = (x, scale) => (x - look.x) * scale + mapParts.canvas.width / 2;
const toY = (y, scale) => (y - look.y) * scale + mapParts.canvas.height / 2;

function inSight(margin, visit) {
  const scale = scaleOf();
  const halfX = mapParts.canvas.width / 2 / scale + margin / scale;
  const halfY = mapParts.canvas.height / 2 / scale + margin / scale;
  for (let y = cellOf(look.y - halfY); y <= cellOf(look.y + halfY); y += 1) {
    const from = cells.starts[y * GRID + cellOf(look.x - halfX)];
    const to = cells.starts[y * GRID + cellOf(look.x + halfX) + 1];
    for (let at = from; at < to; at += 1) visit(cells.rows[at]);
  }
}

// One small picture a verdict, drawn once: its pixels are then copied for every point.
function makeStamps(radius) {
  const style = getComputedStyle(document.documentElement);
  const size = 2 * Math.ceil(radius + 1) + 1;
  const draw = (colour, shape, alpha) => {
    const canvas = make("canvas", { width: size, height: size });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.translate(size / 2, size / 2);
    context.fillStyle = colour;
    context.strokeStyle = colour;
    context.globalAlpha = alpha;
    drawShape(context, shape, radius);
    return context.getImageData(0, 0, size, size).data;
  };
  const stamps = verdictNames.map((name) => draw(style.getPropertyValue(styleOf(name).colour).trim(), name, name === "clean" ? 0.55 : 0.95));
  return { size, radius, stamps, faint: draw(style.getPropertyValue("--faint").trim(), "clean", 0.35) };
}

function drawShape(context, name, r) {
  context.beginPath();
  if (name === "mislabelled") { context.moveTo(0, -1.25 * r); context.lineTo(1.15 * r, 0.85 * r); context.lineTo(-1.15 * r, 0.85 * r); }
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

function drawMap() {
  mapFrame = 0;
  if (state.tab !== "map" || !mapParts.canvas) return;
  const { canvas, context } = mapParts;
  const { width, height } = canvas;
  if (!width || !height) return;
  const density = Math.min(2, window.devicePixelRatio || 1);
  const radius = density * Math.min(6, Math.max(1.6, (140 / Math.sqrt(N + 1)) * Math.sqrt(look.zoom)));
  if (!mapParts.stamps || Math.abs(mapParts.stamps.radius - radius) > 0.05) mapParts.stamps = makeStamps(radius);
  const scale = scaleOf();
  const layers = [[], [], []];
  inSight(2 * radius, (row) => layers[!state.passes[row] ? 0 : verdict[row] === CLEAN ? 1 : 2].push(row));
  context.clearRect(0, 0, width, height);
  const asPictures = sprites.count && layers[1].length + layers[2].length <= PICTURES_BELOW && look.zoom > 2;
  const image = context.createImageData(width, height);
  const { size, stamps, faint } = mapParts.stamps;
  for (const row of layers[0]) press(image.data, width, height, faint, size, toX(points[2 * row], scale), toY(points[2 * row + 1], scale));
  for (const row of [...layers[1], ...layers[2]]) {
    if (!asPictures || !hasThumbnail(row)) press(image.data, width, height, stamps[verdict[row]], size, toX(points[2 * row], scale), toY(points[2 * row + 1], scale));
  }
  context.putImageData(image, 0, 0);
  if (asPictures) for (const row of [...layers[1], ...layers[2]]) if (hasThumbnail(row)) drawPicture(row, scale, density);
  if (state.current !== NONE && Number.isFinite(points[2 * state.current])) drawRing(state.current, scale, density);
  canvas.dataset.drawn = String(layers[1].length + layers[2].length);
}

function drawPicture(row, scale, density) {
  const { context } = mapParts;
  const side = 40 * density;
  const x = toX(points[2 * row], scale);
  const y = toY(points[2 * row + 1], scale);
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue(styleOf(verdictOf(row)).colour).trim();
  context.fillRect(x - side / 2 - 2 * density, y - side / 2 - 2 * density, side + 4 * density, side + 4 * density);
  drawThumbnail(context, row, x - side / 2, y - side / 2, side, askMap, true);
  context.save();
  context.translate(x + side / 2 - 2 * density, y + side / 2 - 2 * density);
  context.fillStyle = style.getPropertyValue("--page").trim();
  context.fillRect(-6 * density, -6 * density, 12 * density, 12 * density);
  context.fillStyle = context.strokeStyle = style.getPropertyValue(styleOf(verdictOf(row)).colour).trim();
  drawShape(context, verdictOf(row), 3.6 * density);
  context.restore();
}

function drawRing(row, scale, density) {
  const { context } = mapParts;
  context.beginPath();
  context.arc(toX(points[2 * row], scale), toY(points[2 * row + 1], scale), 12 * density, 0, 2 * Math.PI);
  context.lineWidth = 2.5 * density;
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  context.stroke();
}

const askMap = () => { if (!mapFrame) mapFrame = requestAnimationFrame(drawMap); };

function nearest(x, y) {
  const scale = scaleOf();
  const reach = 16 * Math.min(2, window.devicePixelRatio || 1);
  const mapX = (x - mapParts.canvas.width / 2) / scale + look.x;
  const mapY = (y - mapParts.canvas.height / 2) / scale + look.y;
  const radius = reach / scale;
  let best = NONE;
  let closest = radius * radius;
  for (let v = cellOf(mapY - radius); v <= cellOf(mapY + radius); v += 1) {
    const from = cells.starts[v * GRID + cellOf(mapX - radius)];
    const to = cells.starts[v * GRID + cellOf(mapX + radius) + 1];
    for (let at = from; at < to; at += 1) {
      const row = cells.rows[at];
      const distance = (points[2 * row] - mapX) ** 2 + (points[2 * row + 1] - mapY) ** 2;
      if (state.passes[row] && distance < closest) { closest = distance; best = row; }
    }
  }
  return best;
}

function zoomAt(factor, x, y) {
  const zoom = Math.min(400, Math.max(0.8, look.zoom * factor));
  const before = scaleOf();
  look.zoom = zoom;
  const after = scaleOf();
  const offX = x - mapParts.canvas.width / 2;
  const offY = y - mapParts.canvas.height / 2;
  look.x += offX / before - offX / after;
  look.y += offY / before - offY / after;
  keepInside();
  askMap();
}

function keepInside() {
  look.x = Math.min(1.1, Math.max(-0.1, look.x));
  look.y = Math.min(1.1, Math.max(-0.1, look.y));
}

function tipFor(row, event) {
  const tip = $("tip");
  if (row === NONE) { tip.hidden = true; return; }
  if (tip.row !== row) {
    const [from, to] = change(row);
    tip.replaceChildren(thumbnail(row, 96), make("span", {},
      make("b", { dir: "auto", text: to ? `${from} → ${to}` : from }),
      make("span", { class: "facts" }, markOf(verdictOf(row)), `${verdictOf(row)} · ${sure(scores.sureness[row])}`),
      make("small", { dir: "auto", text: fileName(row) })));
    tip.row = row;
  }
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const top = event.clientY + 14 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 14;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

function setUpPointer(canvas) {
  const fingers = new Map();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) * canvas.width) / box.width, y: ((event.clientY - box.top) * canvas.height) / box.height };
  };
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, place(event)); moved = 0; });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) { const row = nearest(now.x, now.y); canvas.classList.toggle("over", row !== NONE); tipFor(row, event); return; }
    $("tip").hidden = true;
    const scale = scaleOf();
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    look.x -= (now.x - before.x) / scale / fingers.size;
    look.y -= (now.y - before.y) / scale / fingers.size;
    fingers.set(event.pointerId, now);
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      zoomAt(factor, (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    keepInside();
    askMap();
  });
  const lift = (event) => {
    const was = fingers.delete(event.pointerId);
    if (!was || moved > 6 || event.type !== "pointerup") return;
    const at = place(event);
    const row = nearest(at.x, at.y);
    if (row !== NONE) select(row, { open: true });
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event);
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), at.x, at.y);
  }, { passive: false });
}

function mapKey(event) {
  const { canvas } = mapParts;
  const step = (0.12 * Math.min(canvas.width, canvas.height)) / scaleOf();
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (moves[event.key]) { look.x += moves[event.key][0] * step; look.y += moves[event.key][1] * step; keepInside(); askMap(); }
  else if (event.key === "+" || event.key === "=") zoomAt(1.4, canvas.width / 2, canvas.height / 2);
  else if (event.key === "-") zoomAt(1 / 1.4, canvas.width / 2, canvas.height / 2);
  else if (event.key === "0") wholeMap();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function wholeMap() { Object.assign(look, { x: 0.5, y: 0.5, zoom: 1 }); askMap(); }

function setUpMap() {
  const panel = $("panel-map");
  if (!points || !N) {
    panel.append(make("div", { class: "empty" }, make("p", { text: "This audit made no map." })));
    return;
  }
  fillGrid();
  const canvas = make("canvas", {
    class: "map", tabindex: "0", role: "img",
    "aria-label": `Map of ${count(cells.rows.length, "image")}; images that look alike lie together. Arrow keys move, plus and minus zoom, J and K go through the list. The list under Review holds the same images.`,
    onkeydown: mapKey,
  });
  const button = (text, name, act) => make("button", { class: "icon", "aria-label": name, title: name, text, onclick: act });
  const middle = (factor) => zoomAt(factor, canvas.width / 2, canvas.height / 2);
  panel.append(canvas, make("div", { class: "zoom" }, button("+", "Zoom in", () => middle(1.5)), button("−", "Zoom out", () => middle(1 / 1.5)), button("⤢", "Whole map", wholeMap)),
    make("p", { class: "hint", text: "Drag to move, scroll to zoom; pictures appear up close. Faint points are filtered out." }));
  mapParts.canvas = canvas;
  mapParts.context = canvas.getContext("2d");
  setUpPointer(canvas);
  new ResizeObserver(() => {
    const density = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = Math.round(panel.clientWidth * density);
    canvas.height = Math.round(panel.clientHeight * density);
    askMap();
  }).observe(panel);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { mapParts.stamps = null; askMap(); });
  on("view", askMap);
  on("current", () => { bringIntoSight(); askMap(); });
}

function bringIntoSight() {
  const row = state.current;
  if (state.tab !== "map" || row === NONE || !Number.isFinite(points[2 * row])) return;
  const x = toX(points[2 * row], scaleOf());
  const y = toY(points[2 * row + 1], scaleOf());
  if (x < 0 || y < 0 || x > mapParts.canvas.width || y > mapParts.canvas.height) Object.assign(look, { x: points[2 * row], y: points[2 * row + 1] });
}
