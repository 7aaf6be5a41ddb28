"""`python -m ownerlanes.conformance` is `ownerlanes conformance`."""

import sys

from ownerlanes.conformance.main import main

if __name__ == "__main__":
    sys.argv.insert(1, "conformance")
    main()
