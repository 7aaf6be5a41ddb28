"""Turns an EvictIntent into the script of one step: which pages an evictor gives up, and how.

What to give up depends on the deficit, which the oracle's dry run tells beforehand. Nothing here
plays the step.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, SupportsIndex

from ownerlanes.conformance.intents import EvictIntent
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, AllocPages, EvictorScript
from ownerlanes.reference.contract import ExtendRequest, LaneLayout, OwnerLaneError, PoolSnapshot

Counts = tuple[int, ...]


def evictor_script(
    intent: EvictIntent | None, step: AllocExtend | AllocPages, lockstep: Lockstep
) -> EvictorScript | None:
    """The script for a step about to be played; None where there is no evictor or no intent."""
    if intent is None or lockstep.oracle.evictor is None:
        return None
    layout = lockstep.layout
    filling = tail_pages(step, layout)
    allocated = allocated_pages(lockstep.pool)
    victims = [_rotated(set(lane) - filling, intent.order) for lane in allocated]
    evictable: Any = tuple(len(lane) for lane in victims)
    script = EvictorScript(
        evictable=evictable,
        through=intent.through,
        raises="the evictor's own failure" if intent.raises else None,
        calls=intent.calls,
        during=intent.during,
        catches=intent.catches,
    )
    if intent.kind == "malformed count":
        return replace(script, evictable=intent.bad)
    if intent.kind == "malformed answer":
        return replace(script, gives=intent.bad, through="return")
    deficit = _deficit(step, lockstep, evictable)
    if intent.kind == "refuses":
        return replace(script, evictable=_one_less(deficit))
    if intent.kind == "silent":
        return script
    wanted = {"short": _one_less(deficit), "generous": tuple(pages + 1 for pages in deficit)}
    gives = [
        page
        for lane, count in zip(victims, wanted.get(intent.kind, deficit), strict=True)
        for page in lane[:count]
    ]
    if intent.kind == "bad page":
        gives.insert(
            intent.order % (len(gives) + 1), _bad_page(intent.bad, gives, filling, lockstep)
        )
    return replace(script, gives=tuple(gives))


def tail_pages(step: AllocExtend | AllocPages, layout: LaneLayout) -> set[int]:
    """The pages that the requests of a batch fill up."""
    if isinstance(step, AllocPages) or not isinstance(step.requests, tuple):
        return set()
    return {
        operator.index(request.last_slot) // layout.page_size
        for request in step.requests
        if isinstance(request, ExtendRequest) and isinstance(request.last_slot, SupportsIndex)
    }


def allocated_pages(pool: PoolSnapshot) -> list[list[int]]:
    """The pages of each lane that are allocated, ascending."""
    layout = pool.layout
    return [
        [
            layout.page(lane, local)
            for local in range(layout.reserved_pages, layout.pages_per_lane)
            if local not in free
        ]
        for lane, free in enumerate(map(set, pool.free))
    ]


def _rotated(pages: set[int], by: int) -> list[int]:
    ordered = sorted(pages)
    start = by % len(ordered) if ordered else 0
    return ordered[start:] + ordered[:start]


def _deficit(step: AllocExtend | AllocPages, lockstep: Lockstep, evictable: Any) -> Counts:
    """What the lanes will be short of, by the oracle's dry run; zeros for a batch at fault."""
    layout = lockstep.layout
    free = [len(lane) for lane in lockstep.pool.free]
    if isinstance(step, AllocPages):
        owners = list(step.owners) if isinstance(step.owners, tuple) else []
        return tuple(max(0, owners.count(lane) - free[lane]) for lane in range(layout.num_lanes))
    oracle = lockstep.oracle
    assert oracle.evictor is not None
    oracle.evictor.begin(EvictorScript(evictable=evictable))
    try:
        deficit: Counts = oracle.allocator.plan_extend(step.requests).deficit
    except OwnerLaneError:
        return (0,) * layout.num_lanes
    return deficit


def _one_less(deficit: Sequence[int]) -> Counts:
    """The deficit with one page less on its first short lane."""
    short = next((lane for lane, missing in enumerate(deficit) if missing), None)
    return tuple(missing - (lane == short) for lane, missing in enumerate(deficit))


def _bad_page(kind: str, gives: list[int], filling: set[int], lockstep: Lockstep) -> int:
    layout = lockstep.layout
    free: list[int] = [
        layout.page(lane, pages[0]) for lane, pages in enumerate(lockstep.pool.free) if pages
    ]
    choices: dict[str, list[int]] = {
        "free": free[:1],
        "reserved": [layout.page(0, 0)] if layout.reserved_pages else [],
        "repeated": gives[:1],
        "filling": sorted(filling)[:1],
        "negative": [-1],
    }
    return next(iter(choices.get(kind, [])), layout.num_pages)
