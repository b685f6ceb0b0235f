// Images that repeat each other, exactly or nearly.

const rootOfGroup = Int32Array.from({ length: N }, (_, row) => row);

function rootOf(row) {
  let root = row;
  while (rootOfGroup[root] !== root) root = rootOfGroup[root];
  return root;
}

function joinGroups() {
  for (let row = 0; row < N; row += 1) {
    const other = duplicateOf[row];
    if (other === NONE || other >= N) continue;
    const [a, b] = [rootOf(row), rootOf(other)];
    rootOfGroup[Math.max(a, b)] = Math.min(a, b);
  }
  const members = new Map();
  for (let row = 0; row < N; row += 1) {
    const root = rootOf(row);
    rootOfGroup[row] = root;
    if (!members.has(root)) members.set(root, []);
    members.get(root).push(row);
  }
  return [...members.values()].filter((rows) => rows.length > 1);
}

const copyGroups = joinGroups();
const isExactCopy = (row) => copyOf(row) === "exact";
const labelsIn = (rows) => [...new Set(rows.map((row) => given[row]).filter((code) => code !== NONE))];
const labelsDiffer = (rows) => labelsIn(rows).length > 1;

// For each image of a conflict the first image of the same conflict, for any other image itself: they stand side by side.
const conflictOf = Int32Array.from({ length: N }, (_, row) => row);
for (const rows of copyGroups) {
  const inConflict = rows.filter((row) => verdict[row] === CONFLICT);
  for (const row of inConflict) conflictOf[row] = inConflict[0];
}
