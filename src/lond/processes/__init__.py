"""Training in several processes with the result of one: rows are divided, outputs gathered, statistics shared."""
