"""Histories as data: what is written down is what is read back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.intents import Intent
from ownerlanes.conformance.operations import (
    history_from_json,
    history_to_json,
    step_from_json,
    step_to_json,
)
from ownerlanes.conformance.protocol import candidate_from
from ownerlanes.reference import LaneLayout, ReferenceAllocator


@pytest.fixture(autouse=True, scope="module")
def _reference() -> Iterator[None]:
    before = session.current()
    session.use(candidate_from(ReferenceAllocator, "reference"))
    yield
    session.use(before)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(strategies.histories(most=6))
def test_a_history_survives_json(drawn: tuple[LaneLayout, bool, list[Intent]]) -> None:
    layout, evictor, intents = drawn
    history = session.direct(layout, intents, evictor=evictor).lockstep.history
    text = json.dumps(history_to_json(history))
    assert history_from_json(json.loads(text)) == history


@pytest.mark.parametrize("value", [{}, {"op": "realloc"}, {"op": "free"}])
def test_an_unknown_or_incomplete_step_is_refused(value: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"op|free"):
        step_from_json(value)


def test_the_field_names_are_those_of_the_documents() -> None:
    value = {
        "op": "alloc_extend",
        "requests": [
            {
                "split": {"kind": "ExplicitOwners", "owners": [2, 0, 2]},
                "prefix_len": 0,
                "seq_len": 24,
                "last_slot": None,
                "phase": 0,
            }
        ],
    }
    assert step_to_json(step_from_json(value)) == value
