// The map: all images as points, drawn anew whenever something changes.

const PICTURES_BELOW = 260;
let mapFrame = 0;

function drawMap() {
  mapFrame = 0;
  if (state.tab !== "map" || !mapParts.canvas) return;
  const { canvas, context } = mapParts;
  const { width, height } = canvas;
  if (!width || !height) return;
  const radius = density() * Math.min(6, Math.max(1.6, (140 / Math.sqrt(N + 1)) * Math.sqrt(look.zoom)));
  if (!mapParts.stamps || Math.abs(mapParts.stamps.radius - radius) > 0.05) mapParts.stamps = makeStamps(radius);
  const scale = scaleOf();
  const layers = [[], [], []];
  inSight(2 * radius, (row) => layers[!state.passes[row] ? 0 : kinds[row] === CLEAN ? 1 : 2].push(row));
  context.clearRect(0, 0, width, height);
  const asPictures = sprites.count && layers[1].length + layers[2].length <= PICTURES_BELOW && look.zoom > 2;
  const image = context.createImageData(width, height);
  const { size, stampOf } = mapParts.stamps;
  const { x, y } = room();
  for (const row of layers.flat()) {
    if (asPictures && state.passes[row] && hasThumbnail(row)) continue;
    press(image.data, width, height, stampOf(row), size, (points[2 * row] - look.x) * scale + x.middle, (points[2 * row + 1] - look.y) * scale + y.middle);
  }
  context.putImageData(image, 0, 0);
  if (asPictures) for (const row of [...layers[1], ...layers[2]]) if (hasThumbnail(row)) drawPicture(row, scale, density());
  if (state.current !== NONE && Number.isFinite(points[2 * state.current])) drawRing(state.current, scale, density());
  canvas.dataset.drawn = String(layers[1].length + layers[2].length);
}

function drawPicture(row, scale, unit) {
  const { context } = mapParts;
  const side = 40 * unit;
  const x = toX(points[2 * row], scale);
  const y = toY(points[2 * row + 1], scale);
  context.fillStyle = pointColour(row);
  context.fillRect(x - side / 2 - 2 * unit, y - side / 2 - 2 * unit, side + 4 * unit, side + 4 * unit);
  context.save();
  if (isDecided(row)) {
    // Pale, as in the gallery.
    context.fillStyle = fromStyle("--page");
    context.fillRect(x - side / 2, y - side / 2, side, side);
    context.globalAlpha = 0.5;
  }
  drawThumbnail(context, row, x - side / 2, y - side / 2, side, askMap, true);
  context.globalAlpha = 1;
  context.translate(x + side / 2 - 2 * unit, y + side / 2 - 2 * unit);
  context.fillStyle = fromStyle("--page");
  context.fillRect(-6 * unit, -6 * unit, 12 * unit, 12 * unit);
  context.fillStyle = context.strokeStyle = pointColour(row);
  drawShape(context, kindOf(row), 3.6 * unit);
  context.restore();
}

function drawRing(row, scale, unit) {
  const { context } = mapParts;
  context.beginPath();
  context.arc(toX(points[2 * row], scale), toY(points[2 * row + 1], scale), 12 * unit, 0, 2 * Math.PI);
  context.lineWidth = 2.5 * unit;
  context.strokeStyle = fromStyle("--ink");
  context.stroke();
}

const askMap = () => { if (!mapFrame) mapFrame = requestAnimationFrame(drawMap); };

function mapExplanation() {
  const { space = "the audit's features", kind = "" } = summary.map && typeof summary.map === "object" ? summary.map : {};
  const how = { tsne: "Distances between far groups mean little (t-SNE).", pca: "It shows the two directions in which the images differ most (principal components)." }[kind] || "";
  return make("div", { class: "hint" },
    make("p", { text: "Drag to move, scroll to zoom; pictures appear up close. Faint points are filtered out, and points with a hole are decided. Points that nearly coincide are moved apart a little." }),
    make("p", { text: `Each point is an image. Images lie close together where ${show(space, 80)} are alike; the labels play no part. A point amid another class may have a wrong label, a point far from all classes may be foreign. ${how}` }));
}

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
  mapParts.legend = make("ul", { class: "legend", "aria-label": "Colours of the given classes", hidden: true });
  const box = make("div", { class: "map-box" }, canvas, make("div", { class: "zoom" }, button("+", "Zoom in", () => middle(1.5)), button("−", "Zoom out", () => middle(1 / 1.5)), button("⤢", "Whole map", wholeMap)));
  panel.append(box, mapParts.legend, mapExplanation());
  mapParts.canvas = canvas;
  mapParts.context = canvas.getContext("2d");
  setUpPointer(canvas);
  new ResizeObserver(() => {
    canvas.width = Math.round(box.clientWidth * density());
    canvas.height = Math.round(box.clientHeight * density());
    askMap();
  }).observe(box);
  const recolour = () => { mapParts.stamps = null; fillLegend(); askMap(); };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  $("colour").addEventListener("change", () => { keepView(); recolour(); });
  recolour();
  for (const signal of ["view", "decided"]) on(signal, askMap);
  on("current", () => { bringIntoSight(); askMap(); });
}

function bringIntoSight() {
  const row = state.current;
  if (state.tab !== "map" || row === NONE || !Number.isFinite(points[2 * row])) return;
  const x = toX(points[2 * row], scaleOf());
  const y = toY(points[2 * row + 1], scaleOf());
  if (x < 0 || y < 0 || x > mapParts.canvas.width || y > mapParts.canvas.height) Object.assign(look, { x: points[2 * row], y: points[2 * row + 1] });
}
