"""`ownerlanes conformance`: check an allocator against every clause, and say which hold.

Exit status: 0 conforms, 1 violates a clause, 2 could not run. The suite runs under pytest, apart
from whatever pytest configuration the current directory has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer

from ownerlanes.conformance.plugin import RUN, SUITE
from ownerlanes.conformance.progress import Progress
from ownerlanes.rfcs.obligations import RfcError, load

ISOLATED = (
    f"--config-file={os.devnull}",
    f"--rootdir={SUITE.parent}",
    "--noconftest",
    "--import-mode=importlib",
    "--override-ini=consider_namespace_packages=true",
    "-p",
    "ownerlanes.conformance.plugin",
    "-p",
    "no:cacheprovider",
)
"""Arguments of pytest with which the suite is the same wherever it is run."""


class ProfileName(StrEnum):
    """How many examples."""

    QUICK = "quick"
    CI = "ci"
    DEEP = "deep"


def conformance(
    allocator: Annotated[
        str | None,
        typer.Option(help="Factory of the allocator, pkg.module:make; the Triton one if left out."),
    ] = None,
    profile: Annotated[ProfileName, typer.Option(help="How many examples.")] = ProfileName.QUICK,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the examples; ci is derandomised without one.")
    ] = None,
    clause: Annotated[
        list[str] | None,
        typer.Option(help="Only tests that cite this clause or obligation; may be repeated."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Folder for report.json, .md, .html and failures.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Start no test after so many seconds.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; more than one needs pytest-xdist.")
    ] = 1,
    known_failures: Annotated[
        Path | None, typer.Option(help="TOML file of known failures; strict.")
    ] = None,
    example_database: Annotated[
        str | None, typer.Option(help="Keep examples in a directory or at a redis:// URL.")
    ] = None,
) -> None:
    """Check an allocator: exit 0 conforms, 1 violates a clause, 2 could not run."""
    options = {
        "allocator": allocator,
        "profile": profile.value,
        "seed": seed,
        "report": report,
        "max-seconds": max_seconds,
        "known-failures": known_failures,
        "example-database": example_database,
    }
    raise typer.Exit(run(options, clauses=clause or [], workers=workers))


def run(options: Mapping[str, object], *, clauses: list[str], workers: int = 1) -> int:
    """Run the suite in this process; the exit status.

    Args:
        options: the plugin's, by name without `--ownerlanes-`; None leaves one out.
        clauses: only tests that cite one of these; none for all.
        workers: how many processes.
    """
    arguments = [
        f"--ownerlanes-{name}={value}" for name, value in options.items() if value is not None
    ]
    if clauses:
        try:
            found = [load().find(name).id for name in clauses]
        except RfcError as fault:
            typer.echo(f"could not run: --clause: {fault}", err=True)
            return 2
        arguments += ["-k", " or ".join(name.partition(":")[2] for name in found)]
    if workers > 1:
        arguments += ["-n", str(workers)]
    progress = Progress(RUN)
    status = _isolated([str(SUITE), *arguments], [progress])
    if clauses and not progress.any_test:
        typer.echo(f"could not run: no test cites {', '.join(clauses)}", err=True)
    return status if status in (0, 1) else 2


def _isolated(arguments: list[str], plugins: list[object]) -> int:
    """pytest.main without the configuration, conftest files and options of where we are."""
    inherited = os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        return int(
            pytest.main(
                [*ISOLATED, "-p", "no:terminal", *arguments],
                plugins,
            )
        )
    finally:
        if inherited is not None:
            os.environ["PYTEST_ADDOPTS"] = inherited
