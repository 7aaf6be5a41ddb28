"""The sessions that check ownerlanes; `nox -l` lists them.

`tests` and `conformance` are what a user runs. Every session installs what it needs, pinned by
constraints.txt; the kernels run in Triton's interpreter where there is no GPU.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests", "conformance", "lint", "types", "rfc"]
nox.options.reuse_existing_virtualenvs = True

CONSTRAINTS = ("--constraint", "constraints.txt")
PACKAGES = tuple(f"ownerlanes.{name}" for name in ("reference", "gpu", "conformance", "rfcs"))
REPORTS = Path("reports")


def install(session: nox.Session, *more: str) -> None:
    """The package with everything a user can ask for, editable, and `more`."""
    session.install(*CONSTRAINTS, "--editable", ".[all]", *more)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the repository's own tests; arguments go to pytest."""
    install(session, "hatchling")
    session.run("pytest", "--numprocesses=2", "tests", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Check the Triton allocator: the suite, then two replays; takes `-- --trace PATH`."""
    install(session)
    trace = session.posargs[1:] if session.posargs[:1] == ["--trace"] else []
    if session.posargs and len(trace) != 1:
        session.error(f"expected `-- --trace PATH`, found {session.posargs}")
    session.run(
        "ownerlanes", "conformance", "--profile", "ci", "--workers", "2",
        "--report", str(REPORTS / "conformance"),
    )  # fmt: skip
    session.run(
        "ownerlanes", "replay", *trace, "--requests", "2000", "--compare",
        "--report", str(REPORTS / "replay"),
    )  # fmt: skip
    session.log("the same under pressure: a pool so small that batches wait and requests requeue")
    session.run(
        "ownerlanes", "replay", *trace, "--requests", "200",
        "--page-size", "512", "--pages-per-lane", "50",
    )  # fmt: skip


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    session.install(*CONSTRAINTS, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    install(session, "mypy", "nox")
    session.run("mypy", *(word for name in PACKAGES for word in ("--package", name)))
    session.run("mypy", "benchmarks", "noxfile.py")


@nox.session
def rfc(session: nox.Session) -> None:
    """Check the RFC: schemas, citations, rendered text and coverage."""
    install(session)
    session.run("ownerlanes", "rfc", "check")
    session.run("pytest", "tests/rfcs", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Run the kit on every planted fault; arguments name faults or set options."""
    install(session)
    session.run(
        "python", "-m", "ownerlanes.conformance.faults",
        "--report", str(REPORTS / "faults"), *session.posargs,
    )  # fmt: skip


@nox.session
def outsiders(session: nox.Session) -> None:
    """Check SGLang's published page-interleave pool; downloads its wheel."""
    install(session)
    session.install("--no-deps", "sglang==0.5.23")
    session.install(  # what its allocator modules import
        "msgspec", "orjson", "pillow", "psutil", "pybase64", "pyzmq", "requests", "starlette"
    )
    session.run("python", "-m", "ownerlanes.conformance.outsiders", str(REPORTS / "outsiders"))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz the suite with HypoFuzz until stopped; arguments as `fuzzing --help` says."""
    session.install("torch==2.13.0", "triton==3.7.1", "--editable", ".[conformance,rfc,fuzz]")
    session.run("python", "-m", "ownerlanes.conformance.fuzzing", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Print the figures that the documents quote."""
    install(session)
    for script in sorted(Path("benchmarks").glob("*.py")):
        session.run("python", str(script))
