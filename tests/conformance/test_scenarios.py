"""Histories drawn from public bug reports, with the right result of every step, on both sides.

The file with them is not part of the repository: where it is missing the test is skipped. Each
one's kind is a test of the suite, which does not need it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.operations import step_from_json
from ownerlanes.conformance.player import Outcome, Player
from ownerlanes.reference import LaneLayout, ReferenceAllocator

SCENARIOS = Path(__file__).parents[3] / "shared" / "scenarios.json"


def triton_allocator(layout: LaneLayout) -> Any:
    from ownerlanes.conformance.device import prepare_triton

    prepare_triton()
    from ownerlanes.gpu import TritonAllocator

    return TritonAllocator(layout)


def told(expect: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """What came of a step, in the terms that are expected."""
    error, given = outcome.error, outcome.result
    found: dict[str, Any] = {}
    for name in expect:
        match name:
            case "error":
                found[name] = type(error).__name__
            case "error_available":
                found[name] = list(error.available)  # type: ignore[union-attr]
            case "pages":
                found[name] = [list(ints(row)) for row in given.pages]
            case "pages_sha256":
                rows = [list(ints(row)) for row in given.pages]
                found[name] = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
            case "num_tokens":
                found[name] = len(given.out_cache_loc)
            case "out_cache_loc" | "phases":
                found[name] = list(ints(getattr(given, name)))
            case "out_cache_loc_sha256":
                line = ",".join(map(str, ints(given.out_cache_loc)))
                found[name] = hashlib.sha256(line.encode()).hexdigest()
            case "available" | "digest":
                pass
            case _:
                value = getattr(error, name)
                found[name] = list(value) if isinstance(value, tuple) else value
    return found


@pytest.mark.skipif(not SCENARIOS.exists(), reason=f"{SCENARIOS} is not here")
@pytest.mark.parametrize("make", [ReferenceAllocator, triton_allocator])
def test_scenarios(make: Any) -> None:
    for scenario in json.loads(SCENARIOS.read_text()):
        player = Player(make(LaneLayout(**scenario["layout"])), None)
        for number, step in enumerate(scenario["steps"]):
            expect = step["expect"]
            outcome = player.play(step_from_json(step))
            assert ("error" in expect) == (outcome.error is not None), (scenario["name"], number)
            found = told(expect, outcome)
            found["available"] = list(ints(player.allocator.available_pages()))
            found["digest"] = player.allocator.digest()
            assert found == expect, (scenario["name"], number)
