// Thumbnails: a sheet is decoded when one of its pictures is first needed, and only a few stay decoded.

const sprites = payload.sprites;
const slots = numbersOf(sprites.slots);
const sizes = numbersOf(sprites.sizes);
const KEPT_SHEETS = 32;
const sheets = new Map();
const hasThumbnail = (row) => slots[row] >= 0;

function sheetNumber(slot) {
  let low = 0;
  let high = sprites.firsts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sprites.firsts[middle] <= slot) low = middle;
    else high = middle - 1;
  }
  return low;
}

function sheetFor(numberOfSheet) {
  let sheet = sheets.get(numberOfSheet);
  if (sheet) {
    sheets.delete(numberOfSheet);
    sheets.set(numberOfSheet, sheet);
    return sheet;
  }
  // The sheets stand behind the script, so early on one may not be there yet.
  const holder = $(`sheet-${numberOfSheet}`);
  if (!holder || (document.readyState === "loading" && !holder.nextElementSibling)) return null;
  const url = URL.createObjectURL(new Blob([bytesOf(holder.textContent.trim())], { type: sprites.mime }));
  const image = new Image();
  sheet = { image, ready: false };
  sheet.loaded = new Promise((resolve) => {
    image.onload = () => { sheet.ready = true; URL.revokeObjectURL(url); resolve(true); };
    image.onerror = () => { URL.revokeObjectURL(url); resolve(false); };
  });
  image.src = url;
  sheets.set(numberOfSheet, sheet);
  if (sheets.size > KEPT_SHEETS) sheets.delete(sheets.keys().next().value);
  return sheet;
}

// Draw a row's picture into a square of a canvas' context; true if it is there, else `later` is called when it is.
function drawThumbnail(context, row, x, y, side, later, cover = false) {
  if (!hasThumbnail(row)) return false;
  const place = sheetNumber(slots[row]);
  const sheet = sheetFor(place);
  if (!sheet) {
    document.addEventListener("DOMContentLoaded", later, { once: true });
    return false;
  }
  if (!sheet.ready) {
    sheet.loaded.then((fine) => fine && later());
    return false;
  }
  const within = slots[row] - sprites.firsts[place];
  const pitch = sprites.side + 2 * sprites.margin;
  const left = (within % sprites.columns) * pitch + sprites.margin;
  const top = Math.floor(within / sprites.columns) * pitch + sprites.margin;
  const width = sizes[2 * row];
  const height = sizes[2 * row + 1];
  const longest = cover ? Math.min(width, height) : Math.max(width, height);
  context.imageSmoothingEnabled = sprites.side > 32 || side < 2 * longest;
  context.imageSmoothingQuality = "high";
  if (cover) {
    context.drawImage(sheet.image, left + (width - longest) / 2, top + (height - longest) / 2, longest, longest, x, y, side, side);
  } else {
    const scale = side / longest;
    context.drawImage(sheet.image, left, top, width, height,
      x + (side - width * scale) / 2, y + (side - height * scale) / 2, width * scale, height * scale);
  }
  return true;
}

// A canvas that shows a row's picture, or says that there is none.
function thumbnail(row, side) {
  if (!hasThumbnail(row)) {
    const why = verdict[row] === UNREADABLE ? "unreadable" : "no picture";
    return make("span", { class: "picture none", "aria-hidden": "true" }, make("span", { text: why }));
  }
  const pixels = Math.round(side * Math.min(2, window.devicePixelRatio || 1));
  const canvas = make("canvas", { class: "picture", width: pixels, height: pixels, "aria-hidden": "true" });
  const draw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, pixels, pixels);
    drawThumbnail(context, row, 0, 0, pixels, draw);
  };
  draw();
  return canvas;
}
