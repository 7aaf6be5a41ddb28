"""The parts that generated calls are put together from, simplest first.

Hypothesis picks from these tables with one draw each, which keeps examples cheap, and shrinks
towards the first entry. How often an entry occurs is its weight. There is no behaviour here.
"""

from __future__ import annotations

from itertools import product as _product
from typing import Any

from ownerlanes.conformance.evictors import CALLABLE_BACK
from ownerlanes.conformance.intents import EvictIntent, Length, Malformed, SplitIntent


def product(*parts: Any) -> Any:
    """itertools.product without its types: literals stay what they are."""
    return _product(*parts)


NUM_LANES = (2, 1, 3, 4, 8, 5)
PAGE_SIZES = (4, 1, 2, 3, 16, 7, 64)
RESERVED = (1, 0, 2, 3)
CAPACITIES = (4, 8, 3, 6, 12, 2, 10, 1, 16, 5, 0)

LENGTHS: tuple[Length, ...] = (
    *(Length("token", count) for count in range(1, 21)),
    *(Length("page", count) for count in (1, 1, 2, 2, 3, 4, 5, 7, 9)),
    *(Length("page", count, near) for near in (-1, 1) for count in (1, 2, 3, 5)),
    *(Length("round", 1, near) for near in (0, 0, 0, -1, 1)),
    *(Length("round", 2), Length("token", 0), Length("token", 40), Length("page", 20)),
    *(Length("free", 1, near) for near in (0, 0, -1, 1)),
    *(Length("pool", 1, near) for near in (0, 1)),
)
"""New tokens: a few tokens, whole pages, whole rounds of a zigzag, the whole pool, or near that."""

BLOCK_SPLITS = ("ZigzagPages", "ZigzagTokens", "ContiguousPages")
RUN_SPLITS = ("RoundRobinPages", "RoundRobinTokens")
SPLITS: tuple[SplitIntent, ...] = (
    *(SplitIntent(kind, run, True) for run in (1, 1, 2, 3, 5) for kind in RUN_SPLITS),
    *(SplitIntent(kind) for kind in ("ZigzagPages", "ContiguousPages") * 4),
    *(SplitIntent(kind, pad) for pad in (1, 2, 5) for kind in ("ZigzagPages", "ContiguousPages")),
    *(SplitIntent("RoundRobinPages", run) for run in (3, 17)),
    *(SplitIntent("ZigzagTokens", pad, True) for pad in (0, 0, 0, 1, 2)),
    *(SplitIntent("ZigzagTokens", pad) for pad in (1, 8)),
    *(SplitIntent("RoundRobinTokens", run) for run in (6, 8, 24, 100)),
    *(SplitIntent("ExplicitOwners", fit=fit) for fit in (0,) * 8 + (1, 2, 3)),
)
"""All six splits, pads and runs of a few tokens or pages; those of ExplicitOwners lack owners."""

_NOT_INTEGERS: tuple[Any, ...] = (None, True, 1.0, "4")
_TOO_LONG = 2**62 + 1
_MALFORMED: dict[Any, tuple[Any, ...]] = {
    "": (None, 7, "request", (0, 4)),
    "prefix_len": (-1, _TOO_LONG, 2**40, *_NOT_INTEGERS),
    "seq_len": (-1, _TOO_LONG, *_NOT_INTEGERS),
    "split": (None, 3, "ZigzagPages"),
    "last_slot": (-1, 0, 2**63, *_NOT_INTEGERS),
    "phase": (-1, 99, True, 1.0, "0"),
    "owners": ((), (0,) * 99, (-1,), (99,)),
}
MALFORMED: tuple[Malformed, ...] = tuple(
    Malformed(field, value) for field, values in _MALFORMED.items() for value in values
)
"""What a field of a request must not be."""

MALFORMED_OWNERS: tuple[Any, ...] = (
    7,
    (-1,),
    (99,),
    (1.5,),
    ("0",),
    (True,),
    ((0,),),
    (None,),
    2.5,
)
"""What alloc_pages must refuse."""

MALFORMED_IDS: tuple[Any, ...] = (7, (1.5,), ("1",), (True,), ((1, 2),), (None,), 1.5, (2**70,))
"""What free and free_pages must refuse whatever is allocated."""

THROUGH: Any = ("return", "free", "free_pages")
GOOD_EVICTORS: tuple[EvictIntent, ...] = tuple(
    EvictIntent(kind, order, through)
    for order, through, kind in product(
        (0, 1, 3), THROUGH, ("helps", "generous", "helps", "short", "refuses", "silent")
    )
)
"""Evictors that keep their contract, whether they help or not."""

BAD_PAGES = ("free", "reserved", "beyond", "negative", "repeated", "filling")
_NONSENSE: tuple[Any, ...] = (None, (), (1,), (-1,) * 2, (1.5, 2.5), "pages", 7, (True, True))
BAD_EVICTORS: tuple[EvictIntent, ...] = (
    *(EvictIntent("bad page", order, through, bad=bad)
      for order, through, bad in product((0, 1), THROUGH, BAD_PAGES)),
    *(EvictIntent(kind, bad=bad)
      for kind, bad in product(("malformed count", "malformed answer"), _NONSENSE)),
    *(EvictIntent("helps", order, through, raises=True)
      for order, through in product((0, 1), THROUGH)),
    *(EvictIntent(calls=calls, during=during, catches=catches)
      for calls, during, catches in product(
          sorted(CALLABLE_BACK), ("evict", "evictable_pages"), (False, True))),
)  # fmt: skip
"""Evictors that give up what they must not, answer nonsense, raise or call back."""

EVICTORS: tuple[EvictIntent | None, ...] = (
    None, *GOOD_EVICTORS * 2, *BAD_EVICTORS, *[None] * 20,
)  # fmt: skip
