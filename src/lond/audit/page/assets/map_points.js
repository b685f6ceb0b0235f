// The points of the map: where they lie on the canvas, and a grid that finds those in sight or under the pointer.

const points = payload.positions ? numbersOf(payload.positions) : null;
const GRID = 128;
const cells = { starts: new Int32Array(GRID * GRID + 1), rows: new Int32Array(0) };
const span = { x: 0, y: 0 };
const look = { x: 0.5, y: 0.5, zoom: 1 };
const mapParts = {};
const density = () => Math.min(2, window.devicePixelRatio || 1);

// Room around the whole map, in pixels of the style sheet: for half a point, and at the right for the buttons.
const ROOM = { left: 20, right: 68, top: 20, bottom: 20 };

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
  // The points are stored around the middle of the unit square, which the longer side fills.
  for (const row of placed) {
    span.x = Math.max(span.x, 2 * Math.abs(points[2 * row] - 0.5));
    span.y = Math.max(span.y, 2 * Math.abs(points[2 * row + 1] - 0.5));
  }
}

// The part of the canvas into which the whole map must fit.
function room() {
  const { width, height } = mapParts.canvas;
  const part = (size, before, after) => ({ middle: (size + (before - after) * density()) / 2, size: Math.max(1, size - (before + after) * density()) });
  return { x: part(width, ROOM.left, ROOM.right), y: part(height, ROOM.top, ROOM.bottom) };
}

// Pixels of the canvas a unit of the map takes; all points fit at zoom 1.
function scaleOf() {
  const { x, y } = room();
  return Math.min(x.size / Math.max(span.x, 0.01), y.size / Math.max(span.y, 0.01)) * look.zoom;
}
const toX = (x, scale) => (x - look.x) * scale + room().x.middle;
const toY = (y, scale) => (y - look.y) * scale + room().y.middle;
function fromPixels(x, y) {
  const scale = scaleOf();
  return { x: (x - room().x.middle) / scale + look.x, y: (y - room().y.middle) / scale + look.y };
}

function inSight(margin, visit) {
  const { width, height } = mapParts.canvas;
  const low = fromPixels(-margin, -margin);
  const high = fromPixels(width + margin, height + margin);
  for (let y = cellOf(low.y); y <= cellOf(high.y); y += 1) {
    const from = cells.starts[y * GRID + cellOf(low.x)];
    const to = cells.starts[y * GRID + cellOf(high.x) + 1];
    for (let at = from; at < to; at += 1) visit(cells.rows[at]);
  }
}

function nearest(x, y) {
  const scale = scaleOf();
  const reach = 16 * density();
  const { x: mapX, y: mapY } = fromPixels(x, y);
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
