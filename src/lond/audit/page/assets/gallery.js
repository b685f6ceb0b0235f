// The gallery: only the tiles in sight (and the current one, which may hold the focus) are in the document.

const gallery = $("gallery");
const board = $("canvas");
const GAP = 10;
const HEADING = 44;
// Heights of what stands below a picture; on narrow cards words wrap to further lines.
const CAPTION = 88;
const SHORT_CAPTION = 62;
const TALL_CAPTION = 138;
const NARROW_CARD = 160;
// What messages at the bottom of the window cover; the current image stays above it.
const MESSAGE = 64;
const tiles = new Map();
const headings = new Map();
let layout = { columns: 1, side: 120, caption: CAPTION, blocks: [], height: 0 };
let placeOfRow = new Int32Array(N).fill(NONE);

// Whether any label, with an arrow to any other and a percentage, stands in one line on a card of this width.
function labelsFit(side) {
  if (labelsFit.known !== labels.length) {
    const pen = document.createElement("canvas").getContext("2d");
    const { fontFamily } = getComputedStyle(board);
    const width = (text, font) => { pen.font = `${font} ${fontFamily}`; return pen.measureText(text).width; };
    const widest = (texts) => texts.reduce((most, text) => Math.max(most, width(text, "560 14.4px")), 0);
    const names = labels.map((_, code) => labelName(code));
    const from = given.includes(NONE) ? [...names, labelName(NONE)] : names;
    Object.assign(labelsFit, { known: labels.length, needs: widest(from) + widest([...names, "foreign"]) + widest(["→ "]) + width("100 %", "450 12.5px") });
  }
  // Besides, room for the padding of the caption and the gaps between the parts.
  return labelsFit.needs <= side - 30;
}

function measure() {
  const width = Math.max(120, board.clientWidth - 2 * GAP);
  const wanted = width < 420 ? 124 : 168;
  const columnsThatFit = Math.max(1, Math.floor((width + GAP) / (wanted + GAP)));
  const side = Math.floor((width + GAP) / columnsThatFit - GAP);
  const caption = side < NARROW_CARD ? TALL_CAPTION : labelsFit(side) ? SHORT_CAPTION : CAPTION;
  let y = GAP;
  const blocks = state.groups.map((group) => {
    const block = { ...group, top: y, y: y + (group.title ? HEADING : 0) };
    y = block.y + Math.ceil(group.count / columnsThatFit) * (side + caption + GAP) + (group.title ? 6 : 0);
    return block;
  });
  layout = { columns: columnsThatFit, side, caption, blocks, height: y };
  board.style.height = `${y + MESSAGE}px`;
  board.style.setProperty("--caption", `${caption}px`);
  board.classList.toggle("narrow-cards", side < NARROW_CARD);
}

function blockAt(place) {
  let low = 0;
  let high = layout.blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (layout.blocks[middle].start <= place) low = middle;
    else high = middle - 1;
  }
  return layout.blocks[low];
}

function cornerOf(place) {
  const block = blockAt(place);
  const within = place - block.start;
  return {
    x: GAP + (within % layout.columns) * (layout.side + GAP),
    y: block.y + Math.floor(within / layout.columns) * (layout.side + layout.caption + GAP),
  };
}

function renderGallery() {
  if (state.tab !== "review") return;
  const from = gallery.scrollTop - 300;
  const to = gallery.scrollTop + gallery.clientHeight + 300;
  const wanted = new Set();
  const wantedHeadings = new Set();
  const step = layout.side + layout.caption + GAP;
  for (const block of layout.blocks) {
    const lines = Math.ceil(block.count / layout.columns);
    if (block.y + lines * step < from) continue;
    if (block.top > to) break;
    if (block.title) wantedHeadings.add(block);
    const first = Math.max(0, Math.floor((from - block.y) / step)) * layout.columns;
    const last = Math.min(block.count, (Math.floor((to - block.y) / step) + 1) * layout.columns);
    for (let at = first; at < last; at += 1) wanted.add(block.start + at);
  }
  const current = state.current === NONE ? NONE : placeOfRow[state.current];
  if (current !== NONE) wanted.add(current);
  for (const [place, tile] of tiles) if (!wanted.has(place)) { tile.remove(); tiles.delete(place); }
  for (const [block, heading] of headings) if (!wantedHeadings.has(block)) { heading.remove(); headings.delete(block); }
  for (const block of wantedHeadings) if (!headings.has(block)) headings.set(block, addHeading(block));
  // In the document the tiles stand in the order of the list, which is how they are read out.
  let before = null;
  for (const place of [...wanted].sort((a, b) => a - b)) {
    if (!tiles.has(place)) {
      tiles.set(place, makeTile(place));
      if (before) before.after(tiles.get(place));
      else board.prepend(tiles.get(place));
    }
    before = tiles.get(place);
  }
}

function addHeading(block) {
  const heading = make("div", { class: "heading", "aria-hidden": "true" }, markOf(block.title[0]),
    ...block.title.map((part, at) => make(at ? "span" : "b", { text: show(part, 80), dir: "auto" })),
    make("span", { class: "number", text: number.format(block.count) }));
  heading.style.transform = `translateY(${block.top}px)`;
  board.prepend(heading);
  return heading;
}

// The verdict, where it is not what is likeliest with its contradiction.
const kindInWords = (row) => (isUnsure(row) ? `${UNSURE_NAME}, called ${verdictOf(row)}` : verdictOf(row));

function tileLabel(row) {
  const [from, to] = likeliestChange(row);
  const parts = [fileName(row), kindInWords(row), to && !isContrary(row) ? `given ${from}, suggested ${to}` : `given ${from}`];
  if (isContrary(row)) parts.push(`${firstInWords(row)} ${to ?? from} ${sure(chanceOfYes(row))}`);
  parts.push(...(isYourVerdict(row) ? [yoursInWords(row)] : [toldInWords(row), strengthInWords(row)].filter(Boolean)));
  parts.push(...(isMostlyUnseen(row) ? [CENTRE_ONLY] : []), ...qualityOf(row), decisionText(row));
  if (selected[row]) parts.push("selected");
  return parts.join(", ");
}

// What accepting the suggestion does to an image, in as few words as a button has room for.
function effectOfYes(row) {
  if (leaves(row)) return proposal(row);
  return proposedLabel(row) === given[row] && given[row] !== NONE ? `keep ${labelName(given[row], 40)}` : labelName(proposedLabel(row), 40);
}
const effectOf = (row, code) => (code === ACCEPT ? effectOfYes(row) : { [KEEP]: `keep ${labelName(given[row], 40)}`, [MARK_FOREIGN]: "foreign", [RELABEL]: copyAnswer(row) ? labelName(copyAnswer(row)[0], 40) : "other label", [REJECT]: "not sure" }[code]);
const KEY_OF = { [ACCEPT]: "S", [REJECT]: "R", [RELABEL]: "L", [MARK_FOREIGN]: "F", [KEEP]: "G" };

// The two answers of a card say what they do, not yes and no: which of them agrees differs from verdict to verdict.
function quickButton(row, kind, code, effect) {
  const skip = code === KEEP ? " If you are not sure, press R to skip." : "";
  const ofCopy = code === RELABEL ? copyAnswer(row)?.[0] : undefined;
  const act = code === RELABEL && ofCopy === undefined ? () => { select(row, { open: true }); $("relabel").focus(); } : () => decideRow(row, code, ofCopy);
  const key = kind === "yes" && code !== RELABEL ? "A" : ofCopy === undefined ? KEY_OF[code] : KEY_OF[ACCEPT];
  return make("button", { tabindex: "-1", class: kind, "aria-label": effect, title: `${effect} (${key}): ${meaningHere(row, code)}.${skip}`, onclick: act }, make("span", { text: effect }));
}
const meaningHere = (row, code) => {
  if (code === ACCEPT) return leaves(row) ? "leaves the set" : effectOfYes(row).startsWith("keep ") ? "the label is right" : "takes the suggested label";
  return { [KEEP]: "the label is right", [MARK_FOREIGN]: "leaves the set", [RELABEL]: copyAnswer(row) ? "the label of a copy" : "choose it from the list", [REJECT]: "skip, the image stays as it is" }[code];
};

// The lines below a picture; every percentage is the chance of the word before it.
function captionLines(row) {
  const [from, to] = change(row);
  const [fact, chance] = toldOnCard(row);
  const likely = Number.isFinite(chanceOfChange(row)) ? make("span", { class: "number", text: sureInShort(chanceOfChange(row)) }) : null;
  return [
    make("span", { class: "labels", dir: "auto" },
      make("bdi", { class: to ? (isStruckOut(row) ? "from" : "") : "alone", text: from }), to ? make("span", { class: "new" }, make("span", { class: "to" }, "→ ", make("bdi", { text: to })), likely) : likely),
    make("span", { class: "facts" }, markOf(kindOf(row)), make("span", { text: fact }),
      make("span", { class: "number", text: isJudgedByP(row) ? strength(row) : chance === null ? "" : sureInShort(chance) }))];
}

function tipOf(row) {
  const [from, to] = change(row);
  const chances = isYourVerdict(row) ? [yoursInWords(row), earlierInWords(row)] : isJudged(row) ? chancesInWords(row) : [toldInWords(row), strengthInWords(row)];
  return [to ? `${from} → ${to}` : from, kindInWords(row), ...chances, whyCalled(row), isMostlyUnseen(row) ? CENTRE_ONLY : "", qualityOf(row).join(", ")].filter(Boolean).join("\n");
}

function makeTile(place) {
  const row = state.view[place];
  const corner = cornerOf(place);
  const tile = make("div", { class: "tile", role: "listitem", "aria-posinset": place + 1, "aria-setsize": state.view.length });
  tile.style.width = `${layout.side}px`;
  tile.style.height = `${layout.side + layout.caption}px`;
  tile.style.transform = `translate(${corner.x}px, ${corner.y}px)`;
  const main = make("button", { class: "main", tabindex: "-1", onclick: (event) => clickTile(event, row) });
  // The button lies over the picture and its caption; its name says all that they show.
  const card = make("div", { class: "tile-card", "aria-hidden": "true" },
    thumbnail(row, layout.side),
    make("span", { class: "caption" }),
    make("span", { class: "stamp" }), badgeOf(row) ? make("span", { class: "badge", text: badgeOf(row) }) : null);
  tile.append(main, card,
    make("button", { class: "pick", tabindex: "-1", role: "checkbox", "aria-checked": "false", "aria-label": "Select", title: "Select (X)", onclick: (event) => (event.shiftKey ? selectRange(row) : toggleSelected(row)) }),
    make("span", { class: "quick" },
      canAccept(row) ? quickButton(row, "yes", codeOfYes[row], effectOf(row, codeOfYes[row])) : quickButton(row, "yes", RELABEL, "a label"), quickButton(row, "no", secondOf(row), effectOf(row, secondOf(row)))));
  tile.row = row;
  updateTile(tile);
  return tile;
}

// A click opens, with Ctrl it selects or deselects, with Shift it selects all from the last one.
function clickTile(event, row) {
  if (event.shiftKey) { state.current = row; selectRange(row); return emit("current", {}); }
  if (event.ctrlKey || event.metaKey) return toggleSelected(row);
  anchor = row;
  return select(row, { open: true });
}

const STAMPS = ["", "✓ accepted", "? not sure", "⇄ ", "■ foreign", "= kept"];

function updateTile(tile) {
  const { row } = tile;
  const main = tile.firstChild;
  const isCurrent = row === state.current;
  tile.classList.toggle("current", isCurrent);
  tile.classList.toggle("selected", selected[row] > 0);
  tile.querySelector(".pick").setAttribute("aria-checked", String(selected[row] > 0));
  tile.dataset.decision = CODES[decisions[row]];
  tile.querySelector(".yes").setAttribute("aria-pressed", String(decisions[row] === bestOf(row)));
  tile.querySelector(".no").setAttribute("aria-pressed", String(decisions[row] === secondOf(row) && (decisions[row] !== RELABEL || chosen[row] === copyAnswer(row)?.[0])));
  main.tabIndex = isCurrent || (state.current === NONE && state.view[0] === row) ? 0 : -1;
  if (isCurrent) main.setAttribute("aria-current", "true");
  else main.removeAttribute("aria-current");
  main.setAttribute("aria-label", tileLabel(row));
  const decision = `${decisions[row]} ${chosen[row]}`;
  if (tile.shownDecision !== decision) {
    tile.shownDecision = decision;
    main.title = tipOf(row);
    tile.querySelector(".caption").replaceChildren(...captionLines(row));
  }
  tile.querySelector(".stamp").textContent = STAMPS[decisions[row]] + (decisions[row] === RELABEL ? labelName(chosen[row], 24) : "") || (apart[row] ? "≠ no copy" : "");
}

function rebuildGallery() {
  const focused = gallery.contains(document.activeElement) && document.activeElement !== gallery;
  placeOfRow.fill(NONE);
  state.view.forEach((row, place) => { placeOfRow[row] = place; });
  tiles.forEach((tile) => tile.remove());
  headings.forEach((heading) => heading.remove());
  tiles.clear();
  headings.clear();
  if (state.tab !== "review") return;
  measure();
  $("gallery-empty").hidden = state.view.length > 0;
  $("gallery-empty").replaceChildren(make("p", { text: emptyText() }), emptyButton());
  renderGallery();
  // Without a current tile in the list, the first one is where the Tab key enters.
  if (!document.querySelector('.tile .main[tabindex="0"]') && tiles.size) tiles.values().next().value.firstChild.tabIndex = 0;
  if (focused) focusCurrent();
}

// The way out of an empty list.
function emptyButton() {
  const outside = foundOutside();
  if (outside) return make("button", { text: outside === 1 ? "Show the match outside the filters" : `Show ${number.format(outside)} matches outside the filters`, onclick: showOutside });
  if (searchedFor()) return make("button", { text: "Clear the search", onclick: () => setFilter({ text: "" }) });
  return make("button", { text: "Show all images", onclick: showAll });
}

function focusCurrent() {
  const tile = state.current === NONE ? null : tiles.get(placeOfRow[state.current]);
  (tile || tiles.values().next().value)?.firstChild.focus({ preventScroll: true });
}

function reveal(place) {
  const { y } = cornerOf(place);
  const card = layout.side + layout.caption + GAP;
  const bottom = y + card + Math.max(0, Math.min(MESSAGE, gallery.clientHeight - card - HEADING));
  const top = y - (placeIsFirstLine(place) ? HEADING : GAP);
  if (top < gallery.scrollTop) gallery.scrollTop = Math.max(0, top);
  else if (bottom > gallery.scrollTop + gallery.clientHeight) gallery.scrollTop = bottom - gallery.clientHeight;
}
const placeIsFirstLine = (place) => place - blockAt(place).start < layout.columns;

function select(row, { open = false, focus = false } = {}) {
  state.current = row;
  if (state.tab === "review" && placeOfRow[row] !== NONE) {
    reveal(placeOfRow[row]);
    renderGallery();
    tiles.forEach(updateTile);
    if (focus) focusCurrent();
  }
  emit("current", { open });
}

// Move in the list by places, or by lines of the same group and its neighbours.
function moveBy(places) {
  settleFilters();
  if (!state.view.length) return;
  const at = state.current === NONE ? NONE : placeOfRow[state.current];
  const next = at === NONE ? 0 : Math.min(state.view.length - 1, Math.max(0, at + places));
  const inGallery = gallery.contains(document.activeElement) || document.activeElement === document.body;
  select(state.view[next], { focus: state.tab === "review" && inGallery });
}

// From the current image on, and from the top of the list again.
function goToUndecided() {
  settleFilters();
  const from = state.current === NONE ? 0 : placeOfRow[state.current] + 1;
  const isOpen = (row) => !isDecided(row);
  const next = state.view.subarray(from).find(isOpen) ?? state.view.subarray(0, from).find(isOpen) ?? NONE;
  if (next === NONE) return say("Every image of this list is decided");
  if (next === state.current) return say("No other image of this list is undecided");
  return goOnTo(next);
}

function moveLine(direction) {
  const at = state.current === NONE ? NONE : placeOfRow[state.current];
  if (at === NONE) return moveBy(1);
  const block = blockAt(at);
  const within = at - block.start;
  const column = within % layout.columns;
  const target = within + direction * layout.columns;
  if (target >= 0 && target < block.count) return moveBy(target - within);
  const line = Math.floor(within / layout.columns);
  const lastLine = Math.floor((block.count - 1) / layout.columns);
  if (direction > 0 && line < lastLine) return moveBy(block.count - 1 - within);
  const index = layout.blocks.indexOf(block) + direction;
  const other = layout.blocks[index];
  if (!other) return undefined;
  const start = direction > 0 ? 0 : Math.floor((other.count - 1) / layout.columns) * layout.columns;
  return moveBy(other.start + Math.min(other.count - 1, start + column) - at);
}

const DONE_TEXT = ["Decision taken back", "Accepted", "Not sure", "Relabelled", "Marked foreign", "Label kept"];
const MEANINGS = ["Forget the decision", "The verdict is right: take the suggested label, or leave a foreign image out", "Skip: the image stays as it is, and teaches nothing when the set is judged again", "", "It belongs to no class: leave it out", "The given label is right, and counts as truth when the set is judged again"];

// The next image of the list on which nothing is decided: a key pressed twice must not change an earlier decision.
function undecidedAfter(row) {
  const at = placeOfRow[row];
  return at === NONE ? NONE : state.view.subarray(at + 1).find((other) => !isDecided(other)) ?? NONE;
}
function goOnTo(next) {
  const inGallery = gallery.contains(document.activeElement) || document.activeElement === document.body;
  select(next, { focus: state.tab === "review" && inGallery });
}

// Takes the suggestion, or the label of a copy; the given label and foreign have keys of their own.
function takeSuggestion(row) {
  if (hasSuggestion(row)) return decideRow(row, ACCEPT);
  if (copyAnswer(row)) return decideRow(row, RELABEL, copyAnswer(row)[0]);
  return say(`There is no suggestion for ${fileName(row)}; A takes the likeliest answer`);
}

function decideRow(row, asked, label = NONE) {
  const code = outcomeOf(row, asked, label);
  settleFilters();
  if (code === ACCEPT && !canAccept(row)) return say("There is no suggestion to accept: choose a label");
  if (code === KEEP && given[row] === NONE) return say("There is no label to keep: choose one");
  const stays = code === REJECT || code === KEEP;
  const outcome = code === RELABEL ? labelName(label) : stays ? `stays ${labelName(given[row])}` : code === ACCEPT ? proposal(row) : "";
  const next = undecidedAfter(row);
  decide([row], code, code === RELABEL ? label : NONE, `${DONE_TEXT[code]}${outcome ? ` (${outcome})` : ""}: ${fileName(row)}${placeOfRow[row] === NONE ? ", which is not in the list" : ""}`);
  if (code && $("move-on").checked && next !== NONE && state.current === row) goOnTo(next);
  return undefined;
}

function setUpGallery() {
  gallery.addEventListener("scroll", () => requestAnimationFrame(renderGallery), { passive: true });
  new ResizeObserver(() => {
    const before = `${layout.columns}:${layout.side}`;
    if (state.tab !== "review") return;
    measure();
    if (before === `${layout.columns}:${layout.side}`) renderGallery();
    else rebuildGallery();
  }).observe(gallery);
  on("view", () => { gallery.scrollTop = 0; rebuildGallery(); });
  on("decided", () => {
    if (filter.decision) {
      const top = gallery.scrollTop;
      const at = state.current === NONE ? NONE : placeOfRow[state.current];
      const focused = gallery.contains(document.activeElement) && document.activeElement !== gallery;
      refresh();
      if (at !== NONE && state.current === NONE && state.view.length) {
        state.current = state.view[Math.min(at, state.view.length - 1)];
        emit("current", {});
      }
      gallery.scrollTop = top;
      renderGallery();
      if (focused) focusCurrent();
    }
    tiles.forEach(updateTile);
  });
}
