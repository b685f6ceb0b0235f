// Moving over the map, by pointer and by keys.

// Closer than this hardly two points are in sight at once.
const MOST_ZOOM = Math.max(8, 2 * Math.sqrt(N));

function zoomAt(factor, x, y) {
  const kept = { ...look };
  const before = fromPixels(x, y);
  look.zoom = Math.min(MOST_ZOOM, Math.max(0.8, look.zoom * factor));
  const after = fromPixels(x, y);
  look.x += before.x - after.x;
  look.y += before.y - after.y;
  keepInside();
  // Into a gap between the points there is nothing to zoom.
  if (factor > 1 && !isAnyInSight()) Object.assign(look, kept);
  // The pointer may be over another point now, or over none.
  $("tip").hidden = true;
  askMap();
}

function isAnyInSight() {
  const { width, height } = mapParts.canvas;
  const scale = scaleOf();
  const isIn = (value, size) => value >= 0 && value <= size;
  let found = false;
  inSight(0, (row) => { found ||= isIn(toX(points[2 * row], scale), width) && isIn(toY(points[2 * row + 1], scale), height); });
  return found;
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
      make("b", { dir: "auto", text: `${to ? `${from} → ${to}` : from}${Number.isFinite(chanceOfChange(row)) ? ` ${sure(chanceOfChange(row))}` : ""}` }),
      make("span", { class: "facts" }, markOf(kindOf(row)), [kindOf(row), isJudgedByP(row) ? strength(row) : toldInWords(row)].filter(Boolean).join(" · ")),
      make("small", { dir: "auto", text: fileName(row) })));
    tip.row = row;
  }
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const top = event.clientY + 14 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 14;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

function setUpPointer(canvas) {
  on("decided", () => { $("tip").row = NONE; });
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
    tipFor(nearest(at.x, at.y), event);
  }, { passive: false });
}

function mapKey(event) {
  const { canvas } = mapParts;
  const step = (0.12 * Math.min(canvas.width, canvas.height)) / scaleOf();
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (moves[event.key]) { $("tip").hidden = true; look.x += moves[event.key][0] * step; look.y += moves[event.key][1] * step; keepInside(); askMap(); }
  else if (event.key === "+" || event.key === "=") zoomAt(1.4, canvas.width / 2, canvas.height / 2);
  else if (event.key === "-") zoomAt(1 / 1.4, canvas.width / 2, canvas.height / 2);
  else if (event.key === "0") wholeMap();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function wholeMap() { Object.assign(look, { x: 0.5, y: 0.5, zoom: 1 }); $("tip").hidden = true; askMap(); }
