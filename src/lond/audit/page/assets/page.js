// What holds the parts together: tabs, keys, dialogs.

const TABS = ["overview", "review", "copies", "map", "about"];
const KEYS = [
  ["J  →", "next image"], ["K  ←", "previous image"], ["N", "next undecided image"], ["↑  ↓", "line up and down"], ["A", "accept the likeliest answer: what the upper button on the image and the filled one beside it say; of copies with different labels, their likeliest label"], ["S", "take the suggestion, even where another answer is likelier, or the label of a copy"], ["R", "not sure, skip: the image stays as it is and teaches nothing"],
  ["G", "keep: the given label is right, and counts as truth"], ["F", "mark as foreign"], ["L", "choose another label: type its name, then Enter; Esc cancels"], ["C", "take the decision back"], ["U", "undo"], ["Shift U", "redo"],
  ["X", "select or deselect the image"], ["Shift ←  →  ↑  ↓", "select a range"], ["Ctrl A", "select all that the filters leave"],
  ["Enter", "open the details; in the search box: go to the first match"], ["/", "search"], ["?", "this list"], ["Esc", "deselect, close"],
];

function openTab(tab) {
  state.tab = tab;
  for (const name of TABS) {
    const button = $(`tab-${name}`);
    button.setAttribute("aria-selected", String(name === tab));
    button.tabIndex = name === tab ? 0 : -1;
    $(`panel-${name}`).hidden = name !== tab;
  }
  const working = tab === "review" || tab === "map";
  $("workspace").hidden = !working;
  hideExplanation();
  hideToast();
  $("sort-field").hidden = $("group-field").hidden = tab === "map";
  $("colour-field").hidden = tab !== "map" || !points;
  $("tip").hidden = true;
  detail.classList.remove("open");
  if (tab === "review") {
    rebuildGallery();
    if (state.current !== NONE && placeOfRow[state.current] !== NONE) { reveal(placeOfRow[state.current]); renderGallery(); }
  }
  if (tab === "map") askMap();
  if (tab === "copies") renderCopies();
  try { history.replaceState(null, "", `#${tab}`); } catch { /* some hosts of pages forbid it; the tab opens all the same */ }
}

function setUpTabs() {
  TABS.forEach((tab, at) => {
    $(`tab-${tab}`).addEventListener("click", () => openTab(tab));
    $(`tab-${tab}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = TABS[(at + step + TABS.length) % TABS.length];
      openTab(next);
      $(`tab-${next}`).focus();
    });
  });
}

// How many images got which answer, by what becomes of them; together they are all decided images.
const TALLY_WORDS = ["marked not a copy", "changed as suggested", "marked not sure (left as is)", "given another label", "marked foreign", "kept as labelled"];
function tallyOfDecisions() {
  const tally = new Uint32Array(CODES.length);
  for (let row = 0; row < N; row += 1) if (isDecided(row)) tally[decisions[row]] += 1;
  return [ACCEPT, KEEP, RELABEL, MARK_FOREIGN, REJECT, 0].filter((code) => tally[code]).map((code) => `${number.format(tally[code])} ${TALLY_WORDS[code]}`).join(", ");
}

// The doubts by verdict, so that their number can be checked against the filters.
function sumOfDoubts() {
  const parts = verdictsInOrder.filter((code) => isDoubt[code] && kindCounts[code]).map((code) => `${number.format(kindCounts[code])} ${verdictNames[code]}`);
  if (kindCounts[UNSURE]) parts.push(`${number.format(kindCounts[UNSURE])} ${UNSURE_NAME}`);
  return parts.join(" + ");
}
const progressTerm = term("", "doubts");
// In a second look: which decisions came with it, and which did not.
const keptAndNew = () => `${number.format(keptBefore)} from before, ${number.format(decided - keptBefore)} new`;
// What makes the decided doubts all decisions, and which of these came with a second look; "" where nothing is to add.
function restOfProgress() {
  const others = decided - decidedFlagged;
  const sum = others ? `+ ${count(others, "other")} = ${number.format(decided)}` : "";
  return [sum, ...(hasDecidedBefore ? [keptAndNew()] : [])].filter(Boolean).join(": ");
}

function showProgress() {
  progressTerm.textContent = flagged ? `${number.format(decidedFlagged)} of ${number.format(flagged)} doubts decided` : "no doubts to decide on";
  progressTerm.dataset.explains = flagged ? `Doubts: ${sumOfDoubts()}.${decided > decidedFlagged ? ` You decided on ${count(decided - decidedFlagged, "other image")} as well.` : " You may decide on any other image as well."}` : DOUBTS_MEAN;
  if (hasDecidedBefore) progressTerm.dataset.explains += ` Of ${count(decided, "decision")}, ${keptAndNew()}.`;
  progressTerm.setAttribute("aria-description", progressTerm.dataset.explains);
  $("progress-rest").textContent = restOfProgress();
  $("progress").value = flagged ? decidedFlagged / flagged : 1;
  $("undo").disabled = !done.length;
  $("redo").disabled = !undone.length;
  const beside = decided > decidedFlagged && decidedFlagged ? ` (${count(decidedFlagged, "doubt")} and ${count(decided - decidedFlagged, "other")})` : "";
  $("decisions-text").textContent = decided ? `You have decided on ${count(decided, "image")}${beside}: ${tallyOfDecisions()}.${hasDecidedBefore ? ` Of these, ${keptAndNew()}.` : ""}` : "You have decided on no image yet.";
  $("download-decided").disabled = $("clear").disabled = !decided;
}

const goTo = (step) => { if (step?.rows.length === 1 && placeOfRow[step.rows[0]] !== NONE) select(step.rows[0], { focus: gallery.contains(document.activeElement) }); };
// Done again, a decision moves on as it did at first.
function goOnAfter(step) {
  goTo(step);
  if (step?.rows.length !== 1 || !step.after[0].code || !$("move-on").checked) return;
  const next = undecidedAfter(step.rows[0]);
  if (next !== NONE) goOnTo(next);
}

const ACTIONS = {
  j: () => moveBy(1), k: () => moveBy(-1), n: goToUndecided,
  a: () => (selectedCount ? decideSelected(ACCEPT) : onCurrent((row) => decideRow(row, codeOfYes[row]))), s: () => (selectedCount ? decideSelected(ACCEPT, NONE, { asSuggested: true }) : onCurrent(takeSuggestion)), r: () => decideBoth(REJECT), g: () => decideBoth(KEEP), f: () => decideBoth(MARK_FOREIGN),
  c: () => (selectedCount ? decideSelected(0) : onCurrent((row) => decisions[row] && decideRow(row, 0))),
  l: () => (selectedCount ? $("relabel-selected").focus() : onCurrent(() => { detail.classList.add("open"); $("relabel").focus(); })),
  x: () => onCurrent(toggleSelected),
};
const onCurrent = (act) => (state.current === NONE ? moveBy(0) : act(state.current));
const decideBoth = (code) => (selectedCount ? decideSelected(code) : onCurrent((row) => decideRow(row, code)));
const GALLERY_KEYS = {
  ArrowRight: () => moveBy(1), ArrowLeft: () => moveBy(-1), ArrowDown: () => moveLine(1), ArrowUp: () => moveLine(-1),
  Home: () => moveBy(-N), End: () => moveBy(N),
  PageDown: () => moveBy(layout.columns * 3), PageUp: () => moveBy(-layout.columns * 3),
};

function onKey(event) {
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.closest?.("input, select, textarea");
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !typing) {
    const key = event.key.toLowerCase();
    if (key === "a" && isWorking()) { event.preventDefault(); selectShown(); }
    if (key === "z" || key === "y") { event.preventDefault(); if (key === "y" || event.shiftKey) goOnAfter(redo()); else goTo(undo()); }
    return;
  }
  if (event.key === "Escape" && detail.classList.contains("open")) { closeDetail(); return; }
  if (event.key === "Escape" && selectedCount && !typing) { clearSelection(); return; }
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (typing) { if (event.key === "Escape") event.target.blur(); return; }
  if (runKey(event)) event.preventDefault();
}

const isWorking = () => state.tab === "review" || state.tab === "map";

function runKey(event) {
  const working = isWorking();
  // Tabs, bars of tools and the panel keep their arrow keys; after a click on a filter, they move in the list.
  const inGallery = state.tab === "review" && !event.target.closest?.('[role="tablist"], [role="toolbar"], .actions, #detail');
  if (inGallery && GALLERY_KEYS[event.key]) {
    if (event.shiftKey && anchor === NONE) anchor = state.current;
    GALLERY_KEYS[event.key]();
    if (event.shiftKey) selectRange(state.current);
    else anchor = state.current;
    return true;
  }
  if (!$("keys-on").checked) return false;
  const key = event.key.toLowerCase();
  if (event.key === "?") { $("help").showModal(); return true; }
  if (event.key === "/") { if (!working) openTab("review"); $("filters").open = true; $("filter-text").focus(); return true; }
  if (key === "u") { if (event.shiftKey) goOnAfter(redo()); else goTo(undo()); return true; }
  if (working && ACTIONS[key]) { ACTIONS[key](); return true; }
  return false;
}

let bulkFound = [];

// The images to accept, and how many of those that reach the chance are hard to see.
function bulkRows() {
  settleFilters();
  const least = Number($("bulk-sureness").value) / 100;
  const found = state.view.filter((row) => !decisions[row] && chanceOfYes(row) >= least && canAccept(row));
  const hard = found.filter(isHardToSee).length;
  $("bulk-hard-field").hidden = !hard;
  return [$("bulk-hard").checked ? found : found.filter((row) => !isHardToSee(row)), hard];
}

function highestP(rows) {
  const highest = rows.reduce((most, row) => (isJudgedByP(row) ? Math.max(most, scores.p_value[row]) : most), NONE);
  return highest === NONE ? "" : ` (p at most ${Math.ceil(1000 * highest) / 1000})`;
}

function describeBulk() {
  const [rows, hard] = bulkRows();
  bulkFound = rows;
  const tally = [...verdictsInOrder, UNSURE].map((code) => [code, rows.filter((row) => kinds[row] === code).length]).filter(([, n]) => n);
  const others = otherwise(rows);
  $("bulk-text").textContent = rows.length
    ? `${count(rows.length, "suggestion")} will be accepted: ${tally.map(([code, n]) => `${number.format(n)} ${kindNames[code]}${code === FOREIGN ? highestP(rows) : ""}`).join(", ")}. ${others && `Of them ${others}. `}One undo takes all back.`
    : `No ${hard ? "other " : ""}undecided image reaches this value.`;
  if (hard && !$("bulk-hard").checked) $("bulk-text").textContent += ` Left out: ${count(hard, "image")} called mislabelled or foreign but dark, bright, blurred, uniform or seen in part. The network may have seen too little of ${hard === 1 ? "it" : "them"}, so look at ${hard === 1 ? "it" : "them"} first.`;
  $("bulk-accept").disabled = !rows.length;
  $("bulk-accept").textContent = rows.length ? `Accept ${number.format(rows.length)}` : "Accept";
}

const NEXT_STEPS = ["Judge all images again with your decisions:", "Or write the corrected set:"];
const NEXT_NOTES = ["", "Unlike corrected_labels.csv, lond apply also acts on images that you left undecided: it gives mislabelled ones the suggested label from a confidence of 50 % on, and leaves out those that are foreign, unreadable or in a duplicate conflict. Without --write it only says what it would do."];

// An option and its value stay on one line.
function showCommands() {
  const parts = (text) => text.split(" --").flatMap((part, at) => (at ? [" ", make("span", { text: `--${part}` })] : [part]));
  $("next-steps").replaceChildren(...payload.commands.flatMap((text, at) => [
    make("p", { class: "next", text: NEXT_STEPS[at] ?? "" }),
    make("pre", { class: "commands", tabindex: "0", "aria-label": `Command ${at + 1}` }, ...parts(text)),
    ...(NEXT_NOTES[at] ? [make("p", { class: "small", text: NEXT_NOTES[at] })] : [])]));
  $("source-note").hidden = !payload.commands.some((text) => text.includes(" SOURCE"));
}

function setUpDialogs() {
  showCommands();
  $("key-list").append(...KEYS.flatMap(([keys, text]) => [make("dt", {}, ...keys.split("  ").map((key) => make("kbd", { text: key }))), make("dd", { text })]));
  $("open-help").addEventListener("click", () => $("help").showModal());
  $("open-decisions").addEventListener("click", () => $("decisions").showModal());
  $("open-bulk").addEventListener("click", () => { $("bulk-hard").checked = false; describeBulk(); $("bulk").showModal(); });
  $("bulk-sureness").addEventListener("input", describeBulk);
  $("bulk-sureness").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); $("bulk-accept").click(); } });
  $("bulk-hard").addEventListener("change", describeBulk);
  for (const signal of ["view", "decided"]) on(signal, () => { if ($("bulk").open) describeBulk(); });
  $("bulk-cancel").addEventListener("click", () => $("bulk").close());
  $("bulk-accept").addEventListener("click", () => {
    // What was said is what is accepted.
    const rows = bulkFound;
    $("bulk").close();
    if (rows.length) takeLikeliest(rows, `Accepted ${count(rows.length, "suggestion")}${otherwise(rows) && `, of them ${otherwise(rows)}`}`);
  });
  $("download-all").addEventListener("click", () => download(false));
  $("download-decided").addEventListener("click", () => download(true));
  $("clear").addEventListener("click", () => {
    const rows = Int32Array.from({ length: N }, (_, row) => row).filter(isDecided);
    $("decisions").close();
    takeStep(rows, () => ({ code: 0, to: NONE, alone: 0 }), `Forgot ${count(rows.length, "decision")}; until you close the page, Undo brings ${rows.length === 1 ? "it" : "all"} back`);
  });
  const load = async (file) => {
    if (!file) return;
    const text = await file.text();
    $("decisions").close();
    importText(text);
  };
  $("import").addEventListener("change", (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    load(file);
  });
  // A file of decisions may also be dropped anywhere on the page.
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); load(event.dataTransfer?.files[0]); });
  // A click beside a dialog closes it.
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => { if (dialog.contains($("toast"))) document.body.append($("toast")); });
  }
}

// Classes without images are told apart, or the number would agree with no list.
function countOfClasses() {
  const used = new Set(given);
  used.delete(NONE);
  const named = Math.max(payload.classes, used.size);
  return `${count(used.size, "class", "classes")}${named > used.size ? ` + ${number.format(named - used.size)} empty` : ""}`;
}

function start() {
  $("title").textContent = show(payload.title, 200);
  const before = hasDecidedBefore ? " · second look" : "";
  $("subtitle").textContent = `${count(N, "image")} · ${countOfClasses()}${before}`;
  // Only small windows can fold the filters away; the style sheet has the same limits.
  const narrow = window.matchMedia("(max-width: 1000px), (max-height: 640px)");
  const fold = () => { $("filters").open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  restore();
  setUpTabs();
  setUpFilters();
  setUpGallery();
  setUpSelection();
  setUpDetail();
  setUpMap();
  setUpCopies();
  setUpOverview();
  setUpAbout();
  setUpDialogs();
  refresh();
  $("progress-text").append(progressTerm);
  showProgress();
  on("decided", showProgress);
  $("undo").addEventListener("click", () => goTo(undo()));
  $("redo").addEventListener("click", () => goOnAfter(redo()));
  $("next-undecided").addEventListener("click", goToUndecided);
  $("toast-undo").addEventListener("click", () => goTo(undo()));
  document.addEventListener("keydown", onKey);
  const asked = location.hash.slice(1);
  openTab(TABS.includes(asked) ? asked : "overview");
  document.documentElement.dataset.ready = "true";
}

start();
