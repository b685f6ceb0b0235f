// Why an image has its verdict though another answer is likelier, in sentences.

// Why an image is not called foreign, though that is its likeliest answer. A conflict comes before, whatever the chances.
function whyNotForeign(row) {
  if (verdict[row] === CONFLICT) return "";
  return callsForeign ? `, but an image is called so only from ${percent(FOREIGN_FROM)} on` : `, but ${NONE_FOREIGN}`;
}

// Why the likeliest answer is not the verdict's.
function contraryInWords(row) {
  const suggestion = chanceOfSuggestion(row);
  const wrong = chancesOf(row)?.[1];
  if (verdict[row] === MISLABELLED && wrong >= chanceOfYes(row)) {
    const first = codeOfYes[row] === KEEP ? "the given label" : "foreign";
    return `Label wrong (${sure(wrong)}) counts all other classes together. None of them alone reaches ${first} (${sure(chanceOfYes(row))}): ${labelName(suggested[row])}, the likeliest, has ${sure(suggestion)}.`;
  }
  const other = Number.isFinite(suggestion) && suggested[row] !== NONE ? `${labelName(suggested[row])} (${sure(suggestion)})` : `a right label (${sure(chancesOf(row)?.[0])})`;
  if (codeOfYes[row] === KEEP) return `The given label (${sure(chanceOfYes(row))}) is likelier than ${other}.`;
  return `Foreign (${sure(chanceOfYes(row))}) is likelier than ${other}${whyNotForeign(row)}.`;
}

function whyMislabelled([right, wrong]) {
  // Past the limit, and not rounded back to it.
  const past = Math.max(wrong / (wrong + right), Math.ceil(1000 * WRONG_FROM + 1e-6) / 1000);
  return `Called mislabelled because the label, if the image is not foreign, is wrong with ${sure(past)} (limit ${percent(WRONG_FROM)}).`;
}
function whyClean() {
  const wrong = `${percent(WRONG_FROM)} for a wrong label if the image is not foreign`;
  return `Called clean because no other verdict reaches its limit: ${callsForeign ? `${percent(FOREIGN_FROM)} for foreign, ` : ""}${wrong}.`;
}

// What comes first in a conflict, and what the picture alone looks more like.
function whyConflict(row) {
  const called = "Called a duplicate conflict because copies of this picture have different labels.";
  if (!copiesComeFirst(row)) return called;
  const first = chanceOfYes(row);
  const rivals = [[labelName(proposedByAudit(row)), suggestedByAudit.get(row)[1]], ["foreign", scores.foreign_score[row]]].filter(([, chance]) => chance > first).sort((a, b) => b[1] - a[1]);
  const alone = rivals.length ? ` By the picture alone, ${rivals.map(([name, chance]) => `${name} (${sure(chance)})`).join(" and ")} ${rivals.length > 1 ? "are" : "is"} likelier.` : "";
  return `${called} These come first; ${labelName(proposedLabel(row))} (${sure(first)}) is the likeliest of them.${alone}`;
}

// Why the verdict is what it is; "" where there is nothing to explain.
function whyCalled(row) {
  if (!isJudged(row) || decidedBefore(row)) return "";
  const chances = chancesOf(row);
  const parts = isContrary(row) ? [contraryInWords(row)] : [];
  if (verdict[row] === CONFLICT) parts.unshift(whyConflict(row));
  if (verdict[row] === MISLABELLED && chances && (isContrary(row) || chances[0] >= chances[1])) parts.push(whyMislabelled(chances));
  if (isUnsureClean[row] && chances) parts.push(whyClean());
  return parts.join(" ");
}
