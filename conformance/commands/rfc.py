"""`ownerlanes rfc`: check, render, measure and cite the RFC.

Thin commands over `ownerlanes.rfcs`. Exit status 0 in order, 1 something to fix, 2 could not run;
only `render` and `coverage --write` change a file, and each says which.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from ownerlanes.conformance.report.citation import citation
from ownerlanes.conformance.report.model import load_report
from ownerlanes.rfcs import coverage as covering
from ownerlanes.rfcs import render as rendering
from ownerlanes.rfcs.obligations import RfcError, load
from ownerlanes.rfcs.tree import Tree, find_tree

FAULTS = "ownerlanes.conformance.faults"
Root = Annotated[
    Path | None,
    typer.Option("--root", help="Folder with the four packages; default: where this one lies."),
]

app = typer.Typer(help="Check, render, measure and cite RFC-0001.", no_args_is_help=True)


@app.command()
def check(root: Root = None) -> None:
    """Check schemas, citations, coverage, the rendered page and the governance files."""
    if importlib.util.find_spec("jsonschema") is None:
        _stop("rfc check needs jsonschema; install it with: pip install 'ownerlanes[rfc]'")
    from ownerlanes.rfcs.check import check as problems_of

    tree = _tree(root)
    problems = problems_of(tree)
    for problem in problems:
        typer.echo(str(problem))
    if problems:
        typer.echo(f"{len(problems)} problems; each line says what to do", err=True)
        raise typer.Exit(1)
    rfc = load(tree.rfcs)
    what = "checkout" if tree.is_checkout else "installed distribution"
    typer.echo(
        f"{rfc.id} {rfc.version}: {len(rfc.obligations)} obligations, all cited by tests; "
        f"{what} {tree.root} is in order"
    )


@app.command()
def render(
    root: Root = None,
    verify: Annotated[bool, typer.Option("--check", help="Only say whether it is stale.")] = False,
) -> None:
    """Write rfcs/RFC-0001.md from the clauses."""
    tree = _tree(root)
    try:
        if not verify:
            typer.echo(f"wrote {rendering.write(tree.rfcs)}")
        elif rendering.is_stale(tree.rfcs):
            typer.echo(
                f"rfcs/{rendering.PAGE} differs from the clauses; run `ownerlanes rfc render`"
            )
            raise typer.Exit(1)
    except RfcError as fault:
        _stop(str(fault))


@app.command()
def coverage(
    root: Root = None,
    write: Annotated[bool, typer.Option("--write", help="Update rfcs/coverage.txt.")] = False,
) -> None:
    """Show for each clause its obligations, tests and planted faults."""
    tree = _tree(root)
    try:
        rfc = load(tree.rfcs)
    except RfcError as fault:
        _stop(str(fault))
    tests = covering.covering_tests(tree)
    if write:
        if not tree.is_checkout:
            _stop(f"{tree.root} is not a checkout; its tests are not there to be read")
        path = tree.rfcs / covering.SNAPSHOT
        path.write_text(covering.snapshot_text(rfc, tests), encoding="utf-8")
        typer.echo(f"wrote {path}")
    faults = planted_faults()
    table = Table("clause", "obligations", "cited", "tests", "planted faults", title=rfc.title)
    for row in covering.clause_table(rfc, tests, faults):
        cited = f"{row.covered}" if row.covered == row.obligations else f"[red]{row.covered}[/red]"
        planted = "?" if row.faults is None else f"{row.faults}"
        table.add_row(
            row.clause.partition(":")[2], f"{row.obligations}", cited, f"{row.tests}", planted
        )
    Console().print(table)
    if faults is None:
        typer.echo(f"planted faults: unknown, {FAULTS} is not installed")


@app.command()
def cite(
    cited: Annotated[str, typer.Argument(help="Such as C-FLATTENED-ORDER/2, or a whole clause.")],
    report: Annotated[
        Path | None, typer.Option(help="A report.json to take evidence from.")
    ] = None,
    base: Annotated[str, typer.Option(help="What the link starts with.")] = "rfcs/",
    root: Root = None,
) -> None:
    """Print a Markdown citation with version, hash, link and evidence."""
    try:
        evidence = None if report is None else load_report(report)
        typer.echo(citation(load(_tree(root).rfcs), cited, evidence, base), nl=False)
    except (RfcError, OSError, ValueError) as fault:
        _stop(str(fault))


def planted_faults() -> dict[str, int] | None:
    """Planted faults of the kit's catalogue by clause id; None where it is not installed."""
    if importlib.util.find_spec(FAULTS) is None:
        return None
    catalogue = importlib.import_module(FAULTS).FAULTS
    return dict(Counter(fault.clause.partition("/")[0] for fault in catalogue))


def _tree(root: Path | None) -> Tree:
    try:
        return find_tree(root)
    except RfcError as fault:
        _stop(str(fault))


def _stop(message: str) -> NoReturn:
    typer.echo(f"ownerlanes rfc: {message}", err=True)
    raise typer.Exit(2)
