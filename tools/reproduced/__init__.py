"""The page `docs/reproduced.md`: what the results store holds beside the paper's figures."""
