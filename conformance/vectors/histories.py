"""Histories of a theme: intents drawn from a stream, turned into steps by the suite's director.

A history is a function of the theme, the seed and its index, and of nothing else. Nothing here
knows what the right answers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.director import Director, fit_layout
from ownerlanes.conformance.evictors import CALLABLE_BACK
from ownerlanes.conformance.intents import (
    ClearIntent,
    EvictIntent,
    ExtendIntent,
    Intent,
    Length,
    Malformed,
    PagesIntent,
    ReleaseIntent,
    RequestIntent,
    SplitIntent,
)
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, History, PlanExtend, Step
from ownerlanes.conformance.protocol import Candidate, Capabilities
from ownerlanes.conformance.vectors.stream import Stream
from ownerlanes.conformance.vectors.themes import STRIDE, Mixture, Theme
from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.contract import LaneLayout

FAULTS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("", ("not a request", 7, None)),
    ("prefix_len", (-1, 2**62, 1.5, None, False, "0")),
    ("seq_len", (-1, 2**62 + 1, None, "8")),
    ("split", (None, "ZigzagPages", 3)),
    ("last_slot", (-1, 0, 2**62, None, "0", *range(1, 60))),
    ("phase", (-1, 2**31, "0", 0.0, False, True)),
    ("owners", ((-1,), (0,) * 9, (), (0,), (0, 0), (0, 1), (0, 0, 1))),
)
MALFORMED_LISTS: tuple[Any, ...] = ("slots", 7, (1.5,), (None,), ("0",))
NO_BATCHES: tuple[Step, ...] = (AllocExtend(7), AllocExtend(None), PlanExtend(7), PlanExtend(False))
EVERYTHING = Capabilities()

EMPTY = 8
"""Percentage of batches without requests, and of requests without tokens."""

TAKING = ("extend", "pages")
"""The kinds of steps that make sense while nothing is allocated."""

FILL = ExtendIntent((RequestIntent(length=Length("free")),))
"""Takes every page: in turn over the lanes, which have the same capacity."""


def histories(
    theme: Theme, seed: int, rounds: int, claims: Capabilities = EVERYTHING
) -> Iterator[History]:
    """`rounds` times its weight histories of a theme, over its layouts in turn.

    Args:
        theme: the mixture.
        seed: names the choices.
        rounds: how many there are, for a weight of 1.
        claims: nothing is asked that these do not claim; none, where the theme is all that.
    """
    theme = replace(theme, kinds=_claimed(theme.kinds, claims))
    if not set(theme.kinds) & set(TAKING):
        return
    for index in range(rounds * theme.weight):
        stream = Stream(f"{seed}/{theme.name}/{index}")
        layout = theme.layouts[index * STRIDE % len(theme.layouts)]
        yield _history(theme, fit_layout(layout, claims), stream, claims)


def _claimed(kinds: Mixture, claims: Capabilities) -> Mixture:
    methods = {"pages": claims.alloc_pages, "plan": claims.plan_extend, "clear": claims.clear}
    return tuple(kind for kind in kinds if methods.get(kind, True))


def _history(theme: Theme, layout: LaneLayout, stream: Stream, claims: Capabilities) -> History:
    oracle = Candidate("the oracle", ReferenceAllocator, claims)
    evictor = bool(theme.evictor) and claims.eviction
    director = Director(Lockstep(oracle, layout, evictor=evictor))
    if theme.filled:
        director.play(FILL)
    if claims.argument_checks and stream.chance(theme.faults // 3):
        director.step(stream.pick(NO_BATCHES))
    while len(director.lockstep.steps) < theme.steps:
        kinds = [kind for kind in theme.kinds if director.live or kind in TAKING]
        director.play(_intent(theme, stream, stream.pick(kinds)))
    return director.lockstep.history


def _intent(theme: Theme, stream: Stream, kind: str) -> Intent:
    wrong = stream.chance(theme.faults)
    match kind:
        case "pages":
            owners = tuple(stream.below(64) for _ in range(stream.between(1, 6)))
            return PagesIntent(
                owners,
                fit=stream.between(1, 2) if stream.chance(theme.full) else 0,
                evictor=_evict(theme, stream),
                malformed=stream.pick((7, (-1,), (99,), (0, 1.5), "0")) if wrong else None,
            )
        case "release":
            return _release(stream, wrong)
        case "clear":
            return ClearIntent()
        case _:
            count = 0 if stream.chance(EMPTY) else stream.between(1, theme.requests)
            requests = tuple(_request(theme, stream) for _ in range(count))
            return ExtendIntent(requests, _evict(theme, stream), only_plan=kind == "plan")


def _release(stream: Stream, wrong: bool) -> ReleaseIntent:
    malformed = wrong and stream.chance(50)
    return ReleaseIntent(
        which=stream.below(8),
        first=stream.below(16),
        count=stream.pick((0, 0, 1, 3)),
        by=stream.pick(("slots", "pages")),
        times=stream.pick((1, 1, 2)),
        fault=stream.pick(("free", "reserved", "beyond", "negative")) if wrong else None,
        place=stream.below(4),
        malformed=stream.pick(MALFORMED_LISTS) if malformed else None,
    )


def _request(theme: Theme, stream: Stream) -> RequestIntent:
    kind = stream.pick(theme.splits)
    uneven = stream.chance(theme.uneven)
    length = stream.pick(theme.lengths)
    if stream.chance(EMPTY):
        length = Length("token", 0)
    elif length.unit != "token" and stream.chance(40):
        length = Length(length.unit, length.count, stream.between(-3, 3))
    whole = stream.chance(theme.full)
    if whole:
        length = Length("free", 1, stream.pick((0, 0, 1, -1)))
    fault = None
    if stream.chance(theme.faults):
        name, values = stream.pick(FAULTS)
        fault = Malformed(name, stream.pick(values))  # type: ignore[arg-type]
    return RequestIntent(
        source=stream.pick(theme.sources),  # type: ignore[arg-type]
        which=stream.below(8),
        follows=not stream.chance(theme.strays),
        prefix_pages=stream.between(1, 9),
        length=length,
        split=SplitIntent(
            kind,
            number=stream.below(6) if uneven else stream.pick(theme.numbers),
            in_pages=kind.endswith("Tokens") and not uneven,
            owners=tuple(stream.below(8) for _ in range(stream.between(1, 5))),
            fit=stream.between(1, 2) if whole else 0,
        ),
        phase=_phase(theme, stream),
        fault=fault,
    )


def _phase(theme: Theme, stream: Stream) -> int | None:
    if theme.phases == "both" and stream.chance(60):
        return None
    return stream.pick((0, stream.below(8)))


def _evict(theme: Theme, stream: Stream) -> EvictIntent | None:
    if not theme.evictor or stream.chance(5):
        return None
    kind = stream.pick(theme.evictor)
    bad: Any = None
    calls_back, raises = kind == "calls", kind == "raises"
    if kind == "bad page":
        bad = stream.pick(("free", "reserved", "beyond", "repeated", "filling", "negative"))
    elif kind == "malformed count":
        bad = stream.pick((7, None, (1,), (-1,) * 8, "00", (1.5, 1.5)))
    elif kind == "malformed answer":
        bad = stream.pick((7, "page", (None,), (1.5,)))
    if calls_back or raises:
        kind = "helps"
    return EvictIntent(
        kind=kind,  # type: ignore[arg-type]
        order=stream.below(4),
        through=stream.pick(("return", "free", "free_pages")),
        raises=raises,
        calls=stream.pick(tuple(CALLABLE_BACK)) if calls_back else None,
        during=stream.pick(("evict", "evictable_pages")) if calls_back else "evict",
        catches=calls_back and stream.chance(50),
        bad=bad,
    )
