"""Engines behind a pipe: the whole contract over lines, wrong answers, and no answers."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from ownerlanes.conformance.clauses import clause

Run = Callable[..., Result]
EngineOf = Callable[..., str]


@clause("RFC-0001:C-REPLICA-DETERMINISM/4")
def test_oracle_behind_the_pipe_holds(quick: Path, run: Run, engine: EngineOf) -> None:
    result = run("check", quick, "--command", engine())
    assert result.exit_code == 0, result.output
    assert "left out: nothing" in result.output


@pytest.mark.parametrize(
    ("fault", "file", "cited", "told"),
    [
        ("wrong_lane", "chunk", "C-FLATTENED-ORDER/3", "out_cache_loc"),
        ("wrong_deficit", "capacity", "C-CAPACITY-AND-EVICTION/3", "CapacityWaitError.deficit[0]"),
        ("wrong_wait", "capacity", "C-INFEASIBLE-DEMAND/3", "CapacityWaitError.can_wait"),
        ("no_deficit", "capacity", "C-CAPACITY-AND-EVICTION/3", "deficit"),
        ("own_error", "capacity", "C-CAPACITY-AND-EVICTION/2", "OutOfMemory: no pages"),
        ("silent_evictor", "eviction", "C-LANE-EVICTION/3", "calls of evict(deficit)"),
    ],
)
def test_wrong_answer_violates(
    quick: Path, run: Run, engine: EngineOf, fault: str, file: str, cited: str, told: str
) -> None:
    result = run("check", quick / f"{file}.jsonl", "--command", engine(fault))
    assert result.exit_code == 1, result.output
    assert f"RFC-0001:{cited}: " in result.output
    assert told in result.output


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("exits", "closed its output (it exited with status 7)"),
        ("crashes", "RuntimeError: the engine's own bug"),
        ("hangs", "gave no answer within 1.5 s (it is still running)"),
        ("garbage", "wrote what is not JSON: b'allocating...'"),
        ("no object", "wrote JSON that is no object"),
        ("no result", "expected `result` or `error` in the answer to snapshot"),
        ("two lines", "wrote more than one line for one question"),
    ],
)
def test_no_answer_could_not_run(
    quick: Path, run: Run, engine: EngineOf, fault: str, told: str
) -> None:
    patience = 1.5 if fault == "hangs" else 20
    arguments = ("check", quick / "batch.jsonl", "--command", engine(fault))
    result = run(*arguments, "--timeout", patience)
    assert result.exit_code == 2, result.output
    assert "could not run: in vector batch/0: " in result.output
    assert told in result.output


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("./there-is-no-such-engine", "does not start"),
        ("", "does not start"),
        ("cat", "expected an answer to hello"),
    ],
)
def test_no_engine_could_not_run(quick: Path, run: Run, command: str, told: str) -> None:
    result = run("check", quick, "--command", command)
    assert result.exit_code == 2, result.output
    assert told in result.output


def test_dialogue_of_the_documentation_is_true(engine: EngineOf) -> None:
    """Line by line, but for what another engine says of itself."""
    text = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")
    dialogue = text.partition("A dialogue,")[2].split("```")[1].strip().splitlines()
    questions = [line.removeprefix("> ") for line in dialogue if line.startswith("> ")]
    answers = [json.loads(line) for line in dialogue if not line.startswith("> ")]
    told = subprocess.run(
        shlex.split(engine()),
        input="\n".join(questions) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    given = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(given) == len(questions) == len(answers) >= 4
    assert given[1:] == answers[1:]
    assert answers[0]["result"].keys() == given[0]["result"].keys()


EXAMPLE = Path(__file__).parents[2] / "examples" / "cpp" / "engine.cpp"


def _compiled(folder: Path, *flags: str) -> str:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine: the C++ example is not compiled")
    program = folder / "engine"
    strict = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run([compiler, *strict, *flags, "-o", str(program), str(EXAMPLE)], check=True)
    return str(program)


def test_cpp_example_conforms_as_far_as_it_claims(quick: Path, run: Run, tmp_path: Path) -> None:
    result = run("check", quick, "--command", _compiled(tmp_path))
    assert result.exit_code == 0, result.output
    assert "eviction (" in result.output
    assert "1, 4, 8, 9" in result.output


@clause("RFC-0001:C-PAGE-OWNERSHIP/1")
def test_cpp_example_with_a_bug_violates(quick: Path, run: Run, tmp_path: Path) -> None:
    result = run("check", quick, "--command", _compiled(tmp_path, "-DBUG"))
    assert result.exit_code == 1, result.output
    assert "RFC-0001:C-FLATTENED-ORDER/3: lane_of_slot(out_cache_loc)" in result.output
    prefix = [json.loads(line) for line in result.output.splitlines() if line.startswith("{")]
    assert any(
        request["split"]["kind"] == "ZigzagPages"
        for line in prefix
        for request in line.get("requests", ())
    )
