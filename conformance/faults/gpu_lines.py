"""`python -m ownerlanes.conformance.faults.gpu_lines`: breaks lines of gpu/ and lets the kit look.

Each mutant is a copy of the package with one operator or number changed; the suite runs on its
TritonAllocator in the interpreter up to the first failing example. It prints those that survive,
for a person to say whether they are equivalent. The package itself is never changed.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ownerlanes.conformance.device import prepare_triton
from ownerlanes.conformance.faults import hunt
from ownerlanes.conformance.faults.lines import Mutant, mutants

FILES = (
    "kernels.py",
    "packing.py",
    "planning.py",
    "planning_phases.py",
    "planning_faults.py",
    "allocation.py",
    "allocator.py",
    "eviction.py",
    "page_math.py",
)
"""Page selection, flattening, deficit arithmetic, and what they stand on."""

FORK = multiprocessing.get_context("fork")
CANDIDATE = "ownerlanes.gpu:TritonAllocator"
SURVIVED = "survives"
PACKAGE = Path(__file__).resolve().parents[2] / "gpu"


def main(
    files: Annotated[list[str] | None, typer.Argument(help="Files of gpu/.")] = None,
    package: Annotated[Path, typer.Option(help="The folder gpu/, or a copy of it.")] = PACKAGE,
    budget: Annotated[float, typer.Option(help="Seconds for all mutants.")] = 900.0,
    limit: Annotated[int, typer.Option(help="Seconds of processor time for one mutant.")] = 180,
    profile: Annotated[str, typer.Option(help="quick, ci or deep.")] = "quick",
    seed: Annotated[int, typer.Option(help="Which mutant of each line, and in which order.")] = 0,
) -> None:
    """Break one line after the other, in random order, until the time is up."""
    prepare_triton()
    tests = in_order(hunt.collect(profile))
    chosen = one_a_line([package / name for name in files or FILES], seed)
    began = time.perf_counter()
    verdict = judge(package, None, tests, limit)
    if verdict != SURVIVED:
        typer.echo(f"could not run: the package itself does not pass: {verdict}", err=True)
        raise typer.Exit(2)
    survivors: list[Mutant] = []
    tried = 0
    for mutant in chosen:
        if time.perf_counter() - began > budget:
            break
        verdict = judge(package, mutant, tests, limit)
        typer.echo(f"{verdict:60.60}  {mutant}")
        tried += 1
        if verdict == SURVIVED:
            survivors.append(mutant)
    typer.echo(f"{tried} of {len(chosen)} lines broken, {len(survivors)} mutants survive:")
    for mutant in survivors:
        typer.echo(f"  {mutant}")


def in_order(tests: Sequence[hunt.SuiteTest]) -> list[hunt.SuiteTest]:
    """Whole histories first, which see most, then what is soon done."""
    return sorted(tests, key=lambda test: ("test_any_calls" not in test.name, test.is_property))


def one_a_line(paths: Sequence[Path], seed: int) -> list[Mutant]:
    """One mutant of each line that has any, shuffled."""
    chance = random.Random(seed)
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for path in paths:
        for mutant in mutants(path):
            by_line.setdefault((mutant.path, mutant.line), []).append(mutant)
    chosen = [chance.choice(each) for each in by_line.values()]
    chance.shuffle(chosen)
    return chosen


def judge(package: Path, mutant: Mutant | None, tests: Sequence[hunt.SuiteTest], limit: int) -> str:
    """What the suite says of a mutant; None is the package as it is."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "gpu"
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (copy / mutant.path.name).write_text(mutant.source(), encoding="utf-8")
        told, tell = FORK.Pipe(duplex=False)
        child = FORK.Process(target=_child, args=(copy, tests, tell, limit))
        child.start()
        child.join()
        if child.exitcode:
            return f"caught: the process died ({signal.strsignal(-child.exitcode)})"
        verdict: str = told.recv()
        return verdict


def _child(copy: Path, tests: Sequence[hunt.SuiteTest], tell: object, limit: int) -> None:
    """Import the copy as ownerlanes.gpu and run the suite on it; a loop without end is killed."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    spec = importlib.util.spec_from_file_location(
        "ownerlanes.gpu", copy / "__init__.py", submodule_search_locations=[str(copy)]
    )
    assert spec is not None
    assert spec.loader is not None
    assert "ownerlanes.gpu" not in sys.modules
    module = importlib.util.module_from_spec(spec)
    sys.modules["ownerlanes.gpu"] = module
    try:
        spec.loader.exec_module(module)
        catch = hunt.first_failure(CANDIDATE, tests)
        verdict = f"caught: {catch.seconds:.1f} s, {catch.test}" if catch.test else SURVIVED
    except Exception as fault:
        verdict = f"caught: {type(fault).__name__}: {fault}"
    tell.send(verdict)  # type: ignore[attr-defined]


if __name__ == "__main__":
    typer.run(main)
