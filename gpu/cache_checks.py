"""What the prefix cache's arguments must be, checked in bulk.

A path may have thousands of pages, so that the common case is a few numpy and C-speed calls; only
a fault is looked for one by one. Nothing here knows what is cached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout, as_index, shown

Int64s = npt.NDArray[np.int64]


def checked_keys(keys: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The keys, all hashable.

    Raises:
        InvalidArgumentError: not a sequence, or one of them cannot be hashed.
    """
    try:
        given = tuple(keys)
        hash(given)
    except TypeError as fault:
        raise InvalidArgumentError(
            f"keys: expected a sequence of hashable keys, found {shown(keys)} ({fault})"
        ) from None
    return given


def checked_pages(pages: Sequence[int], layout: LaneLayout) -> tuple[Int64s, Int64s]:
    """The page ids, and the lane of each.

    Raises:
        InvalidArgumentError: one is not an integer, out of range, reserved or given twice.
    """
    given = _integers(pages, "pages")
    for page in (min(given), max(given)) if given else ():
        if not 0 <= page < layout.num_pages:
            raise InvalidArgumentError(
                f"pages: expected 0 <= page < {layout.num_pages}, found {page}"
            )
    ids = np.array(given, dtype=np.int64)
    if layout.placement == "interleaved":
        local_pages, lanes = np.divmod(ids, layout.num_lanes)
    else:
        lanes, local_pages = np.divmod(ids, max(1, layout.pages_per_lane))
    reserved = np.flatnonzero(local_pages < layout.reserved_pages)
    if len(reserved):
        i = reserved[0]
        raise InvalidArgumentError(f"pages[{i}]: page {given[i]} is reserved")
    if len(set(given)) < len(given):
        twice = next(page for page, times in Counter(given).items() if times > 1)
        raise InvalidArgumentError(f"pages: page {twice} occurs twice")
    return ids, lanes


def checked_deficit(deficit: Sequence[int], layout: LaneLayout) -> list[int]:
    """The pages wanted of each lane.

    Raises:
        InvalidArgumentError: not one integer >= 0 for each lane.
    """
    wanted = _integers(deficit, "deficit")
    if len(wanted) != layout.num_lanes or min(wanted) < 0:
        raise InvalidArgumentError(
            f"deficit: expected {layout.num_lanes} counts >= 0, one a lane, found {shown(deficit)}"
        )
    return wanted


def _integers(values: Sequence[int], name: str) -> list[int]:
    try:
        given = values.tolist() if isinstance(values, np.ndarray) else list(values)
        plain = set(map(type, given)) <= {int}
    except TypeError:
        raise InvalidArgumentError(
            f"{name}: expected a sequence of integers, found {shown(values)}"
        ) from None
    return given if plain else [as_index(value, f"{name}[{i}]") for i, value in enumerate(given)]
