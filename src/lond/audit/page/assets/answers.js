// The likeliest answer to an image, and the words in which cards and panel tell it.

// What a decision comes to, whatever the button: to accept a foreign image is to mark it foreign, to accept a clean one is
// to keep its label, and a label from the list may be the given or the suggested one.
function outcomeOf(row, code, to = NONE) {
  if (code === RELABEL && to !== NONE && verdict[row] !== UNREADABLE) {
    if (to === given[row]) return KEEP;
    return hasSuggestion(row) && to === proposedLabel(row) && !isYourVerdict(row) ? ACCEPT : RELABEL;
  }
  if (code !== ACCEPT) return code;
  if (verdict[row] === FOREIGN) return MARK_FOREIGN;
  return given[row] !== NONE && !leaves(row) && proposedLabel(row) === given[row] ? KEEP : ACCEPT;
}
const bestOf = (row) => outcomeOf(row, codeOfYes[row]);
// What the first answer is called: where copies come first, foreign may be likelier.
const isForeignLikelier = (row) => copiesComeFirst(row) && scores.foreign_score[row] > chanceOfYes(row);
const firstInWords = (row) => (copiesComeFirst(row) ? "likeliest label of the copies" : "likeliest");
// Whether there is a suggestion that is neither the given label nor foreign: what the key S takes.
const hasSuggestion = (row) => canAccept(row) && outcomeOf(row, ACCEPT) === ACCEPT;

// All answers with their chances, [outcome, chance]; without a label there is none to keep. Another label than the given and the suggested one gets what is left;
// in a conflict it is that of a copy.
function answersOf(row) {
  const suggestion = outcomeOf(row, ACCEPT) === ACCEPT && Number.isFinite(chanceOfSuggestion(row)) ? chanceOfSuggestion(row) : 0;
  const foreign = scores.foreign_score[row];
  const [right, wrong] = chancesOf(row) || [0, 1 - foreign];
  const other = copyLabels.has(row) ? copyAnswer(row)?.[1] ?? 0 : wrong - suggestion;
  return [[KEEP, right], [ACCEPT, suggestion], [MARK_FOREIGN, foreign], [RELABEL, other]];
}
const likeliestOf = (answers) => answers.reduce((first, other) => (other[1] > first[1] ? other : first))[0];
// Answers that change the label, where the card must offer one of them: the image is called mislabelled, or its label is
// likelier wrong than the image is foreign, though no single label may be as likely as foreign.
function owedAnswers(row, others) {
  const chances = chancesOf(row);
  if (!chances || (verdict[row] !== MISLABELLED && chances[1] <= chances[2])) return [];
  return others.filter(([code]) => code === ACCEPT || code === RELABEL);
}
// What the card offers besides the likeliest answer: the next likeliest one, or one that changes the label where it must offer that;
// where the audit tells no chances, or none but the first: to a verdict that doubts the label, that it is right.
function secondOf(row) {
  const best = canAccept(row) ? bestOf(row) : RELABEL;
  const others = isJudged(row) ? answersOf(row).filter(([code, chance]) => code !== best && chance > 0) : [];
  const owed = [ACCEPT, RELABEL].includes(best) ? [] : owedAnswers(row, others);
  if (others.length) return likeliestOf(owed.length ? owed : others);
  return given[row] !== NONE && [MISLABELLED, FOREIGN].includes(verdict[row]) ? KEEP : REJECT;
}

// The given label, and what an answer makes of the image; null where the label stays.
function changeBy(row, answer) {
  const stays = answer === KEEP || answer === REJECT || (answer === ACCEPT && !leaves(row) && proposedLabel(row) === given[row]);
  if (stays) return [labelName(given[row]), null];
  return [labelName(given[row]), answer === RELABEL ? labelName(chosen[row]) : answer === MARK_FOREIGN ? "foreign" : proposal(row)];
}
const likeliestChange = (row) => changeBy(row, bestOf(row));
// What cards and panel show in bold: the decision, before that the likeliest answer.
const change = (row) => changeBy(row, decisions[row] || bestOf(row));
// Whether a person decided otherwise than the audit would; a label chosen from the list may be what it suggests.
function isOverruled(row) {
  if (decisions[row] !== RELABEL) return decisions[row] > 0 && decisions[row] !== bestOf(row);
  return bestOf(row) !== ACCEPT || chosen[row] !== proposedLabel(row);
}
const isStruckOut = (row) => change(row)[1] !== null && (decisions[row] > 0 || !(isContrary(row) || isForeignLikelier(row)));
// The chance of the likeliest answer, where it is what is shown and the audit tells chances.
const chanceOfChange = (row) => (isYourVerdict(row) || isOverruled(row) || !isJudged(row) || !canAccept(row) ? NaN : chanceOfYes(row));

// What a person said of an image before it was judged again, and how it had been judged until then.
function yoursInWords(row) {
  const [from, to] = likeliestChange(row);
  return `${isOverruled(row) ? "you before" : "you"}: ${to ?? from}`;
}
function earlierInWords(row) {
  const judged = judgedBefore(row);
  if (!judged) return "";
  const [called, label, confidence] = judged;
  const other = label && called !== "clean" && called !== "foreign" ? `, suggested ${show(label, 60)}` : "";
  return `The audit had called it ${called}${other}${Number.isFinite(confidence) ? ` (${sure(confidence)})` : ""}.`;
}

// What a card says below the likeliest answer: the answer that the lower button gives, and its chance.
// Where the audit tells no chances, the verdict and how sure it is; null: there is no chance to tell.
function told(row) {
  const words = styleOf(kindOf(row)).short ?? kindOf(row);
  if (isYourVerdict(row)) return [yoursInWords(row), null];
  if (!Number.isFinite(chanceOfYes(row))) return [words, scores.sureness[row]];
  if (!isJudged(row) || !canAccept(row)) return [words, chancesOf(row) || isWithoutLabel(row) ? null : scores.sureness[row]];
  if (isForeignLikelier(row)) return [`${words}: or foreign`, scores.foreign_score[row]];
  if (verdict[row] === CONFLICT || (isWithoutLabel(row) && !isContrary(row))) return [words, null];
  const second = secondOf(row);
  const chance = answersOf(row).find(([code]) => code === second)?.[1] ?? 0;
  if (chance <= 0) return [words, null];
  const names = { [KEEP]: given[row], [ACCEPT]: suggested[row] };
  return [`or ${second in names ? labelName(names[second], 40) : second === MARK_FOREIGN ? "foreign" : "another label"}`, chance];
}
// After another decision the line keeps the audit's answer in sight.
function toldOnCard(row) {
  const [words, chance] = told(row);
  if (isYourVerdict(row)) return [words, chance];
  if (!isOverruled(row) || !canAccept(row)) return [isUnsure(row) && words !== UNSURE_NAME ? `${UNSURE_NAME}: ${words}` : words, chance];
  const [from, to] = likeliestChange(row);
  return [`audit: ${to ?? from}`, chanceOfYes(row)];
}
const toldInWords = (row) => { const [words, chance] = told(row); return Number.isFinite(chance) && !isJudgedByP(row) ? `${words} ${sure(chance)}` : ""; };

// What the panel says behind the verdict: what it means, unless another answer is likelier or the verdict is likelier wrong.
function verdictInWords(row) {
  if (isYourVerdict(row)) return "by your earlier decision";
  if (verdict[row] === CONFLICT) return styleOf(verdictOf(row)).means;
  if (isContrary(row)) return `${codeOfYes[row] === KEEP ? "the given label" : "foreign"} is likelier${verdict[row] !== MISLABELLED ? "" : codeOfYes[row] === KEEP ? " than any other class" : " than any class"}`;
  if (isUnsureClean[row]) return `label right only ${sure(scores.confidence[row])}`;
  const chances = chancesOf(row);
  return verdict[row] === MISLABELLED && chances && chances[1] < 0.5 ? `perhaps wrong ${sure(chances[1])}` : styleOf(verdictOf(row)).means;
}

// All chances of an image by name, a line each, as the tip of a card tells them.
function chancesInWords(row) {
  const chances = chancesOf(row);
  const lines = Number.isFinite(chanceOfSuggestion(row)) && suggested[row] !== NONE ? [[`the true label is ${labelName(suggested[row])}`, chanceOfSuggestion(row)]] : [];
  if (chances) lines.push(["the given label is right", chances[0]], ["the label is wrong (another class)", chances[1]], ["the image is foreign (no class)", chances[2]]);
  else if (isWithoutLabel(row)) lines.push(["the image is foreign (no class)", scores.foreign_score[row]]);
  return lines.map(([words, chance]) => `${sure(chance)} chance that ${words}`);
}
