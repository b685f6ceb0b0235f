"""Out-of-fold judgement of labels: linear heads in folds, neighbours, and a network fitted on many kinds of noise."""
