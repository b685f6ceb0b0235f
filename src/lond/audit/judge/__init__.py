"""What is wrong: out-of-fold judgements of every image, and the verdicts they lead to."""
