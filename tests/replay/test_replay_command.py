"""`ownerlanes replay`: exit codes, what it prints, and that a pipe gets plain text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ownerlanes.conformance.commands.replay import replay

app = typer.Typer()
app.command()(replay)

SMALL = ("--requests", "12", "--page-size", "256", "--pages-per-lane", "130")
REFERENCE = (
    "--allocator",
    "ownerlanes.reference:ReferenceAllocator",
    "--cache",
    "ownerlanes.reference:LanePrefixCache",
)
WRONG_ALLOCATOR = """
from ownerlanes.reference import ReferenceAllocator

class Wrong(ReferenceAllocator):
    def digest(self):
        return "wrong"

class Modest(ReferenceAllocator):
    capabilities = {"open_phase": False}

class Unreadable(ReferenceAllocator):
    def available_pages(self):
        raise RuntimeError("not now")

    def digest(self):
        raise RuntimeError("not now")

def lane_blind(layout):
    return ReferenceAllocator(layout)

number = 3
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def row(output: str, name: str) -> str:
    found = re.search(rf"^{name} +(.*?) *$", output, re.MULTILINE)
    assert found, f"no row {name!r} in\n{output}"
    return found[1]


@pytest.fixture
def candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of candidates in the current directory, which is importable."""
    (tmp_path / "replay_candidates.py").write_text(WRONG_ALLOCATOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_built_in_workload_without_difference() -> None:
    code, output, errors = run(*SMALL, *REFERENCE)
    assert (code, errors) == (0, "")
    assert output.startswith("built-in workload, seed 0: 12 requests")
    assert row(output, "requests").startswith("12 (0 infeasible")
    assert re.fullmatch(r"0 in \d{2,} calls compared", row(output, "differences"))
    assert row(output, "candidate") == "ownerlanes.reference:ReferenceAllocator"


def test_a_pipe_gets_plain_text() -> None:
    _, output, errors = run(*SMALL, *REFERENCE)
    assert all(c.isprintable() or c == "\n" for c in output + errors)


def test_a_trace_without_content_is_placed_whole(tmp_path: Path) -> None:
    trace = tmp_path / "azure"
    trace.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        + "2023-11-16 18:17:03,4808,10\n2023-11-16 18:17:04,31,8\n2023-11-16 18:17:05,0,8\n"
    )
    code, output, _ = run(str(trace), *REFERENCE, "--split", "zigzag-tokens", "--phase", "1")
    assert code == 0
    assert row(output, "tokens placed") == "4,839"
    assert row(output, "hit ratio") == "0.0000"


def test_infeasible_requests_are_counted(tmp_path: Path) -> None:
    trace = tmp_path / "mooncake"
    lengths = [5_000, 700, 1_600]
    trace.write_text(
        "".join(
            json.dumps(
                {
                    "timestamp": 0,
                    "input_length": length,
                    "output_length": 1,
                    "hash_ids": list(range(-(-length // 512))),
                }
            )
            + "\n"
            for length in lengths
        )
    )
    pool = ("--lanes", "2", "--page-size", "64", "--pages-per-lane", "14")
    code, output, _ = run(str(trace), *REFERENCE, *pool)
    assert code == 0
    assert row(output, "requests").startswith("3 (1 infeasible")
    assert row(output, "prompt tokens").startswith("2,300 ")


def test_compare_names_three_pools() -> None:
    code, output, _ = run(*SMALL, "--requests", "40", "--oracle-only", "--compare")
    assert code == 0
    assert row(output, "owner lanes").split()[1]
    assert row(output, "aggregate count")
    assert row(output, r"no lanes \(limit\)").split()[1] == "1.0000"
    assert "differences" not in output


@pytest.mark.usefixtures("candidates")
def test_a_difference_is_exit_code_1() -> None:
    code, output, errors = run(*SMALL, *REFERENCE, "--allocator", "replay_candidates:Wrong")
    assert code == 1
    assert output == ""
    assert "the candidate differs from the oracle" in errors
    assert "digest() differs" in errors
    assert "'wrong'" in errors


@pytest.mark.usefixtures("candidates")
def test_a_candidate_that_cannot_be_read_differs() -> None:
    code, _, errors = run(*SMALL, *REFERENCE, "--allocator", "replay_candidates:Unreadable")
    assert code == 1
    assert "actual   RuntimeError: not now" in errors


@pytest.mark.usefixtures("candidates")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such-file.jsonl"], "No such file or directory"),
        (["replay_candidates.py"], "line 2: expected a JSON object (Mooncake) or the header"),
        (["--page-size", "0"], "page_size: expected 1 <= page_size"),
        (["--pages-per-lane", "0"], "reserved_pages: expected at most pages_per_lane"),
        (["--phase", "first"], "--phase: expected choose, chain or a number, found 'first'"),
        (["--phase", "8"], "phase: expected 0 <= phase < 8"),
        (["--chunk", "5"], "chunk: expected at least one page"),
        (["--allocator", "nowhere"], "expected pkg.module:make"),
        (["--allocator", "nowhere:make"], "No module named 'nowhere'"),
        (["--allocator", "replay_candidates:number"], "expected a factory"),
        (["--allocator", "replay_candidates:Modest"], "does not claim open_phase"),
        (["--allocator", "replay_candidates:lane_blind"], "does not construct: TypeError"),
        (["--pages-per-lane", "1000000000000"], "expected at most 10,000,000 pages"),
        (["--cache", "nowhere:make"], "--cache: expected pkg.module:make"),
        (["--cache", "replay_candidates:number"], "--cache: expected a factory"),
        (["--compare", "--no-prefix-reuse"], "--compare needs prefix reuse"),
    ],
)
def test_what_cannot_run_is_exit_code_2(arguments: list[str], told: str) -> None:
    code, output, errors = run(*SMALL, *REFERENCE, *arguments)
    assert code == 2
    assert output == ""
    assert errors.startswith("ownerlanes replay: could not run: ")
    assert told in errors
    assert "Traceback" not in errors
