"""`ownerlanes conformance` and the plugin: exit status, isolation, ledger, report, what is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import core

from ownerlanes.conformance import session, settings
from ownerlanes.conformance.commands.conformance import run
from ownerlanes.conformance.report.model import load_report

CANDIDATES = '''
from ownerlanes.reference import InvalidFreeError, ReferenceAllocator


class DoubleFree(ReferenceAllocator):
    """Takes back what is free already."""

    def free_pages(self, pages):
        try:
            super().free_pages(pages)
        except InvalidFreeError as error:
            if "is free" not in str(error):
                raise


class Forgets(ReferenceAllocator):
    """Loses a page of every release."""

    def free_pages(self, pages):
        super().free_pages(list(pages)[:-1])


class Modest(ReferenceAllocator):
    """Claims little."""

    capabilities = {"eviction": False, "splits": {"RoundRobinPages"}, "digest": False}


class NoDigest(ReferenceAllocator):
    digest = None


class Nonsense(ReferenceAllocator):
    capabilities = {"evictions": False}


def explodes(layout, evictor=None):
    raise OSError("no such device")
'''

HOSTILE = """
[pytest]
addopts = --strict-config --no-such-option
filterwarnings = error
python_files = nothing_*.py
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with candidates; what a run sets in this process is put back."""
    (tmp_path / "candidates.py").write_text(CANDIDATES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = session.current(), settings.active(), core.global_force_seed
    yield tmp_path
    sys.modules.pop("candidates", None)
    session.use(before[0])
    settings.activate(before[1].name)
    core.global_force_seed = before[2]


def check(name: str, *clauses: str, **options: object) -> int:
    return run({"allocator": f"candidates:{name}", "seed": 1, **options}, clauses=list(clauses))


@pytest.mark.usefixtures("here")
def test_a_sound_candidate_conforms(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"allocator": "ownerlanes.reference:ReferenceAllocator", "seed": 1}
    assert run(given, clauses=["C-RELEASE"]) == 0
    told = capsys.readouterr().out
    assert "C-RELEASE                          holds             6         0" in told
    assert "conforms (RFC-0001" in told
    assert "seed 1" in told


def test_a_violation_is_told_reported_and_saved(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("DoubleFree", "C-RELEASE/4", report=here / "out") == 1
    told = capsys.readouterr().out
    assert "RFC-0001:C-RELEASE/4 is violated:" in told
    assert "MUST be refused with `InvalidFreeError`" in told
    assert "First difference: error" in told
    assert "allocator = candidates.DoubleFree(layout" in told
    assert "lane 0  r" in told
    report = load_report(here / "out" / "report.json")
    assert report.verdict == "violates"
    rows = {row.id: row.status for row in report.obligations}
    assert rows["RFC-0001:C-RELEASE/4"] == "failed"
    assert rows["RFC-0001:C-PAGE-OWNERSHIP/1"] == "not run"
    assert (here / "out" / "report.html").exists()
    vectors = sorted((here / "out" / "failures").glob("*.jsonl"))
    assert vectors
    saved = json.loads(vectors[0].read_text())
    assert saved["steps"][-1]["expect"]["error"]["type"] == "InvalidFreeError"


def test_the_script_of_a_failure_runs_and_shows_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("DoubleFree", "C-RELEASE/4") == 1
    told = capsys.readouterr().out
    start = told.index("    from ownerlanes.reference import *")
    script = told[start : told.index("Lanes before the last call")]
    (here / "again.py").write_text("\n".join(line[4:] for line in script.splitlines()))
    shown = subprocess.run(
        [sys.executable, "again.py"], capture_output=True, text=True, check=True, cwd=here
    ).stdout
    assert shown.splitlines()[-2].endswith("-> None"), shown  # the release that must be refused


@pytest.mark.usefixtures("here")
def test_what_is_not_claimed_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("Modest", "C-LANE-EVICTION", "C-PAGE-OWNERSHIP") == 0
    told = capsys.readouterr().out
    assert "not claimed: eviction, digest, ContiguousPages" in told
    (line,) = [line for line in told.splitlines() if line.startswith("C-LANE-EVICTION")]
    assert line.split()[1:] == ["not", "claimed", "0", "0", "12", "13"]
    (line,) = [line for line in told.splitlines() if line.startswith("C-PAGE-OWNERSHIP")]
    assert line.split()[1] == "holds"


def test_a_toy_is_held_to_what_it_claims_and_no_more(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "toy.py").write_text((Path(__file__).parent / "toy.py").read_text())
    clauses = ["C-REPLICA-DETERMINISM", "C-FLATTENED-ORDER", "C-CAPACITY-AND-EVICTION"]
    try:
        assert run({"allocator": "toy:Toy", "seed": 1}, clauses=clauses) == 0
    finally:
        sys.modules.pop("toy", None)
    assert "not claimed: partial_pages, open_phase, eviction" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("allocator", "told"),
    [
        ("nowhere:make", "importing nowhere raised ModuleNotFoundError"),
        ("candidates:nothing", "candidates has no nothing"),
        ("candidates", "expected pkg.module:make"),
        ("candidates:CANDIDATES", "candidates has no CANDIDATES"),
        ("candidates:explodes", "does not construct"),
        ("candidates:NoDigest", "has no method digest; add it, or declare capabilities digest"),
        ("candidates:Nonsense", "unknown name 'evictions'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_run_is_no_violation(
    allocator: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run({"allocator": allocator}, clauses=[]) == 2
    shown = capsys.readouterr()
    assert "could not run" in shown.err
    assert told in shown.err
    assert "violat" not in shown.out + shown.err


@pytest.mark.usefixtures("here")
def test_an_unknown_clause_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("DoubleFree", "C-RELEASED") == 2
    assert "nearest: C-RELEASE" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_time_that_is_up_is_no_conformance(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("Modest", "C-RELEASE", **{"max-seconds": 0}) == 2
    assert "could not run to the end" in capsys.readouterr().out


def ledger(here: Path, *ids: str) -> Path:
    path = here / "known.toml"
    path.write_text(
        "".join(
            f'[[known]]\nid = "{each}"\nreason = "later"\nreference = "notes.md"\n' for each in ids
        )
    )
    return path


@pytest.mark.parametrize(
    ("ids", "status", "told"),
    [
        (["C-RELEASE/4"], 0, "conforms"),
        (["C-RELEASE"], 0, "conforms"),
        (["C-RELEASE/3"], 1, "known failure RFC-0001:C-RELEASE/3 passes now"),
        (["C-RELEASE/4", "C-DIRECT-WRITE/1"], 1, "C-DIRECT-WRITE/1 matches nothing run"),
        ([], 2, ""),
        (["C-NOWHERE/1"], 2, ""),
    ],
)
def test_the_ledger_is_strict(
    here: Path,
    ids: list[str],
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = ledger(here, *ids)
    found = check("DoubleFree", "C-RELEASE/4", **{"known-failures": known})
    assert (found, told in capsys.readouterr().out) == (status, True)


def test_the_directorys_own_pytest_is_no_matter(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "pytest.ini").write_text(HOSTILE)
    (here / "conftest.py").write_text("raise RuntimeError('a conftest that must not be read')")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    assert check("Modest", "C-CONSERVATION/4") == 0
    assert os.environ["PYTEST_ADDOPTS"] == "--no-such-option"


def test_examples_are_kept_in_a_directory_and_tried_first(here: Path) -> None:
    where = here / "examples"
    for _ in range(2):
        assert check("Forgets", "C-RELEASE/6", seed=None, **{"example-database": where}) == 1
        assert any(path.is_file() for path in where.rglob("*"))


@pytest.mark.usefixtures("here")
def test_a_database_that_does_not_answer_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("Modest", seed=None, **{"example-database": "redis://127.0.0.1:1/0"}) == 2
    assert "--example-database" in capsys.readouterr().err
    assert check("Modest", **{"example-database": "here"}) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_as_a_pytest_plugin_over_two_workers(here: Path) -> None:
    """The same findings, gathered from workers; -k takes a clause."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "ownerlanes.conformance.plugin"),
            *("-p", "no:cacheprovider", "--pyargs", "ownerlanes.conformance", "-n", "2"),
            *("--ownerlanes-allocator", "candidates:DoubleFree", "-k", "C-RELEASE/4"),
            *("--ownerlanes-report", "out", "--ownerlanes-seed", "1"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "C-RELEASE                          VIOLATED" in done.stdout
    report = load_report(here / "out" / "report.json")
    assert report.verdict == "violates"
    assert report.seed == 1
    assert max(row.examples for row in report.obligations) > 50
