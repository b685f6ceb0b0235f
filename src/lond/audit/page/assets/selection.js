// Several images at once: chosen by click, key, drag or filter, and decided on together.

const selected = new Uint8Array(N);
let selectedCount = 0;
// Where a range begins.
let anchor = NONE;

const selectedRows = () => state.view.filter((row) => selected[row]);

function mark(row, isIn) {
  selectedCount += (isIn ? 1 : 0) - selected[row];
  selected[row] = isIn ? 1 : 0;
}

function clearSelection() {
  selected.fill(0);
  selectedCount = 0;
  // The next range begins where the person is, not where the last one did.
  anchor = state.current;
  emit("selected");
}

function toggleSelected(row) {
  mark(row, !selected[row]);
  anchor = row;
  emit("selected");
}

// All places from the anchor to a row; other selected images stay selected.
function selectRange(row) {
  const from = anchor === NONE || placeOfRow[anchor] === NONE ? placeOfRow[row] : placeOfRow[anchor];
  if (anchor === NONE) anchor = row;
  const [low, high] = [Math.min(from, placeOfRow[row]), Math.max(from, placeOfRow[row])];
  for (let place = low; place <= high; place += 1) mark(state.view[place], true);
  emit("selected");
}

function selectShown() {
  settleFilters();
  for (const row of state.view) mark(row, true);
  emit("selected");
}

// What an image must have for a decision.
const NEEDED = {
  [ACCEPT]: [(row) => canAccept(row), "a suggestion to accept"],
  [KEEP]: [(row) => given[row] !== NONE, "a label to keep"],
  0: [(row) => decisions[row], "a decision to take back"],
};

// How many of some images are hard to see, and why, in words; "" if none.
function hardInWords(rows) {
  const hard = rows.filter(isHardToSee).length;
  if (!hard) return "";
  const names = HARD_TO_SEE.filter((name) => rows.some((row) => hardnessOf(row).includes(name)));
  return `; ${number.format(hard)} of them ${hard === 1 ? "is" : "are"} hard to see (${names.join(", ")})`;
}

// Accepting takes the likeliest answer of each image, or its suggestion all the same.
function decideSelected(code, label = NONE, { asSuggested = false } = {}) {
  settleFilters();
  const rows = selectedRows();
  const [isAble, lacking] = NEEDED[code] ?? [() => true, ""];
  const able = rows.filter(code === ACCEPT && asSuggested ? hasSuggestion : isAble);
  if (!able.length) return say(`None of these images has ${lacking}`);
  const rest = rows.length - able.length;
  const without = code && rest ? `; ${count(rest, "image")} without ${lacking} ${rest === 1 ? "stays as it is" : "stay as they are"}` : "";
  const next = rowAfter(able, code);
  const focus = state.tab === "review" && !detail.contains(document.activeElement);
  clearSelection();
  const others = otherwise(able);
  const codeFor = (row) => outcomeOf(row, code === ACCEPT && !asSuggested ? codeOfYes[row] : code, label);
  const again = able.filter((row) => decisions[row] && (decisions[row] !== codeFor(row) || (decisions[row] === RELABEL && chosen[row] !== label))).length;
  const againText = code && again ? `; ${number.format(again)} of them had another decision` : "";
  const changedText = againText + (code === ACCEPT || code === MARK_FOREIGN ? hardInWords(able) : "");
  if (code === ACCEPT && !asSuggested) takeLikeliest(able, `${DONE_TEXT[ACCEPT]}: ${count(able.length, "image")}${others && `, of them ${others}`}${changedText}${without}`);
  else decide(able, code, label, `${DONE_TEXT[code]}${code === RELABEL ? ` as ${labelName(label)}` : ""}: ${count(able.length, "image")}${changedText}${without}`);
  if (next !== NONE) select(next, { focus });
  anchor = next;
  return undefined;
}

// Where to go on after a decision on several images: the first of the list behind the first of them that is left, else before it.
function rowAfter(rows, code) {
  if (!code || !$("move-on").checked) return filter.decision ? NONE : rows[0];
  const taken = new Set(rows);
  const isLeft = (row) => !taken.has(row);
  const first = placeOfRow[rows[0]];
  return state.view.subarray(first).find(isLeft) ?? state.view.subarray(0, first).findLast(isLeft) ?? NONE;
}

// Places of the list whose tiles touch a rectangle of the board.
function placesIn(left, top, right, bottom) {
  const places = [];
  const [wide, tall] = [layout.side + GAP, layout.side + layout.caption + GAP];
  const firstColumn = Math.max(0, Math.ceil((left - wide) / wide));
  const lastColumn = Math.min(layout.columns - 1, Math.floor((right - GAP) / wide));
  for (const block of layout.blocks) {
    const lines = Math.ceil(block.count / layout.columns);
    if (block.y + lines * tall < top) continue;
    if (block.y > bottom) break;
    const firstLine = Math.max(0, Math.ceil((top - block.y - layout.side - layout.caption) / tall));
    const lastLine = Math.min(lines - 1, Math.floor((bottom - block.y) / tall));
    for (let line = firstLine; line <= lastLine; line += 1) {
      for (let column = firstColumn; column <= lastColumn; column += 1) {
        const at = line * layout.columns + column;
        if (at < block.count) places.push(block.start + at);
      }
    }
  }
  return places;
}

const onBoard = ({ clientX, clientY }) => {
  const box = board.getBoundingClientRect();
  return { x: clientX - box.left, y: clientY - box.top };
};

// A frame drawn with the mouse; at the edges of the gallery the list scrolls.
function setUpDrag() {
  const frame = make("div", { class: "frame", hidden: true });
  board.append(frame);
  let drag = null;
  const draw = () => {
    const to = onBoard(drag.last);
    const [left, right] = [Math.min(drag.from.x, to.x), Math.max(drag.from.x, to.x)];
    const [top, bottom] = [Math.min(drag.from.y, to.y), Math.max(drag.from.y, to.y)];
    Object.assign(frame.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
    selected.set(drag.before);
    selectedCount = drag.beforeCount;
    for (const place of placesIn(left, top, right, bottom)) mark(state.view[place], true);
    emit("selected");
  };
  const roll = () => {
    if (!drag?.active) return;
    const box = gallery.getBoundingClientRect();
    const over = Math.max(0, drag.last.clientY - box.bottom + 24) - Math.max(0, box.top + 24 - drag.last.clientY);
    if (over) { gallery.scrollTop += Math.sign(over) * Math.min(30, Math.abs(over) / 2); draw(); }
    requestAnimationFrame(roll);
  };
  const begin = (event) => {
    const adds = event.shiftKey || event.ctrlKey || event.metaKey;
    if (!adds) clearSelection();
    Object.assign(drag, { active: true, before: selected.slice(), beforeCount: selectedCount });
    frame.hidden = false;
    gallery.setPointerCapture(event.pointerId);
    requestAnimationFrame(roll);
  };
  gallery.addEventListener("pointerdown", (event) => {
    // Fingers scroll; and right of the content lies the scroll bar.
    if (event.button || event.pointerType === "touch" || event.target.closest(".quick, .pick")) return;
    if (event.clientX > gallery.getBoundingClientRect().left + gallery.clientWidth) return;
    drag = { from: onBoard(event), first: event, last: event, active: false };
  });
  gallery.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.last = event;
    if (!drag.active && Math.hypot(event.clientX - drag.first.clientX, event.clientY - drag.first.clientY) > 8) begin(event);
    if (drag.active) draw();
  });
  const end = () => {
    if (drag?.active) {
      frame.hidden = true;
      // The click that ends a drag is none.
      const stop = (event) => { event.stopPropagation(); event.preventDefault(); };
      gallery.addEventListener("click", stop, { capture: true });
      setTimeout(() => gallery.removeEventListener("click", stop, { capture: true }), 0);
    }
    drag = null;
  };
  for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, end);
}

const LIKELIEST_MEANS = "Take the likeliest answer for each image: the verdict's suggestion, or foreign or the given label where that is likelier; of copies with different labels, their likeliest label";
const SELECTION_ACTIONS = [["Accept", "A", ACCEPT], ["Not sure", "R", REJECT], ["Keep label", "G", KEEP], ["Foreign", "F", MARK_FOREIGN], ["Take back", "C", 0]];

function fillSelectionBar() {
  const choice = labelChoice("relabel-selected", "Another label for the selected images", "", (code) => decideSelected(RELABEL, code), "Other…");
  $("selection-actions").replaceChildren(
    ...SELECTION_ACTIONS.map(([text, key, code]) => make("button", {
      "data-selection": CODES[code] || "clear", "aria-keyshortcuts": key, title: code === ACCEPT ? LIKELIEST_MEANS : MEANINGS[code], onclick: () => decideSelected(code),
    }, make("span", { text }), make("kbd", { text: key }))),
    make("button", { id: "take-suggested", "aria-keyshortcuts": "S", hidden: true, title: "Take the suggestion for each image, even where another answer is likelier", onclick: () => decideSelected(ACCEPT, NONE, { asSuggested: true }) },
      make("span", { text: "Suggestions" }), make("kbd", { text: "S" })),
    choice,
    make("button", { class: "quiet", id: "deselect", "aria-label": "Deselect", title: "Deselect (Esc)", "aria-keyshortcuts": "Escape", text: "✕", onclick: () => { clearSelection(); focusCurrent(); } }));
}

function showSelection() {
  $("selection").hidden = !selectedCount;
  $("selection-text").textContent = selectedCount ? `${number.format(selectedCount)} selected` : "";
  const others = selectedCount ? otherwise(selectedRows().filter((row) => canAccept(row))) : "";
  $("selection-note").hidden = $("take-suggested").hidden = !others;
  $("selection-note").textContent = others ? `Accept takes ${others}.` : "";
  document.body.classList.toggle("selecting", selectedCount > 0);
  if ($("relabel-selected")) $("relabel-selected").value = "";
  tiles.forEach(updateTile);
}

function setUpSelection() {
  fillSelectionBar();
  setUpDrag();
  on("labels", fillSelectionBar);
  on("selected", showSelection);
  // Messages stand above the bar, whatever lines it takes.
  new ResizeObserver(() => document.body.style.setProperty("--bar", `${$("selection").offsetHeight}px`)).observe($("selection"));
  $("select-shown").addEventListener("click", selectShown);
  // What is filtered out is not decided on unseen.
  on("view", () => {
    $("select-shown").disabled = !state.view.length;
    $("select-shown").textContent = `Select all ${number.format(state.view.length)}`;
    if (!selectedCount) return;
    for (let row = 0; row < N; row += 1) if (selected[row] && !state.passes[row]) mark(row, false);
    emit("selected");
  });
}
