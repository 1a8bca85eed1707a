"""``python -m sojourn``: the command line."""

import sys

from sojourn.cli import main

if __name__ == "__main__":
    sys.exit(main())
