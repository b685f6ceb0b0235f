// Which part of a picture was judged: of files the centre square, of long ones three squares, or the whole, padded; of
// arrays the whole, squeezed.

// Long side by short side beyond which more was judged than the centre square.
const squaresBeyond = summary.seen === "centre square" ? Infinity : summary.seen === "centre square, of long pictures three squares" ? summary.settings.extractor.squares_beyond : 0;
// Beyond the first, the panel shows what was cut off; beyond the second, cards tell it too.
const CLEARLY_LONG = 1.25;
const VERY_LONG = 2;

// Long side by short side; 1 where no thumbnail tells it.
function aspectOf(row) {
  if (!hasThumbnail(row)) return 1;
  const [width, height] = [sizes[2 * row], sizes[2 * row + 1]];
  return Math.max(width, height) / Math.min(width, height);
}
const isCut = (row) => aspectOf(row) <= squaresBeyond;
const isMostlyUnseen = (row) => isCut(row) && aspectOf(row) > VERY_LONG;
// What a card says over the picture of an image that the network hardly saw; "" if nothing.
const badgeOf = (row) => (isMostlyUnseen(row) ? ["centre only", ...hardnessOf(row).filter((name) => name !== "seen in part")] : hardnessOf(row)).join(", ");
const CENTRE_ONLY = "judged by its centre square only";

// The frame around what was judged, over a picture that fills the long side of its square.
function seenFrame(row) {
  if (!isCut(row) || aspectOf(row) <= CLEARLY_LONG) return null;
  const frame = make("span", { class: "seen-frame", "aria-hidden": "true" });
  const side = 100 / aspectOf(row);
  Object.assign(frame.style, { width: `${side}%`, height: `${side}%`, left: `${(100 - side) / 2}%`, top: `${(100 - side) / 2}%` });
  return frame;
}

function seenNote(row) {
  if (!summary.seen || aspectOf(row) <= CLEARLY_LONG) return null;
  let text = `Judged as a whole: the picture was ${summary.seen === "whole" ? "squeezed into a square" : "shrunk, with grey beside it"}.`;
  if (squaresBeyond) text = "Judged by three squares together: at both ends and in the centre.";
  if (isCut(row)) text = "Judged by the framed square only: the network did not see the rest of the picture.";
  return make("p", { class: "small", id: "seen-note", text });
}
