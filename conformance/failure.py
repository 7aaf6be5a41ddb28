"""A violation told so that a stranger can act on it.

Clause and sentence, the first differing field, the shortest history as a script, and the lanes as
they were before the call. Nothing here runs the candidate: only the oracle is played again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.evictors import ScriptedEvictor
from ownerlanes.conformance.operations import NAMES, History
from ownerlanes.conformance.player import Player
from ownerlanes.conformance.script import script
from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.contract import PoolSnapshot
from ownerlanes.rfcs.obligations import Rfc, RfcError

MOST_PAGES_DRAWN = 64


def failure_text(difference: Difference, factory: str, rfc: Rfc) -> str:
    """The whole message.

    Args:
        difference: what was found, with its history.
        factory: the candidate's, "pkg.module:make".
        rfc: where sentences come from.
    """
    lines = [*_clause(difference.clause, rfc), "", *_values(difference)]
    history: History | None = difference.history
    if history is None:
        return "\n".join(lines)
    lines += ["", "The shortest history that shows it:", ""]
    lines += [f"    {line}" for line in script(history, factory).splitlines()]
    if history.steps:
        lines += ["", f"Lanes before the last call, {NAMES[type(history.steps[-1])]}:"]
        lines += [f"    {line}" for line in drawing(pool_before(history))]
    return "\n".join(lines)


def _clause(cited: str, rfc: Rfc) -> Iterator[str]:
    try:
        found = rfc.find(cited)
    except RfcError:
        yield cited
        return
    sentence = getattr(found, "sentence", None) or getattr(found, "title", "")
    yield f"{cited} is violated:"
    yield f"    {sentence}"


def _values(difference: Difference) -> Iterator[str]:
    yield f"First difference: {difference.field}"
    yield from str(difference).splitlines()[1:]


def pool_before(history: History) -> PoolSnapshot:
    """The oracle's state before the last step."""
    evictor = ScriptedEvictor(history.layout) if history.evictor else None
    player = Player(ReferenceAllocator(history.layout, evictor), evictor)
    for step in history.steps[:-1]:
        player.play(step)
    pool: PoolSnapshot = player.allocator.snapshot()
    return pool


def drawing(pool: PoolSnapshot) -> Iterator[str]:
    """A line for each lane, a mark for each local page."""
    layout = pool.layout
    shown = min(layout.pages_per_lane, MOST_PAGES_DRAWN)
    for lane, free in enumerate(map(set, pool.free)):
        marks = "".join(
            "r" if local < layout.reserved_pages else "." if local in free else "#"
            for local in range(shown)
        )
        more = f" and {layout.pages_per_lane - shown} more" if layout.pages_per_lane > shown else ""
        yield f"lane {lane}  {marks}{more}  {len(free)} free"
    yield "(. free, # allocated, r reserved)"
