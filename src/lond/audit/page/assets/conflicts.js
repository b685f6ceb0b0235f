// Which images of a duplicate conflict are the same picture.

const conflictOf = Int32Array.from({ length: N }, (_, row) => row);

function rootOf(row) {
  let root = row;
  while (conflictOf[root] !== root) root = conflictOf[root];
  return root;
}

function joinConflicts() {
  const isConflict = (row) => row >= 0 && row < N && verdict[row] === CONFLICT;
  const join = (a, b) => { conflictOf[rootOf(Math.max(a, b))] = rootOf(Math.min(a, b)); };
  const rows = Array.from({ length: N }, (_, row) => row).filter(isConflict);
  for (const row of rows.filter((each) => isConflict(duplicateOf[each]))) join(row, duplicateOf[row]);
  for (const row of rows) conflictOf[row] = rootOf(row);
}

joinConflicts();
