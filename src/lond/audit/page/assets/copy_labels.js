// The labels of the copies of an image in a conflict. Copies cannot all keep their labels, but one of these may well be
// right: they are offered before what the picture alone looks like.

// A label with less than this is taken for a slip, and so is one no likelier than a class drawn from all.
const SUPPORTED_FROM = 0.01;
// By row: the labels of all its copies, its own included, the likeliest first, as [label, chance].
const copyLabels = new Map();
// By row: what the audit suggested where the likeliest of these labels takes its place, as [label, chance].
const suggestedByAudit = new Map();

// Copies are judged without their labels, so a copy with a label tells how likely it is of the same picture.
function chanceOfLabel(row, code, rows) {
  const [right, wrong] = chancesOf(row);
  if (code === given[row]) return right;
  if (code === suggested[row] && Number.isFinite(scores.sureness[row])) return scores.sureness[row];
  const told = rows.filter((copy) => given[copy] === code && !isYourVerdict(copy)).map((copy) => chancesOf(copy)?.[0] ?? 0);
  return Math.min(wrong, Math.max(0, ...told));
}

function rankedLabels(row, rows) {
  // A copy that a person decided on has the label that this gave it.
  const codes = new Set(rows.map((copy) => (isYourVerdict(copy) ? suggested[copy] : given[copy])).filter((code) => code !== NONE));
  const ranked = [...codes].map((code) => [code, chancesOf(row) ? chanceOfLabel(row, code, rows) : 0]);
  return ranked.sort((a, b) => b[1] - a[1]);
}

function offerCopyLabels(row, ranked) {
  if (ranked.length < 2) return;
  copyLabels.set(row, ranked);
  const [code, chance] = ranked[0];
  if (!(chance >= Math.max(SUPPORTED_FROM, (1 - scores.foreign_score[row]) / payload.classes))) return;
  suggestedByAudit.set(row, [suggested[row], scores.sureness[row]]);
  suggested[row] = code;
  scores.sureness[row] = scores.confidence[row] = chance;
}

for (const rows of copyGroups) {
  for (const row of rows) if (verdict[row] === CONFLICT && !decidedBefore(row)) offerCopyLabels(row, rankedLabels(row, rows));
}

// Whether the labels of copies come first among the answers.
const copiesComeFirst = (row) => suggestedByAudit.has(row);
// What the audit proposed for an image by itself.
function proposedByAudit(row) {
  const code = suggestedByAudit.get(row)?.[0] ?? proposedLabel(row);
  return code === NONE && !leaves(row) ? given[row] : code;
}
// The likeliest label of other copies, where no suggestion stands in its place: [label, chance]; null if there is none.
const copyAnswer = (row) => (hasSuggestion(row) ? null : copyLabels.get(row)?.find(([code]) => code !== given[row]) ?? null);
// The labels of copies that no other answer gives.
function furtherCopyLabels(row) {
  const offered = [given[row], hasSuggestion(row) ? proposedLabel(row) : copyAnswer(row)?.[0]];
  return (copyLabels.get(row) ?? []).map(([code]) => code).filter((code) => !offered.includes(code));
}
