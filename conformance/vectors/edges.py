"""Histories written by hand: edges of the contract that a mixture seldom meets.

They do not depend on the seed and are the same in sets of any size. Nothing here says what the
right answers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ownerlanes.conformance.evictors import CALLABLE_BACK
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    EvictorScript,
    FreePages,
    History,
    PlanExtend,
)
from ownerlanes.reference.contract import (
    MAX_SEQ_LEN,
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)

SMALL = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=5)
LARGEST = 2**31 - 1
LARGE_SPLITS: tuple[Split, ...] = (
    ZigzagPages(LARGEST),
    ZigzagTokens(LARGEST),
    ContiguousPages(LARGEST),
    RoundRobinPages(LARGEST),
    RoundRobinTokens(LARGEST),
)


def edges() -> Iterator[tuple[str, History]]:
    """What each one is about, and the history."""
    yield "a layout without capacity", _without_capacity()
    yield "last slots: wrong offset, free, reserved, beyond, none, another lane's", _tails()
    yield "two requests that fill the same page", _same_tail()
    yield "largest pads and runs, and the last positions there are", _large_numbers()
    yield "explicit owners: too many, too few, none, no lanes", _explicit_owners()
    yield "no integers in place of integers", _no_integers()
    yield "an evictor that gives up several wrong pages", _wrong_pages()
    yield "an evictor that counts too few lanes, too many, or below zero", _wrong_counts()
    for method in CALLABLE_BACK:
        yield f"an evictor that calls {method} back", _calls_back(method)


def _extend(*requests: Any) -> AllocExtend:
    return AllocExtend(requests)


def _without_capacity() -> History:
    page = ExtendRequest(0, 1, RoundRobinPages(), None, None)
    return History(
        LaneLayout(num_lanes=2, page_size=4, pages_per_lane=1),
        steps=(_extend(), _extend(page), PlanExtend((page,)), AllocPages((1,)), Clear()),
    )


def _tails() -> History:
    first = ExtendRequest(0, 6, RoundRobinPages())  # its last token lies in slot 13, page 3
    slots = (12, 17, 5, 41, -3, None, 9, 13)
    more = (_extend(ExtendRequest(6, 9, RoundRobinPages(), slot)) for slot in slots)
    return History(SMALL, steps=(_extend(first), *more))


def _same_tail() -> History:
    first = ExtendRequest(0, 6, RoundRobinPages())
    chunk = ExtendRequest(6, 7, RoundRobinPages(), 13)
    empty = ExtendRequest(6, 6, RoundRobinPages(), 13)
    both = _extend(chunk, empty, chunk)
    return History(SMALL, steps=(_extend(first), both, _extend(empty, chunk)))


def _large_numbers() -> History:
    whole = (_extend(ExtendRequest(0, 8, split, None, 1)) for split in LARGE_SPLITS)
    last = ExtendRequest(MAX_SEQ_LEN - 8, MAX_SEQ_LEN, RoundRobinPages())
    beyond = ExtendRequest(MAX_SEQ_LEN - 8, MAX_SEQ_LEN + 1, RoundRobinPages())
    layout = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=9)
    return History(layout, steps=(*whole, Clear(), _extend(last), _extend(beyond)))


def _explicit_owners() -> History:
    given = ((), (0,), (0, 1, 0), (0, 2), (-1, 0), (1, 1))
    wanted = (ExtendRequest(0, 8, ExplicitOwners(owners)) for owners in given)
    rotated = ExtendRequest(0, 4, ExplicitOwners((0,)), None, 1)
    left_open = ExtendRequest(0, 4, ExplicitOwners((0,)), None, None)
    return History(SMALL, steps=tuple(map(_extend, (*wanted, rotated, left_open))))


def _no_integers() -> History:
    split = RoundRobinPages()
    given: tuple[Any, ...] = (True, False, 1.0, "1", None)
    wrong = (
        *(ExtendRequest(0, number, split) for number in given),
        *(ExtendRequest(number, 4, split) for number in given),
        *(ExtendRequest(0, 4, split, None, number) for number in given[:4]),
    )
    return History(SMALL, steps=(*map(_extend, wrong), AllocPages((True,)), FreePages((False,))))


def _wrong_pages() -> History:
    full = AllocPages((0, 0, 0, 0, 1, 1, 1, 1))
    answers = ((2, 2), (2, 0, 1), (2, 3, 10, -1), (2, 4, 2, 4, 6), (2, 1, 40))
    scripts = (EvictorScript((4, 4), gives=pages) for pages in answers)
    twice = EvictorScript((4, 4), gives=(2, 2), through="free_pages")
    tail = ExtendRequest(2, 12, RoundRobinPages(), 9)  # page 2 is being filled
    return History(
        SMALL,
        evictor=True,
        steps=(
            full,
            *(AllocPages((0,), script) for script in scripts),
            AllocPages((0,), twice),
            AllocExtend((tail,), EvictorScript((4, 4), gives=(2, 3))),
            AllocExtend((tail,), EvictorScript((4, 4), gives=(5, 4))),
        ),
    )


def _wrong_counts() -> History:
    counts = ((4,), (), (4, 4, 4), (4, -1), (0, 4))
    short = (AllocPages((0,), EvictorScript(by_lane, gives=(2,))) for by_lane in counts)
    return History(SMALL, evictor=True, steps=(AllocPages((0, 0, 0, 0, 1)), *short))


def _calls_back(method: str) -> History:
    steps: list[AllocPages] = []
    for during in ("evict", "evictable_pages"):
        for catches in (True, False):
            script = EvictorScript(
                (4, 4),
                gives=(2 + 2 * len(steps),),
                calls=method,
                during=during,
                catches=catches,
            )
            steps.append(AllocPages((0,), script))
    return History(SMALL, evictor=True, steps=(AllocPages((0,) * 4), *steps))
