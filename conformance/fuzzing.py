"""`python -m ownerlanes.conformance.fuzzing`: HypoFuzz drives the suite until it is stopped.

Finds go into a database of examples, where `ownerlanes conformance --example-database` tries them
first, on this machine or on any other that shares it. As a pytest plugin this module makes that
database Hypothesis's default one, as HypoFuzz demands; it changes nothing else.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys

import hypothesis
import pytest

from ownerlanes.conformance import settings
from ownerlanes.conformance.commands.conformance import ISOLATED
from ownerlanes.conformance.plugin import SUITE

DATABASE = ".hypothesis/ownerlanes"
HYPOTHESIS = "from hypothesis.extra.cli import main; main()"
PROFILE = "ownerlanes-fuzz"


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; the exit status is HypoFuzz's, or 2 where it is not installed."""
    parser = argparse.ArgumentParser("ownerlanes.conformance.fuzzing", description=__doc__)
    parser.add_argument("--allocator", help="factory, pkg.module:make (default: TritonAllocator)")
    parser.add_argument(
        "--example-database", default=DATABASE, help=f"directory or redis:// URL ({DATABASE})"
    )
    parser.add_argument("--processes", type=int, default=1, help="fuzzing processes (1)")
    parser.add_argument("--clause", help="only tests that cite it")
    asked = parser.parse_args(arguments)
    if importlib.util.find_spec("hypofuzz") is None:
        print("fuzzing needs HypoFuzz: pip install 'ownerlanes[fuzz]'", file=sys.stderr)
        return 2
    command = [sys.executable, "-c", HYPOTHESIS, "fuzz", "--no-dashboard"]
    command += ["--numprocesses", str(asked.processes), "--"]
    command += [*ISOLATED, "-p", __spec__.name, str(SUITE), "--ownerlanes-profile=deep"]
    command += [f"--ownerlanes-example-database={asked.example_database}"]
    command += [f"--ownerlanes-allocator={asked.allocator}"] if asked.allocator else []
    command += ["-k", asked.clause] if asked.clause else []
    return subprocess.call(command)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Before the suite is imported, and after the run has opened its database.

    Raises:
        UsageError: the run has no database, so that nothing would be fuzzed or kept.
    """
    database = settings.active().database
    if database is None:
        raise pytest.UsageError("fuzzing needs --ownerlanes-example-database")
    hypothesis.settings.register_profile(PROFILE, database=database)
    hypothesis.settings.load_profile(PROFILE)


if __name__ == "__main__":
    sys.exit(main())
