// Which images are shown, in which order and in which groups.

const NO_FILTER = { kinds: new Set(), called: NONE, given: "", suggested: "", decision: "", sureness: 0, text: "", quality: 0, range: null };
// Unsure images stand beside the other doubts.
const kindsInOrder = [...verdictsInOrder.slice(0, DOUBTS.length), ...(kindCounts[UNSURE] ? [UNSURE] : []), ...verdictsInOrder.slice(DOUBTS.length)];
// What the page begins with, and returns to on reset: the doubts, those first that most need a look.
const START = { ...NO_FILTER, kinds: new Set(kindsInOrder.filter((code) => code === UNSURE || (isDoubt[code] && kindCounts[code]))) };
const showsStart = () => START.kinds.size === filter.kinds.size && [...START.kinds].every((code) => filter.kinds.has(code));
const START_ARRANGEMENT = { sort: "need", group: "" };
const filter = { ...NO_FILTER };
const arrangement = { ...START_ARRANGEMENT };
let searchTimer = 0;
let searchable = null;
let pathRank = null;

const holds = (row, words) => searchable[row].includes(words);

function matches(row, words) {
  if (filter.kinds.size && !filter.kinds.has(kinds[row])) return false;
  if (filter.called !== NONE && verdict[row] !== filter.called) return false;
  if (filter.given !== "" && given[row] !== Number(filter.given)) return false;
  if (filter.suggested !== "" && suggested[row] !== Number(filter.suggested)) return false;
  if (filter.quality && !(qualityBits[row] & filter.quality)) return false;
  if (filter.range && binOf(scores[filter.range.score][row], filter.range) !== filter.range.bin) return false;
  // An unknown sureness passes only when none is asked.
  if (filter.sureness > 0 && !(scores.sureness[row] >= filter.sureness)) return false;
  if (filter.decision === "undecided" && isDecided(row)) return false;
  if (filter.decision === "decided" && !isDecided(row)) return false;
  if (CODES.indexOf(filter.decision) > 0 && CODES[decisions[row]] !== filter.decision) return false;
  return !words || holds(row, words);
}

function sortKeys() {
  const keys = new Float64Array(N);
  const signed = {
    surest: [scores.sureness, -1], unsure: [scores.sureness, 1],
    foreign: [scores.foreign_score, -1], margin: [scores.neighbour_margin, 1],
  }[arrangement.sort];
  if (arrangement.sort === "need") return Float64Array.from(rank);
  if (!signed) return ranksOfPaths();
  const [values, sign] = signed;
  for (let row = 0; row < N; row += 1) keys[row] = Number.isNaN(values[row]) ? Infinity : sign * values[row];
  return keys;
}

function ranksOfPaths() {
  if (!pathRank) {
    const paths = Array.from({ length: N }, (_, row) => pathOf(row));
    const rows = Array.from({ length: N }, (_, row) => row).sort((a, b) => (paths[a] < paths[b] ? -1 : paths[a] > paths[b] ? 1 : a - b));
    pathRank = new Float64Array(N);
    rows.forEach((row, rank) => { pathRank[row] = rank; });
  }
  return pathRank;
}

function groupKeys() {
  const keys = new Float64Array(N);
  if (!arrangement.group) return keys;
  const classes = { class: given, suggested }[arrangement.group];
  for (let row = 0; row < N; row += 1) {
    // The members of a conflict differ in their class, and should stand side by side.
    const ofClass = classes && verdict[row] !== CONFLICT;
    keys[row] = rankOfKind[kinds[row]] * (labels.length + 1) + (ofClass ? classes[row] + 1 : 0);
  }
  return keys;
}

// A row of a group stands for its heading.
function groupTitle(row) {
  const parts = [kindOf(row)];
  if (verdict[row] === CONFLICT) return [...parts, "copies of a picture side by side"];
  if (arrangement.group === "class") parts.push(given[row] === NONE ? "no given label" : `given as ${labelName(given[row])}`);
  if (arrangement.group === "suggested") parts.push(suggested[row] === NONE ? "no suggestion" : `suggested ${labelName(suggested[row])}`);
  return parts;
}

// In what order the found rows stand: by group, then by key; a conflict stands where its first member does.
function inOrder(found, groups) {
  const keys = sortKeys();
  const first = keys.slice();
  for (const row of found) first[conflictOf[row]] = Infinity;
  for (const row of found) first[conflictOf[row]] = Math.min(first[conflictOf[row]], keys[row]);
  for (const row of found) first[row] = first[conflictOf[row]];
  const foreign = scores.foreign_score;
  const sign = arrangement.sort === "unsure" ? -1 : 1;
  const tie = (a, b) => (foreign[a] === foreign[b] || Number.isNaN(foreign[a] - foreign[b]) ? a - b : sign * (foreign[b] - foreign[a]));
  const within = (a, b) => conflictOf[a] - conflictOf[b] || (keys[a] === keys[b] ? a - b : keys[a] - keys[b]);
  // p-values repeat: among equally sure foreign images the score decides.
  const equal = (a, b) => (verdict[a] === FOREIGN && verdict[b] === FOREIGN ? tie(a, b) : within(a, b));
  return found.sort((a, b) => groups[a] - groups[b] || (first[a] === first[b] ? equal(a, b) : first[a] - first[b]));
}

const ONLY_DOUBTS = "(doubts)";
// What the folded filters say of themselves; the doubts, with which the page begins, are not counted as set by the person.
function activeFilters() {
  const isStart = showsStart();
  const isSet = [!isStart && filter.kinds.size > 0, ...["given", "suggested", "decision", "text"].map((name) => filter[name] !== ""), filter.sureness > 0, filter.quality > 0, filter.range !== null, filter.called !== NONE];
  const active = isSet.filter(Boolean).length;
  const parts = [...(isStart && START.kinds.size ? ["doubts"] : []), ...(active ? [`${active} set`] : [])];
  return parts.length ? `(${parts.join(", ")})` : "";
}

// The words that are searched for; "" for none.
function searchedFor() {
  const words = filter.text.trim().toLowerCase();
  if (words && !searchable) {
    searchable = Array.from({ length: N }, (_, row) => (pathOf === idOf ? idOf(row) : `${idOf(row)}\n${pathOf(row)}`).toLowerCase());
  }
  return words;
}

// How many images have the words that are searched for, else the picture quality asked for, but are hidden by the other filters.
function foundOutside() {
  const words = searchedFor();
  const isSought = words ? (row) => holds(row, words) : (row) => (qualityBits[row] & filter.quality) > 0;
  let outside = 0;
  for (let row = 0; row < N; row += 1) outside += !state.passes[row] && isSought(row) ? 1 : 0;
  return outside;
}
const showOutside = () => setFilter({ ...NO_FILTER, text: filter.text, quality: searchedFor() ? 0 : filter.quality });

function showFoundOutside() {
  const outside = foundOutside();
  $("show-outside").hidden = !outside;
  $("show-outside").textContent = outside ? `${count(outside, "match", "matches")} outside the filters: show` : "Show";
}

function refresh() {
  clearTimeout(searchTimer);
  searchTimer = 0;
  filter.text = $("filter-text").value;
  const words = searchedFor();
  const wasListed = state.current !== NONE && state.passes[state.current] > 0;
  const found = [];
  for (let row = 0; row < N; row += 1) {
    state.passes[row] = matches(row, words) ? 1 : 0;
    if (state.passes[row]) found.push(row);
  }
  // A key must not decide on an image that has just left the list.
  const hasLeft = wasListed && !state.passes[state.current];
  if (hasLeft) state.current = NONE;
  const groups = groupKeys();
  state.view = Int32Array.from(inOrder(found, groups));
  state.groups = [];
  for (let at = 0; at < found.length; at += 1) {
    const last = state.groups[state.groups.length - 1];
    if (last && groups[found[at]] === last.key) last.count += 1;
    else state.groups.push({ key: groups[found[at]], start: at, count: 1, title: arrangement.group ? groupTitle(found[at]) : null });
  }
  const active = $("filters-active").textContent = activeFilters();
  const which = active === ONLY_DOUBTS ? ": the doubts" : "";
  $("shown").textContent = found.length === N ? `All ${count(N, "image")}` : `${number.format(found.length)} of ${count(N, "image")}${which}`;
  $("open-bulk").disabled = !found.length;
  showFoundOutside();
  keepView();
  emit("view");
  if (hasLeft) emit("current", {});
}

// Whoever reads the filtered rows must not get those of a search that is still being typed.
const settleFilters = () => { if (searchTimer) refresh(); };

// For a class that is not in the list any more the control falls back, and with it the filter.
function takeChoices(kept) {
  for (const name of ["given", "suggested", "decision"]) filter[name] = $(`filter-${name}`).value ||= "";
  for (const name of ["sort", "group", "colour"]) {
    const offered = [...$(name).options].map((option) => option.value);
    if (offered.includes(kept[name])) $(name).value = kept[name];
  }
  Object.assign(arrangement, { sort: $("sort").value, group: $("group").value });
}

// What an empty gallery should say.
function emptyText() {
  if (!N) return "The table has no images.";
  const words = searchedFor();
  if (words) return foundOutside() ? "No image that the filters leave has this text in its id or path." : `No image has “${show(filter.text.trim(), 60)}” in its id or path.`;
  if (foundOutside()) return "No image that the other filters leave has this picture quality.";
  const only = [...filter.kinds];
  if (only.length === 1 && !kindCounts[only[0]]) return `No image was judged ${kindNames[only[0]]}.`;
  if (only.length && only.every((code) => !kindCounts[code])) return "No image got one of these verdicts.";
  if (filter.decision === "undecided") return "Nothing undecided is left here.";
  return "No image matches these filters.";
}

// The images that the audit gave a verdict, of which some may be shown as unsure.
const asCalled = (code) => (unsureOf[code] ? { called: code } : { kinds: new Set([code]) });

// A click on the chip of a kind shows only that where all doubts, or all images, are shown; then it adds or removes the kind.
const showsOnly = (code) => !filter.kinds.size || (showsStart() && !(filter.kinds.size === 1 && filter.kinds.has(code)));
function toggleKind(code) {
  const asked = new Set(showsOnly(code) ? [] : filter.kinds);
  if (!asked.delete(code)) asked.add(code);
  setFilter({ kinds: asked, called: NONE });
}
function clickInWords(code) {
  if (showsOnly(code)) return "Click to show only these";
  if (!filter.kinds.has(code)) return "Click to add these";
  return filter.kinds.size > 1 ? "Click to remove these" : "Click to show all images";
}
function showKinds() {
  for (const chip of $("chips").children) {
    const code = Number(chip.dataset.code);
    chip.setAttribute("aria-pressed", String(filter.kinds.has(code)));
    chip.title = `${code === UNSURE ? explanationOf("unsure") : styleOf(kindNames[code]).means}\n${clickInWords(code)}`;
  }
}

function setFilter(changes, thenRefresh = true) {
  Object.assign(filter, changes);
  $("filter-given").value = filter.given;
  $("filter-suggested").value = filter.suggested;
  $("filter-decision").value = filter.decision;
  if ("text" in changes) $("filter-text").value = filter.text;
  $("filter-sureness").value = Math.round(100 * filter.sureness);
  $("sureness-text").textContent = filter.sureness ? percent(filter.sureness) : "any";
  showKinds();
  for (const chip of $("quality-chips").children) if (chip.dataset.bit) chip.setAttribute("aria-pressed", String((filter.quality & Number(chip.dataset.bit)) > 0));
  showRange();
  $("called-chip").hidden = filter.called === NONE;
  $("called-chip").textContent = filter.called === NONE ? "Called" : `Called ${verdictNames[filter.called]}, also if unsure ✕`;
  if (thenRefresh) refresh();
}

function showRange() {
  const { range } = filter;
  $("range-chip").hidden = !range;
  if (!range) return;
  const name = SCORE_NAMES[range.score][0];
  $("range-chip").textContent = `${name} ${endsOfBin(range)} ✕`;
}

function sortBy(order) {
  arrangement.sort = order;
  $("sort").value = order;
}
function groupBy(group) {
  arrangement.group = group;
  $("group").value = group;
}
// The text that is searched for is not one of the filters that hide what it finds.
const showAll = () => setFilter({ ...NO_FILTER, text: filter.text });

function reset() {
  sortBy(START_ARRANGEMENT.sort);
  groupBy(START_ARRANGEMENT.group);
  clearSelection();
  setFilter({ ...START });
  if ($("colour").value !== "verdict") { $("colour").value = "verdict"; $("colour").dispatchEvent(new Event("change")); }
}

function fillQualityChips() {
  if (!qualityNames.length) return;
  $("quality-chips").hidden = false;
  $("quality-chips").append(make("span", { class: "chips-name" }, term("Picture quality", "quality")));
  qualityNames.forEach((name, bit) => {
    const images = qualityBits.reduce((sum, bits) => sum + ((bits >> bit) & 1), 0);
    $("quality-chips").append(make("button", {
      class: "chip", "data-bit": 1 << bit, "aria-pressed": "false", title: explanationOf(name),
      onclick: () => setFilter({ quality: filter.quality ^ (1 << bit) }),
    }, make("span", { text: show(name) }), make("span", { class: "number", text: number.format(images) })));
  });
}

function fillClassChoices() {
  for (const [id, values] of [["filter-given", given], ["filter-suggested", suggested]]) {
    const tally = new Uint32Array(labels.length + 1);
    for (let row = 0; row < N; row += 1) tally[values[row] + 1] += 1;
    const options = [make("option", { value: "", text: "all" })];
    if (tally[0]) options.push(make("option", { value: "-1", text: `none (${number.format(tally[0])})` }));
    labels.forEach((_, code) => options.push(make("option", { value: code, text: `${labelName(code)} (${number.format(tally[code + 1])})` })));
    $(id).replaceChildren(...options);
    $(id).value = id === "filter-given" ? filter.given : filter.suggested;
  }
}

function setUpFilters() {
  $("chips").append(...kindsInOrder.map((code) => make("button", { id: code === UNSURE ? "unsure-chip" : null, class: "chip", "data-code": code, onclick: () => toggleKind(code) },
    markOf(kindNames[code]), make("span", { text: show(kindNames[code]) }), make("span", { class: "number", text: number.format(kindCounts[code]) }))));
  fillQualityChips();
  $("called-chip").addEventListener("click", () => setFilter({ called: NONE }));
  $("range-chip").addEventListener("click", () => setFilter({ range: null }));
  fillClassChoices();
  on("labels", fillClassChoices);
  $("filter-given").addEventListener("change", (event) => setFilter({ given: event.target.value }));
  $("filter-suggested").addEventListener("change", (event) => setFilter({ suggested: event.target.value }));
  $("filter-decision").addEventListener("change", (event) => setFilter({ decision: event.target.value }));
  $("filter-sureness").addEventListener("input", (event) => setFilter({ sureness: event.target.value / 100 }));
  $("filter-text").addEventListener("input", () => {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(refresh, 120);
  });
  $("filter-text").addEventListener("change", settleFilters);
  // The first match becomes the current image, so that the next key decides on it.
  $("filter-text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    settleFilters();
    if (!state.view.length) return;
    event.target.blur();
    select(state.view[0], { focus: state.tab === "review" });
  });
  $("sort").addEventListener("change", (event) => { arrangement.sort = event.target.value; refresh(); });
  $("group").addEventListener("change", (event) => { arrangement.group = event.target.value; refresh(); });
  $("order-word").append(term("Sort", "order"));
  $("reset").addEventListener("click", reset);
  $("show-all").addEventListener("click", () => { settleFilters(); showAll(); });
  $("show-outside").addEventListener("click", showOutside);
  const kept = keptView();
  setFilter(kept ? kept.filter : { ...START }, false);
  if (kept) takeChoices(kept);
}
