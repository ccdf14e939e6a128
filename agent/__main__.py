"""`python -m agent` and the console script."""

import sys

from agent.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
