"""``python -m lond.cli``."""

from lond.cli import main

# Processes that a command starts import this file once more.
if __name__ == "__main__":
    main()
