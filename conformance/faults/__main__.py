"""`python -m ownerlanes.conformance.faults`: whether the kit notices every planted fault.

Prints the table of faults and the tests that caught them. Exit status 0 when each is caught by a
test that cites the obligation it breaks and an allocator without a fault passes, else 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Printed

from ownerlanes.conformance.faults import FAULTS
from ownerlanes.conformance.faults.runner import run
from ownerlanes.conformance.faults.table import Table, cells
from ownerlanes.conformance.settings import PROFILES


def faults(
    names: Annotated[list[str] | None, typer.Argument(help="Faults; all if left out.")] = None,
    profile: Annotated[str, typer.Option(help="quick, ci or deep.")] = "ci",
    seeds: Annotated[int, typer.Option(help="Seeds for the allocator without a fault.")] = 10,
    seeds_profile: Annotated[str, typer.Option(help="The profile for these seeds.")] = "quick",
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    whole: Annotated[
        bool, typer.Option(help="Run the whole suite in its order, not the clause's tests first.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Folder for faults.md and .json.")] = None,
) -> None:
    """Run the kit on each planted fault, up to the first failing example."""
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names or () if name not in known]
    unknown += [name for name in (profile, seeds_profile) if name not in PROFILES]
    if unknown:
        typer.echo(f"could not run: no fault or profile is called {unknown}", err=True)
        raise typer.Exit(2)
    console = Console(width=None if sys.stdout.isatty() else 200)
    with console.status("collecting the suite") as status:
        table = run(
            [known[name] for name in names] if names else FAULTS,
            profile=profile,
            seeds=range(1, seeds + 1),
            seeds_profile=seeds_profile,
            workers=workers,
            whole=whole,
            told=lambda line, well: status.update(line) if well else console.print(line),
        )
    console.print(_printed(table))
    console.print(table.summary())
    if report is not None:
        for path in table.write(report):
            console.print(f"wrote {path}")
    raise typer.Exit(0 if table.is_complete else 1)


def _printed(table: Table) -> Printed:
    printed = Printed("fault", "breaks", "caught by", "histories", "seconds")
    for row in table.rows:
        name, _, *rest = cells(row)
        printed.add_row(name, *rest)
    return printed


if __name__ == "__main__":
    typer.run(faults)
