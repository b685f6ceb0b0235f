"""A bench of label noise: the same features, labels and folds for this project's verdicts and for other tools."""
