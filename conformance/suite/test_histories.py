"""Whole histories: the state machine, and lists of calls of any kind."""

from __future__ import annotations

from hypothesis import given

from ownerlanes.conformance import session, settings, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import Intent
from ownerlanes.conformance.machine import HistoryMachine
from ownerlanes.reference.contract import LaneLayout


@clause("RFC-0001:C-CONSERVATION/1", "RFC-0001:C-REPLICA-DETERMINISM/1")
@settings.examples(2)
@given(strategies.histories())
def test_any_calls(history: tuple[LaneLayout, bool, list[Intent]]) -> None:
    layout, evictor, intents = history
    session.direct(layout, intents, evictor=evictor)


TestHistoryMachine = clause("RFC-0001:C-CONSERVATION/1", "RFC-0001:C-REPLICA-DETERMINISM/1")(
    HistoryMachine.TestCase
)
TestHistoryMachine.settings = settings.machine_settings()
