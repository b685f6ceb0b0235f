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

// Images that nearly coincide are moved apart, about as far as their marks are wide on the whole map, so that each can be
// seen and pointed at.
const APART = Math.min(0.025, 0.5 / Math.sqrt(N + 1));
const STEPS_APART = 30;
const MOST_SPREAD = 5000;

function spreadPoints(placed) {
  if (placed.length > MOST_SPREAD) return;
  const key = (x, y) => Math.floor(x / APART) * 65536 + Math.floor(y / APART);
  for (let step = 0; step < STEPS_APART; step += 1) {
    const near = new Map();
    for (const row of placed) {
      const place = key(points[2 * row], points[2 * row + 1]);
      if (!near.has(place)) near.set(place, []);
      near.get(place).push(row);
    }
    if (!pushApart(placed, near, key)) return;
  }
}

// One step; false if none was too close.
function pushApart(placed, near, key) {
  let moved = false;
  for (const row of placed) {
    for (let dx = -1; dx <= 1; dx += 1) {
      for (let dy = -1; dy <= 1; dy += 1) {
        for (const other of near.get(key(points[2 * row] + dx * APART, points[2 * row + 1] + dy * APART)) || []) {
          if (other > row && pushPair(row, other)) moved = true;
        }
      }
    }
  }
  return moved;
}

// Moves two images apart along their line; where they coincide, in a direction of their own.
function pushPair(row, other) {
  let [x, y] = [points[2 * other] - points[2 * row], points[2 * other + 1] - points[2 * row + 1]];
  const distance = Math.hypot(x, y);
  if (distance >= 0.98 * APART) return false;
  if (distance < 1e-6) [x, y] = [Math.cos(2.4 * other), Math.sin(2.4 * other)];
  const push = (APART - distance) / 2 / Math.hypot(x, y);
  points[2 * row] -= push * x;
  points[2 * row + 1] -= push * y;
  points[2 * other] += push * x;
  points[2 * other + 1] += push * y;
  return true;
}

function fillGrid() {
  const placed = [];
  for (let row = 0; row < N; row += 1) if (Number.isFinite(points[2 * row])) placed.push(row);
  spreadPoints(placed);
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
