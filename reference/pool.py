"""The pool as pure transitions: a PoolSnapshot goes in, another comes out.

The state of a pool is the set of free local pages of each lane and nothing else, so equal
snapshots behave equally for ever. No function here changes its arguments, and none decides
whether a transition should happen.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ownerlanes.reference.contract import LaneLayout, Page, PoolSnapshot


def all_free(layout: LaneLayout) -> PoolSnapshot:
    """Every page free but the reserved ones."""
    lane = tuple(range(layout.reserved_pages, layout.pages_per_lane))
    return PoolSnapshot(layout, (lane,) * layout.num_lanes)


def free_counts(pool: PoolSnapshot) -> tuple[int, ...]:
    """Free pages, by lane."""
    return tuple(len(lane) for lane in pool.free)


def is_free(pool: PoolSnapshot, page: Page) -> bool:
    """Whether a page of the layout is free."""
    lane = pool.free[pool.layout.lane_of_page(page)]
    local_page = pool.layout.local_page(page)
    place = bisect_left(lane, local_page)
    return place < len(lane) and lane[place] == local_page


def is_allocated(pool: PoolSnapshot, page: int) -> bool:
    """Whether a page id names a page that may be released: in range, not reserved, not free."""
    layout = pool.layout
    return (
        0 <= page < layout.num_pages
        and layout.local_page(page) >= layout.reserved_pages
        and not is_free(pool, Page(page))
    )


def take(pool: PoolSnapshot, lanes: Sequence[int]) -> tuple[PoolSnapshot, tuple[Page, ...]]:
    """One page on each named lane, in that order: each lane's free pages ascending.

    Serves [[RFC-0001:C-DETERMINISTIC-SELECTION]]. Every lane must have enough.
    """
    waiting = [iter(free) for free in pool.free]
    pages = tuple(pool.layout.page(lane, next(waiting[lane])) for lane in lanes)
    return PoolSnapshot(pool.layout, tuple(tuple(rest) for rest in waiting)), pages


def release(pool: PoolSnapshot, pages: Iterable[int]) -> PoolSnapshot:
    """The pool with these pages free too. They must be allocated, and each given once.

    Serves [[RFC-0001:C-RELEASE]].
    """
    returned: list[list[int]] = [[] for _ in pool.free]
    for page in pages:
        returned[pool.layout.lane_of_page(page)].append(pool.layout.local_page(page))
    return PoolSnapshot(
        pool.layout,
        tuple(
            tuple(sorted([*free, *back])) if back else free
            for free, back in zip(pool.free, returned, strict=True)
        ),
    )


def digest(pool: PoolSnapshot) -> str:
    """The state in 64 hex digits. Serves [[RFC-0001:C-REPLICA-DETERMINISM]].

    SHA-256 of the ASCII line `ownerlanes-state-1|num_lanes|page_size|pages_per_lane|placement|
    reserved_pages` with its newline, then for each lane a bit array of pages_per_lane bits, bit i
    set when local page i is free, least significant bit first, padded to whole bytes.
    """
    layout = pool.layout
    line = "|".join(
        str(field)
        for field in (
            "ownerlanes-state-1",
            layout.num_lanes,
            layout.page_size,
            layout.pages_per_lane,
            layout.placement,
            layout.reserved_pages,
        )
    )
    state = hashlib.sha256(f"{line}\n".encode("ascii"))
    for free in pool.free:
        ones = bytearray(b"0" * layout.pages_per_lane)
        for local_page in free:
            ones[local_page] = ord("1")
        bits = int(b"0" + ones[::-1], 2)  # bit i of this number is local page i
        state.update(bits.to_bytes(-(-layout.pages_per_lane // 8), "little"))
    return state.hexdigest()
