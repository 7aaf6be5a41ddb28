"""The pytest plugin: the suite on any candidate, `pytest --pyargs ownerlanes.conformance`.

It does nothing to a session that does not collect the suite. With it, tests are selected by clause
(`-k C-RELEASE`), what is not claimed is reported as such, and results are gathered from all
workers into one report. It runs no test itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ownerlanes.conformance.run import Run

SUITE = (Path(__file__).parent / "suite").resolve()
RUN = "ownerlanes-run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the kit."""
    group = parser.getgroup("ownerlanes", "owner-lane allocators")
    group.addoption(
        "--ownerlanes-allocator",
        metavar="PKG.MOD:MAKE",
        help="factory of the allocator to check (default: the Triton allocator)",
    )
    group.addoption(
        "--ownerlanes-profile",
        choices=("quick", "ci", "deep"),
        default="quick",
        help="how many examples (default: quick)",
    )
    group.addoption("--ownerlanes-seed", type=int, help="seed of the examples")
    group.addoption(
        "--ownerlanes-report", type=Path, metavar="DIR", help="where to write the report"
    )
    group.addoption(
        "--ownerlanes-max-seconds", type=float, help="start no test after so many seconds"
    )
    group.addoption(
        "--ownerlanes-known-failures",
        type=Path,
        metavar="FILE",
        help="TOML file of known failures; strict",
    )
    group.addoption(
        "--ownerlanes-example-database",
        metavar="DIR|URL",
        help="keep examples in a directory or at a redis:// URL",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The markers of the suite's tests."""
    config.addinivalue_line("markers", "clause(*ids): obligations of RFC-0001 that a test cites")
    config.addinivalue_line("markers", "needs(*claims): what a candidate must claim for a test")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Preflight before anything is collected, so that what cannot run stops with one line."""
    config = session.config
    asked = config.getoption("ownerlanes_allocator") or any(map(_is_the_suite, config.args))
    if asked:
        run_of(config)


def _is_the_suite(argument: str) -> bool:
    path = Path(argument.partition("::")[0]).resolve()
    return argument.startswith("ownerlanes.conformance") or SUITE in (path, *path.parents)


def run_of(config: pytest.Config) -> Run:
    """The run of this session, begun when first asked for."""
    found: Any = config.pluginmanager.get_plugin(RUN)
    if found is not None:
        run: Run = found
        return run
    from ownerlanes.conformance.protocol import CouldNotRunError
    from ownerlanes.conformance.run import Run

    try:
        run = Run(config)
    except CouldNotRunError as fault:
        pytest.exit(f"could not run: {fault}", returncode=2)
    config.pluginmanager.register(run, RUN)
    return run


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> None:
    """The suite's modules read the profile when they are imported."""
    if SUITE in module_path.resolve().parents:
        run_of(parent.config)
