"""The `ownerlanes` command: says what is missing when the extra that it needs is not installed.

It imports nothing heavy itself, so that `TRITON_INTERPRET` is decided before triton is imported.
"""

from __future__ import annotations

import importlib.util
import sys

NEEDED = ("hypothesis", "pytest", "rich", "typer")


def main() -> None:
    """Run the command line; exits 2 when an optional dependency is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"ownerlanes: the command line needs {', '.join(missing)}; "
            "install them with: pip install 'ownerlanes[conformance]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from ownerlanes.conformance.cli import app

    app()


if __name__ == "__main__":
    main()
