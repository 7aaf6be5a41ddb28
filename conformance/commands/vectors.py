"""`ownerlanes vectors`: write language-neutral test vectors, and hold an allocator to them.

The allocator is a Python factory or any program that answers lines. It writes to the terminal and
sets the exit status: 0 conforms, 1 violates a clause, 2 could not run.
"""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from ownerlanes.conformance.device import prepare_triton
from ownerlanes.conformance.protocol import Candidate, CouldNotRunError, load_candidate
from ownerlanes.conformance.report import write_report
from ownerlanes.conformance.vectors import check as checking
from ownerlanes.conformance.vectors import store
from ownerlanes.conformance.vectors.emit import emit as emit_vectors
from ownerlanes.conformance.vectors.evidence_report import Run, vectors_report
from ownerlanes.conformance.vectors.pipe import Engine, EngineLostError
from ownerlanes.conformance.vectors.recorded import RecordedHistory, read_vector
from ownerlanes.conformance.vectors.remote import remote_candidate
from ownerlanes.conformance.vectors.told import (
    SHOWN,
    clause_table,
    failure_text,
    not_claimed_text,
)
from ownerlanes.rfcs import obligations

app = typer.Typer(help="Language-neutral test vectors.", no_args_is_help=True)


class Size(StrEnum):
    """How many vectors."""

    QUICK = "quick"
    FULL = "full"


@app.command()
def emit(
    out: Annotated[Path, typer.Option(help="Folder to write to; made where missing.")],
    size: Annotated[Size, typer.Option(help="quick is below 1 MB, full about ten times that.")] = (
        Size.QUICK
    ),
    seed: Annotated[
        int, typer.Option(help="Names the choices; the same seed, the same bytes.")
    ] = 0,
) -> None:
    """Write vectors with the oracle's answers."""
    try:
        emit_vectors(out, size=size.value, seed=seed)
    except OSError as fault:
        _could_not_run("emit", fault)
    typer.echo(f"{out}: wrote {size.value} vectors of seed {seed}; {store.MANIFEST} lists them")


@app.command()
def check(
    vectors: Annotated[Path, typer.Argument(help="A folder that emit wrote, or one file of it.")],
    allocator: Annotated[
        str | None, typer.Option(help="Factory of the allocator, pkg.module:make.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Program that answers one line for each line it gets.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one answer of the program.")] = 10.0,
    report: Annotated[
        Path | None, typer.Option(help="Folder for report.json, report.md and report.html.")
    ] = None,
) -> None:
    """Hold an allocator to vectors; exit 0 conforms, 1 violates a clause, 2 could not run."""
    try:
        with ExitStack() as stack:
            if command is not None and allocator is None:
                engine = stack.enter_context(Engine(command, timeout=timeout))
                candidate = remote_candidate(engine)
                run = Run(f"vectors of {vectors}", command, device="another process")
            elif allocator is not None and command is None:
                device = prepare_triton()
                candidate = load_candidate(allocator)
                run = Run(f"vectors of {vectors}", allocator, device=device)
            else:
                raise CouldNotRunError("expected one of --allocator and --command")
            failed = _tell(_read(vectors), candidate, run, report)
    except (CouldNotRunError, EngineLostError, obligations.RfcError, OSError) as fault:
        _could_not_run("check", fault)
    raise typer.Exit(1 if failed else 0)


def _could_not_run(name: str, fault: object) -> NoReturn:
    typer.echo(f"ownerlanes vectors {name}: could not run: {fault}", err=True)
    raise typer.Exit(2)


def _read(path: Path) -> list[RecordedHistory]:
    """The vectors, with a word where they were made for another text of the RFC."""
    manifest, vectors = store.read(path)
    rfc = obligations.load()
    if manifest is not None and manifest["rfc"]["sha256"] != rfc.sha256:
        typer.echo(
            f"note: these vectors were emitted for {manifest['rfc']['id']} "
            f"{manifest['rfc']['version']} with another text than that of {rfc.version} here",
            err=True,
        )
    return [read_vector(vector) for vector in vectors]


def _tell(
    vectors: list[RecordedHistory], candidate: Candidate, run: Run, folder: Path | None
) -> bool:
    """Check, print and report; whether anything was violated.

    Raises:
        CouldNotRunError: not one step could be put to the candidate.
    """
    rfc = obligations.load()
    verdict = checking.Verdict()
    console = Console(highlight=False)
    try:
        checking.check(vectors, candidate, verdict)
    except EngineLostError as lost:
        _tell_failures(verdict, console, rfc)
        raise CouldNotRunError(f"in vector {verdict.playing}: {lost}") from lost
    _tell_failures(verdict, console, rfc)
    if vectors and not verdict.vectors and not verdict.failures:
        raise CouldNotRunError(
            f"{candidate.name} claims nothing that these vectors put to it; "
            + not_claimed_text(verdict)
        )
    console.print(clause_table(verdict, rfc))
    console.print(not_claimed_text(verdict), markup=False, soft_wrap=True)
    console.print(
        f"{candidate.name}: {verdict.vectors} vectors hold ({verdict.steps} steps), "
        f"{len(verdict.failures)} fail, {verdict.untouched} not put to it; "
        f"{rfc.id} {rfc.version}",
        markup=False,
        soft_wrap=True,
    )
    if folder is not None:
        write_report(vectors_report(verdict, candidate, rfc, run), folder, rfc)
    return bool(verdict.failures)


def _tell_failures(verdict: checking.Verdict, console: Console, rfc: obligations.Rfc) -> None:
    for vector, difference in verdict.failures[:SHOWN]:
        console.print(failure_text(vector, difference, rfc), markup=False, soft_wrap=True)
        console.print()
    if len(verdict.failures) > SHOWN:
        console.print(f"and {len(verdict.failures) - SHOWN} more vectors that fail")
