"""``python -m minimaxrisk`` is the command line."""

import sys

from minimaxrisk.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
