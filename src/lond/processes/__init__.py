"""Several processes that give what one gives: rows are divided, results gathered, statistics shared."""
