"""Holding allocators in this process to vectors: verdicts, claims, and damaged files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.operations import AllocExtend, Free, History, Index
from ownerlanes.conformance.report import load_report
from ownerlanes.conformance.vectors.record import record
from ownerlanes.conformance.vectors.store import write_file
from ownerlanes.reference import ExtendRequest, LaneLayout, ReferenceAllocator, RoundRobinPages

Run = Callable[..., Result]


class ForgetsPhase(ReferenceAllocator):
    """A planted fault: requests are planned with phase 0, and their own phase is reported."""

    def alloc_extend(self, requests: Any) -> Any:
        given = super().alloc_extend([replace(request, phase=0) for request in requests])
        return replace(given, phases=tuple(int(request.phase) for request in requests))


class AnyFreePage(ReferenceAllocator):
    """Claims little: any free page of the lane, failures told by None."""

    capabilities = {  # noqa: RUF012 - as an integrator would write it
        "exact_pages": False,
        "typed_errors": False,
        "eviction": False,
        "open_phase": False,
        "plan_extend": False,
        "digest": False,
    }

    def alloc_extend(self, requests: Any) -> Any:
        try:
            return super().alloc_extend(requests)
        except Exception:
            return None


def test_oracle_holds(quick: Path, run: Run) -> None:
    result = run("check", quick, "--allocator", "ownerlanes.reference:ReferenceAllocator")
    assert result.exit_code == 0, result.output
    assert "left out: nothing" in result.output
    assert " 0 fail, 0 not put to it" in result.output


@clause("RFC-0001:C-FLATTENED-ORDER/3", "RFC-0001:C-PAGE-OWNERSHIP/8")
def test_wrong_answer_names_clause_field_values_and_prefix(
    quick: Path, run: Run, importable: str
) -> None:
    result = run("check", quick / "split-RoundRobinPages.jsonl", "--allocator", importable)
    assert result.exit_code == 1, result.output
    text = result.output
    assert "RFC-0001:C-FLATTENED-ORDER/3" in text
    assert "lane of `out_cache_loc[i]` MUST" in text
    assert "expected" in text
    assert "actual" in text
    prefix = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert prefix[0]["op"] == "new"
    assert all("expect" not in line for line in prefix)
    first = text[text.index("shortest prefix") :].split("\n\n")[0].splitlines()
    assert json.loads(first[-1])["op"] == "alloc_extend"
    assert f"that history, {len(first) - 2} steps" in text


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> str:
    """This file's ForgetsPhase by the name that --allocator takes."""
    monkeypatch.setitem(sys.modules, "planted", sys.modules[__name__])
    return "planted:ForgetsPhase"


def test_what_is_not_claimed_is_counted_and_the_rest_is_checked(
    quick: Path, run: Run, importable: str
) -> None:
    result = run("check", quick, "--allocator", importable.replace("ForgetsPhase", "AnyFreePage"))
    assert result.exit_code == 0, result.output
    told = next(line for line in result.output.splitlines() if line.startswith("not claimed"))
    assert [part.split(" (")[0] for part in told.split(": ")[1].split(", ")] == [
        "eviction",
        "open_phase",
        "plan_extend",
    ]


def test_report_says_it_obligation_by_obligation(
    quick: Path, run: Run, importable: str, tmp_path: Path
) -> None:
    file = quick / "split-RoundRobinPages.jsonl"
    assert run("check", file, "--allocator", importable, "--report", tmp_path).exit_code == 1
    report = load_report(tmp_path / "report.json")
    rows = {row.id: row for row in report.obligations}
    assert report.verdict == "violates"
    failed = rows["RFC-0001:C-FLATTENED-ORDER/3"]
    assert failed.status == "failed"
    assert '"op":"alloc_extend"' in failed.tests[0].message
    assert rows["RFC-0001:C-CONSERVATION/1"].status == "passed"
    assert rows["RFC-0001:C-LANE-EVICTION/3"].status == "not run"
    assert (tmp_path / "report.html").is_file()


def test_history_of_a_failure_replays(tmp_path: Path, run: Run, importable: str) -> None:
    history = History(
        LaneLayout(num_lanes=2, page_size=4, pages_per_lane=5),
        steps=(
            Free(()),
            AllocExtend((ExtendRequest(Index(0), 8, RoundRobinPages(), phase=Index(1)),)),  # type: ignore[arg-type]
        ),
    )
    saved = tmp_path / "failure.jsonl"
    write_file(saved, [record(history, "failure/0", "a failure that was found elsewhere")])
    assert run("check", saved, "--allocator", importable).exit_code == 1
    oracle = run("check", saved, "--allocator", "ownerlanes.reference:ReferenceAllocator")
    assert oracle.exit_code == 0, oracle.output


def _damaged(quick: Path, folder: Path, old: str, new: str) -> Path:
    file = folder / "capacity.jsonl"
    text = (quick / "capacity.jsonl").read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return file


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"digest":"', '"digest":"0', "digest is 0"),
        ('"taken":[],"rel', '"taken":[0],"rel', "KeyError"),
        ('[],"available":[', '[],"available":[7,', "available is [7,"),
        ('"op":"alloc_extend"', '"op":"alloc"', "expected one of alloc_extend"),
        ('"about"', '"abuot"', "KeyError: 'about'"),
        ("{", "", "not JSON"),
    ],
)
def test_damaged_vector_could_not_run(
    quick: Path, tmp_path: Path, run: Run, old: str, new: str, told: str
) -> None:
    file = _damaged(quick, tmp_path, old, new)
    result = run("check", file, "--allocator", "ownerlanes.reference:ReferenceAllocator")
    assert result.exit_code == 2, result.output
    assert "could not run" in result.output
    assert told in result.output


def test_damaged_set_could_not_run(quick: Path, tmp_path: Path, run: Run) -> None:
    for path in quick.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    oracle = ("--allocator", "ownerlanes.reference:ReferenceAllocator")
    (tmp_path / "wide.jsonl").write_bytes((quick / "wide.jsonl").read_bytes() + b"{}\n")
    assert "its SHA-256 is not the manifest's" in run("check", tmp_path, *oracle).output
    (tmp_path / "wide.jsonl").unlink()
    result = run("check", tmp_path, *oracle)
    assert result.exit_code == 2
    assert "the manifest lists it and it is not there" in result.output
    (tmp_path / "manifest.json").write_text('{"format": "ownerlanes-vectors", "version": 2}')
    assert "expected version 1" in run("check", tmp_path, *oracle).output
    assert run("check", tmp_path / "nowhere", *oracle).exit_code == 2


def test_neither_or_both_ways_to_the_allocator_could_not_run(quick: Path, run: Run) -> None:
    assert run("check", quick).exit_code == 2
    assert run("check", quick, "--allocator", "a:b", "--command", "c").exit_code == 2
    missing = run("check", quick, "--allocator", "ownerlanes.reference:Nothing")
    assert missing.exit_code == 2
    assert "could not run" in missing.output
