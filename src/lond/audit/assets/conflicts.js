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
  const copied = new Set();
  for (const row of rows.filter((each) => isConflict(duplicateOf[each]))) {
    join(row, duplicateOf[row]);
    copied.add(row).add(duplicateOf[row]);
  }
  // The table names exact copies only; a near copy is the nearest image.
  for (const row of rows) {
    const nearest = neighbourWidth ? neighbours[row * neighbourWidth] : NONE;
    if (!copied.has(row) && isConflict(nearest)) join(row, nearest);
  }
  for (const row of rows) conflictOf[row] = rootOf(row);
}

joinConflicts();
