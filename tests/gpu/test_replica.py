"""ReplicaGuard between processes: who is told, and of whom."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ownerlanes.conformance.clauses import clause

WORKER = Path(__file__).parent / "replica_worker.py"
RANKS = 3


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[list[object]]:
    """What each rank said of each check, by check and then by rank."""
    meeting = tmp_path_factory.mktemp("replica") / "meeting"
    workers = [
        subprocess.Popen(
            [sys.executable, WORKER, str(rank), str(RANKS), str(meeting)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        said = [worker.communicate(timeout=120) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0] * RANKS, said
    return [list(check) for check in zip(*(json.loads(out) for out, _ in said), strict=True)]


@clause("RFC-0001:C-REPLICA-DETERMINISM/7")
def test_equal_states_pass_on_every_rank(outcomes: list[list[object]]) -> None:
    assert outcomes[0] == ["equal"] * RANKS


@clause("RFC-0001:C-REPLICA-DETERMINISM/6")
def test_every_rank_is_told_who_went_astray(outcomes: list[list[object]]) -> None:
    assert outcomes[1] == [[2]] * RANKS


@clause("RFC-0001:C-REPLICA-DETERMINISM/6")
def test_the_lowest_rank_is_the_measure(outcomes: list[list[object]]) -> None:
    assert outcomes[2] == [[1, 2]] * RANKS


@clause("RFC-0001:C-REPLICA-DETERMINISM/6")
def test_a_smaller_group_names_global_ranks(outcomes: list[list[object]]) -> None:
    assert outcomes[3] == ["InvalidArgumentError", [2], [2]]


@clause("RFC-0001:C-REPLICA-DETERMINISM/7")
def test_states_that_meet_again_pass(outcomes: list[list[object]]) -> None:
    assert outcomes[4] == ["equal"] * RANKS


def test_a_rank_without_a_digest_keeps_nobody_waiting(outcomes: list[list[object]]) -> None:
    assert outcomes[5] == [[1], "ArithmeticError", [1]]
