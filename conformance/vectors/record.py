"""A history played on the oracle and written down: one vector.

A vector holds the calls, what each must answer, and what it does to the free pages. Recording
decides nothing: any history will do, one that a check failed on as well as a generated one.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from ownerlanes.conformance.evictors import ScriptedEvictor
from ownerlanes.conformance.operations import History, Index, Step, layout_to_json, step_to_json
from ownerlanes.conformance.player import Outcome, Player
from ownerlanes.conformance.vectors.codec import calls_to_json, error_to_json, result_to_json
from ownerlanes.conformance.vectors.evidence import needs_of, start_evidence, step_evidence
from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.contract import LaneLayout, PoolSnapshot
from ownerlanes.reference.pool import digest, free_counts

Vector = dict[str, Any]


def record(history: History, name: str, about: str) -> Vector:
    """The vector of a history.

    Args:
        history: what is done.
        name: id of the vector, unique in its file.
        about: one line on what it is for.
    """
    evictor = ScriptedEvictor(history.layout) if history.evictor else None
    player = Player(ReferenceAllocator(history.layout, evictor), evictor)
    shown, needed = start_evidence(), {"eviction"} if history.evictor else set()
    steps = []
    for given in history.steps:
        step = plain(given)
        before = player.allocator.snapshot()
        outcome = player.play(step)
        needs = sorted(set(needs_of(step, outcome.error, history.layout)))
        expect = _expectation(step, outcome, evictor, before, player.allocator.snapshot())
        steps.append({**step_to_json(step), "needs": needs, "expect": expect})
        shown |= step_evidence(step, outcome, history.layout, has_evictor=history.evictor)
        needed |= set(needs)
    return {
        "id": name,
        "about": about,
        "clauses": sorted(shown, key=_in_order),
        "needs": sorted(needed),
        "layout": layout_to_json(history.layout),
        "evictor": history.evictor,
        "steps": steps,
    }


def plain(value: Any) -> Any:
    """The same with plain integers: what carries an integer is a matter of one language."""
    if isinstance(value, Index):
        return value.value
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if not is_dataclass(value) or isinstance(value, (type, LaneLayout)):
        return value
    changed = {
        field.name: plain(getattr(value, field.name)) for field in fields(value) if field.init
    }
    return replace(value, **changed)


def _expectation(
    step: Step,
    outcome: Outcome,
    evictor: ScriptedEvictor | None,
    before: PoolSnapshot,
    after: PoolSnapshot,
) -> dict[str, Any]:
    expect: dict[str, Any] = (
        {"result": result_to_json(step, outcome.result)}
        if outcome.error is None
        else {"error": error_to_json(outcome.error)}
    )
    if evictor is not None and evictor.calls:
        expect["evictor"] = calls_to_json(evictor.calls)
    was_free, is_free = free_pages(before), free_pages(after)
    return {
        **expect,
        "taken": sorted(was_free - is_free),
        "released": sorted(is_free - was_free),
        "available": list(free_counts(after)),
        "digest": digest(after),
    }


def free_pages(pool: PoolSnapshot) -> set[int]:
    """The ids of the pages that are free."""
    layout = pool.layout
    return {layout.page(lane, local) for lane, pages in enumerate(pool.free) for local in pages}


def _in_order(cited: str) -> tuple[str, int]:
    clause, _, number = cited.partition("/")
    return clause, int(number)
