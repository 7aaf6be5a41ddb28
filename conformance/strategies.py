"""Hypothesis strategies for everything a history is made of.

All of them give plain data that is valid in every state: there is no rejection, no filter and no
draw that depends on an allocator, so examples are cheap and shrink towards one short request on
two lanes of small pages. Sizes are small on purpose; the few large ones have names of their own.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from ownerlanes.conformance import tables
from ownerlanes.conformance.intents import (
    ClearIntent,
    EvictIntent,
    ExtendIntent,
    Intent,
    PagesIntent,
    ReleaseIntent,
    RequestIntent,
    SplitIntent,
)
from ownerlanes.reference.contract import LaneLayout


@st.composite
def layouts(
    draw: DrawFn, least_pages: int | None = None, most_pages: int | None = None
) -> LaneLayout:
    """Layouts with a capacity of 0 to 16 pages a lane, or in the bounds that are given."""
    reserved = draw(st.sampled_from(tables.RESERVED))
    low = 0 if least_pages is None else least_pages
    high = max(16, low) if most_pages is None else most_pages
    usual = [capacity for capacity in tables.CAPACITIES if low <= capacity <= high]
    return LaneLayout(
        draw(st.sampled_from(tables.NUM_LANES)),
        draw(st.sampled_from(tables.PAGE_SIZES)),
        draw(st.sampled_from(usual) if usual else st.integers(low, high)) + reserved,
        draw(st.sampled_from(("interleaved", "blocked"))),
        reserved,
    )


@st.composite
def splits(draw: DrawFn) -> SplitIntent:
    """All six splits, exact fits of every lane and one page too many among them."""
    split = draw(st.sampled_from(tables.SPLITS))
    if split.kind != "ExplicitOwners":
        return split
    owners = draw(st.lists(st.integers(0, 7), min_size=1, max_size=6))
    return SplitIntent(split.kind, owners=tuple(owners), fit=split.fit)


PHASES: SearchStrategy[int | None] = st.sampled_from((0, None, 1, None, 2, None, 3, 5, 7))
FIXED_PHASES: SearchStrategy[int | None] = st.integers(0, 7)
_SOURCES: tuple[tuple[Any, bool], ...] = (
    *[("new", True)] * 6,
    *[("chunk", True)] * 5,
    *[("cached", True)] * 2,
    ("chunk", False),
)


@st.composite
def requests(
    draw: DrawFn, *, faults: bool = True, phases: SearchStrategy[int | None] = PHASES
) -> RequestIntent:
    """One request; `faults` makes one in twenty-five malformed."""
    source, follows = draw(st.sampled_from(_SOURCES))
    which = draw(st.integers(0, 5)) if source == "chunk" else 0
    fault = None
    if faults and draw(st.integers(0, 24)) == 24:
        fault = draw(st.sampled_from(tables.MALFORMED))
    return RequestIntent(
        source,
        which,
        follows,
        draw(st.integers(0, 9)) if source == "cached" else 0,
        draw(st.sampled_from(tables.LENGTHS)),
        draw(splits()),
        draw(phases),
        fault=fault,
    )


def batches(
    *,
    faults: bool = True,
    least: int = 0,
    most: int = 4,
    phases: SearchStrategy[int | None] = PHASES,
) -> SearchStrategy[tuple[RequestIntent, ...]]:
    """Requests of one call, possibly none."""
    one = requests(faults=faults, phases=phases)
    return st.lists(one, min_size=least, max_size=most).map(tuple)


def large_batches() -> SearchStrategy[tuple[RequestIntent, ...]]:
    """Some dozen requests, for layouts with room."""
    return batches(faults=False, least=12, most=32)


def good_evictors() -> SearchStrategy[EvictIntent]:
    """Evictors that keep their contract, whether they help or not."""
    return st.sampled_from(tables.GOOD_EVICTORS)


def bad_evictors() -> SearchStrategy[EvictIntent]:
    """Evictors that give up what they must not, answer nonsense, raise or call back."""
    return st.sampled_from(tables.BAD_EVICTORS)


def evictors(*, faults: bool = True) -> SearchStrategy[EvictIntent | None]:
    """What the evictor of one step does; None gives nothing."""
    return st.sampled_from(tables.EVICTORS if faults else (None, *tables.GOOD_EVICTORS))


_WAYS: list[tuple[Any, int, Any]] = [
    (by, times, carried)
    for times in (1, 1, 2)
    for carried in ("sequence", "own")
    for by in ("pages", "slots")
]
_NAMED_FAULTS: tuple[Any, ...] = ("free", "reserved", "beyond", "negative")


@st.composite
def releases(draw: DrawFn, *, faults: bool = True) -> ReleaseIntent:
    """Releases by slots or pages, whole or in part; `faults` makes one in three invalid."""
    by, times, carried = draw(st.sampled_from(_WAYS))
    first, count = 0, draw(st.integers(-3, 9))
    if count > 0:
        first = draw(st.integers(0, 40))
    fault: Any = None
    malformed: Any = None
    place = 0
    chance = draw(st.integers(0, 14)) if faults else 0
    if chance >= 11:
        fault, place = draw(st.sampled_from(_NAMED_FAULTS)), draw(st.integers(0, 9))
    elif chance == 10:
        malformed = draw(st.sampled_from(tables.MALFORMED_IDS))
    which = draw(st.integers(0, 5))
    return ReleaseIntent(which, first, max(0, count), by, times, carried, fault, place, malformed)


@st.composite
def page_calls(draw: DrawFn, *, faults: bool = True) -> PagesIntent:
    """alloc_pages, exact fits and owners that are no lanes among them."""
    fit = draw(st.sampled_from((0,) * 7 + (1, 2, 3)))
    owners = draw(st.lists(st.integers(0, 7), max_size=1 if fit else 8))
    evictor = draw(evictors(faults=faults))
    malformed: Any = None
    if faults and draw(st.integers(0, 9)) == 9:
        malformed = draw(st.sampled_from(tables.MALFORMED_OWNERS))
    return PagesIntent(tuple(owners), fit, evictor, malformed)


_MODES = ((False, False),) * 4 + ((True, False),) * 2 + ((False, True),) * 2


@st.composite
def extends(draw: DrawFn, *, faults: bool = True) -> ExtendIntent:
    """A batch to allocate, or to plan only; one in four on a pool that is taken up."""
    only_plan, pressed = draw(st.sampled_from(_MODES))
    least = draw(st.sampled_from((1,) * 9 + (0,)))
    batch = draw(batches(faults=faults, least=least, most=2 if pressed else 4))
    return ExtendIntent(batch, draw(evictors(faults=faults)), only_plan, pressed)


_KINDS = ("extend",) * 8 + ("release",) * 6 + ("pages",) * 3 + ("clear",)


@st.composite
def intents(draw: DrawFn, *, faults: bool = True) -> Intent:
    """One call of any kind."""
    kind = draw(st.sampled_from(_KINDS))
    if kind == "extend":
        return draw(extends(faults=faults))
    if kind == "release":
        return draw(releases(faults=faults))
    return draw(page_calls(faults=faults)) if kind == "pages" else ClearIntent()


@st.composite
def histories(
    draw: DrawFn, *, faults: bool = True, most: int = 12
) -> tuple[LaneLayout, bool, list[Intent]]:
    """A layout, whether there is an evictor, and calls: long ones as a rule."""
    layout, evictor = draw(layouts()), draw(st.booleans())
    least = draw(st.sampled_from((0, 1, 1, 1))) * most // 2
    calls = draw(st.lists(intents(faults=faults), min_size=least, max_size=most))
    return layout, evictor, calls
