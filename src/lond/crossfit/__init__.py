"""Labels judged by models that never saw them: heads in folds, neighbours, and a table from many kinds of noise."""
