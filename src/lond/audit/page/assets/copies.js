// Images that repeat each other, group by group, side by side.

const COPIES_AT_ONCE = 20;
let copiesShown = COPIES_AT_ONCE;

const isSplit = (rows) => rows.every((row) => apart[row]);
const isSettledGroup = (rows) => isSplit(rows) || rows.every(isDecided);

// Groups whose labels differ first, then by their first image.
function groupsToShow() {
  const kind = $("copies-kind").value;
  const wanted = { all: () => true, differ: labelsDiffer, same: (rows) => !labelsDiffer(rows), near: (rows) => rows.some((row) => copyOf(row) === "near") }[kind];
  // The groups are in the order of their first images already.
  const groups = copyGroups.filter(wanted);
  return [...groups.filter(labelsDiffer), ...groups.filter((rows) => !labelsDiffer(rows))];
}

function kindOfGroup(rows) {
  const copies = rows.filter((row) => copyOf(row) !== "");
  if (!copies.length) return "copies";
  if (copies.every(isExactCopy)) return "exact copies";
  return copies.some(isExactCopy) ? "exact and near copies" : "near copies";
}

// Of two images, one that is not the same leaves none that is.
const partOf = (rows, row) => (rows.length === 2 ? rows : [row]);

// Size and format of a file, to tell which copy is the better one; "" where the files were not at hand.
const fileFacts = payload.files || {};
function factsOf(row) {
  const [width, height, bytes, format] = fileFacts[row] || [];
  if (!width) return "";
  const size = bytes < 1e6 ? `${number.format(Math.max(1, Math.round(bytes / 1e3)))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  return `${width} × ${height} · ${show(format, 12)} · ${size}`;
}

// What the audit calls an image, and the label that it suggests in place of the given one.
function calledInWords(row) {
  const isOpinion = !isUnsure(row) && [MISLABELLED, FOREIGN, CLEAN].includes(verdict[row]);
  const other = !leaves(row) && proposedLabel(row) !== given[row] ? `: ${proposal(row)}` : "";
  return `${isOpinion ? "called " : ""}${kindInWords(row)}${other}`;
}

function memberOf(rows, row) {
  const exact = rows.some((other) => other !== row && isExactCopy(other) && duplicateOf[other] === row) || isExactCopy(row);
  const about = `${fileName(row)}, ${labelName(given[row])}, ${calledInWords(row)}, ${decisionText(row)}`;
  return make("li", { class: "member", "data-apart": String(apart[row] > 0) },
    make("button", { class: "show-image", "aria-label": `Open ${about}`, title: about, onclick: () => { select(row, { open: true }); openTab("review"); $("tab-review").focus(); } }, thumbnail(row, 156)),
    make("b", { class: "member-label", dir: "auto", title: labelName(given[row], 200), text: labelName(given[row]) }),
    make("span", { class: "member-verdict", dir: "auto" }, markOf(kindOf(row)), ` ${calledInWords(row)}`),
    make("span", { class: "member-name", dir: "auto", title: show(pathOf(row), 400), text: fileName(row) }),
    factsOf(row) ? make("span", { class: "member-facts", text: factsOf(row) }) : null,
    // Under one label only doubts must be decided.
    labelsDiffer(rows) || isListed(row) || isDecided(row) ? make("span", { class: "member-state", text: decisionText(row) }) : null,
    exact ? term("Exact copy") : make("button", {
      "aria-pressed": String(apart[row] > 0), "data-apart-of": row, text: "Not the same",
      title: "It is another picture: it counts as a picture of its own",
      onclick: () => setApart(partOf(rows, row).filter((each) => !isExactCopy(each)), !apart[row], apart[row] ? `The same picture after all: ${fileName(row)}` : `Not the same picture: ${fileName(row)}`),
    }));
}

// Whether all images of a group, apart from those that are another picture, got a label by decisions.
function isSettledAs(rows, code) {
  const same = rows.filter((row) => !apart[row]);
  return same.length > 0 && same.every((row) => decisions[row] > 0 && decisions[row] !== REJECT && finalLabel(row) === code);
}
// Gives all images of a group one label, without those on which a person decided one by one.
function labelGroup(rows, code) {
  if (isSettledAs(rows, code)) return say(`All are ${labelName(code)} already`);
  const isByHand = (row) => apart[row] > 0 || (decisions[row] > 0 && !withGroup[row]);
  const free = rows.filter((row) => !isByHand(row));
  const left = rows.length - free.length;
  if (!free.length) return say("You decided on each of these images before: take a decision back to change it");
  const besides = left ? `; ${number.format(left)} decided before ${left === 1 ? "was" : "were"} left alone` : "";
  return takeStep(free, (row) => ({ ...(given[row] === code ? { code: KEEP, to: NONE } : { code: RELABEL, to: code }), grouped: 1 }),
    `${count(free.length, "copy is", "copies are")} ${labelName(code)}${besides}`);
}

// The labels of a group whose labels differ, and another one that is suggested for all of it: they may all be wrong.
function labelsToOffer(rows) {
  const labels = labelsIn(rows);
  if (labels.length < 2) return [];
  const proposed = new Set(rows.filter((row) => !leaves(row)).map(proposedByAudit));
  return proposed.size === 1 && !proposed.has(NONE) ? [...new Set([...labels, ...proposed])] : labels;
}

function groupActions(rows) {
  const buttons = labelsToOffer(rows).map((code) => make("button", {
    "data-all-are": code, "aria-pressed": String(isSettledAs(rows, code)), text: `All are ${labelName(code, 30)}`, title: "Images that you decided on one by one stay as they are", onclick: () => labelGroup(rows, code),
  }));
  const near = rows.filter((row) => !isExactCopy(row));
  if (near.length > 2) buttons.push(make("button", { "data-all-apart": "", text: "All are different", onclick: () => setApart(near, !isSplit(near), isSplit(near) ? "The same picture after all" : `${count(near.length, "image")} are different pictures`) }));
  return buttons;
}

function groupCard(rows) {
  const names = labelsIn(rows).map((code) => labelName(code, 40));
  const title = labelsDiffer(rows) ? `labels differ: ${names.join(", ")}` : names.length ? `labelled ${names[0]}` : "no label";
  return make("section", { class: "copy-group", "data-group": rows[0], "data-settled": String(isSettledGroup(rows)) },
    make("div", { class: "copy-head" }, labelsDiffer(rows) ? markOf("duplicate conflict") : null,
      make("h3", { dir: "auto", text: `${count(rows.length, "image")}, ${title}` }),
      make("span", { class: "quiet", text: `${kindOfGroup(rows)}${isSettledGroup(rows) ? ", decided" : ""}` }), make("span", { class: "copy-actions" }, ...groupActions(rows))),
    make("ul", { class: "members" }, ...rows.slice(0, 60).map((row) => memberOf(rows, row))),
    rows.length > 60 ? make("p", { class: "small", text: `and ${number.format(rows.length - 60)} more` }) : null);
}

function renderCopies() {
  if (state.tab !== "copies" || !copyGroups.length) return;
  const groups = groupsToShow();
  $("copies-list").replaceChildren(...groups.slice(0, copiesShown).map(groupCard));
  $("copies-more").hidden = groups.length <= copiesShown;
  $("copies-more").textContent = `Show ${number.format(Math.min(COPIES_AT_ONCE, groups.length - copiesShown))} more groups`;
  $("copies-count").textContent = `${count(groups.length, "group")} of images that repeat each other; ${number.format(groups.filter(labelsDiffer).length)} with different labels.`;
}

// Only the groups that changed are drawn anew, so that the focus and the place on the page stay.
function renewGroups(rows) {
  if (state.tab !== "copies") return;
  const changedRoots = new Set(Array.from(rows, (row) => rootOfGroup[row]));
  for (const card of document.querySelectorAll(".copy-group")) {
    const first = Number(card.dataset.group);
    if (!changedRoots.has(first)) continue;
    const focused = card.contains(document.activeElement) ? document.activeElement.dataset : null;
    const fresh = groupCard(copyGroups.find((group) => group[0] === first));
    card.replaceWith(fresh);
    if (!focused) continue;
    const again = focused.apartOf !== undefined ? `[data-apart-of="${focused.apartOf}"]` : focused.allAre !== undefined ? `[data-all-are="${focused.allAre}"]` : "[data-all-apart]";
    fresh.querySelector(again)?.focus({ preventScroll: true });
  }
}

function setUpCopies() {
  const panel = $("panel-copies");
  if (!copyGroups.length) {
    panel.append(make("div", { class: "empty" }, make("p", { text: "No image repeats another." })));
    return;
  }
  const kind = make("select", { id: "copies-kind", autocomplete: "off" },
    ...[["all", "all groups"], ["differ", "labels differ"], ["same", "one label"], ["near", "with near copies"]].map(([value, text]) => make("option", { value, text })));
  kind.addEventListener("change", () => { copiesShown = COPIES_AT_ONCE; renderCopies(); });
  panel.append(
    make("section", { class: "block" }, make("h2", { text: "Copies" }),
      make("p", { class: "lead" }, "Images of one group are taken for the same picture, as an ", term("exact copy"), " or a ", term("near copy"), ". Say where that is wrong. Where the labels of a group differ, say which one is right; to change a label that all share, open the images. To keep one image of each group in the corrected set, run ", make("code", { text: "lond apply" }), " with ", make("code", { text: "--drop-copies" }), "."),
      make("div", { class: "copies-bar" }, make("p", { id: "copies-count", role: "status" }), make("label", { class: "inline" }, "Show", kind))),
    make("div", { id: "copies-list" }),
    make("button", { id: "copies-more", text: "Show more groups", hidden: true, onclick: () => { copiesShown += COPIES_AT_ONCE; renderCopies(); } }));
  on("decided", renewGroups);
}
