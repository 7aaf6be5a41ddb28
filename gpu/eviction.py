"""The allocator's half of the eviction protocol.

While the evictor is being asked, the allocator's doors are shut but for releases during `evict`;
those are collected here, with what `evict` returns, and judged as one. Which pages may go is for
the caller to say, and releasing them too: this module holds no pool.
Serves [[RFC-0001:C-CAPACITY-AND-EVICTION]].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ownerlanes.gpu.page_math import Booleans, Integers
from ownerlanes.reference.contract import (
    Evictor,
    EvictorContractError,
    InvalidArgumentError,
    LaneLayout,
    ReentrantCallError,
    as_index,
    shown,
)

INT64_LIMIT = 2**63


class EvictionDoor:
    """Who may call the allocator while its evictor is being asked.

    Args:
        evictor: who is asked, or None.
        layout: the pool's.

    Raises:
        InvalidArgumentError: the evictor lacks a method.
    """

    def __init__(self, evictor: Evictor | None, layout: LaneLayout) -> None:
        lacking = [
            name
            for name in ("evictable_pages", "evict")
            if evictor is not None and not callable(getattr(evictor, name, None))
        ]
        if lacking:
            raise InvalidArgumentError(
                f"evictor: expected an object with {' and '.join(lacking)}, found {shown(evictor)}"
            )
        self._evictor = evictor
        self._num_lanes = layout.num_lanes
        self._asked = ""
        self._freed: list[int] = []

    @property
    def collecting(self) -> bool:
        """Whether a release now is the evictor's, to be handed to `collect`."""
        return self._asked == "evict"

    def collect(self, pages: Sequence[int]) -> None:
        """Pages that one call of the evictor's to free or free_pages names, each once."""
        self._freed.extend(pages)

    def refuse(self, call: str) -> None:
        """Raise ReentrantCallError when `call` comes from the evictor while it is asked."""
        if self._asked:
            raise ReentrantCallError(
                f"{call}() was called from the evictor's {self._asked}(); expected nothing but "
                "free() and free_pages(), and only from evict()"
            )

    def counter(self) -> Callable[[], list[int]] | None:
        """evictable_pages(), checked, for one call of the allocator: asks the first time only."""
        if self._evictor is None:
            return None
        evictor, kept = self._evictor, list[list[int]]()

        def count() -> list[int]:
            if not kept:
                kept.append(self._checked_counts(self._ask("evictable_pages", evictor)))
            return kept[0]

        return count

    def _ask(self, what: str, evictor: Evictor, *arguments: Sequence[int]) -> list[object]:
        """All that the evictor answers; a generator runs while the doors are shut, too."""
        self._asked = what
        try:
            answer = getattr(evictor, what)(*arguments)
            if answer is None and what == "evict":
                return []
            try:
                items = iter(answer)
            except TypeError:
                raise _malformed(answer, what) from None
            return list(items)
        finally:
            self._asked = ""

    def _checked_counts(self, answer: list[object]) -> list[int]:
        counts = _integers(answer, "evictable_pages")
        if len(counts) != self._num_lanes or min(counts) < 0:
            raise EvictorContractError(
                f"evictable_pages(): expected {self._num_lanes} page counts, one for each lane "
                f"and none negative, found {shown(answer)}",
                pages=(),
            )
        return counts

    def evict(
        self, deficit: tuple[int, ...], releasable: Callable[[Integers], Booleans]
    ) -> Integers:
        """The pages that the evictor gives up, ascending; all of them may be released.

        `releasable` says which of some page ids the evictor may give up.

        Raises:
            EvictorContractError: some may not, or a page is given up twice.
        """
        assert self._evictor is not None
        self._freed = []
        answer = self._ask("evict", self._evictor, deficit)
        given_up = self._freed + _integers(answer, "evict")
        known = [page for page in given_up if -INT64_LIMIT <= page < INT64_LIMIT]
        pages, times = np.unique(np.array(known, dtype=np.int64), return_counts=True)
        bad = set(pages[~releasable(pages) | (times > 1)].tolist())
        bad.update(page for page in given_up if not -INT64_LIMIT <= page < INT64_LIMIT)
        if bad:
            raise EvictorContractError(pages=sorted(bad))
        return pages


def _integers(answer: list[object], call: str) -> list[int]:
    try:
        return [as_index(number, call) for number in answer]
    except InvalidArgumentError:
        raise _malformed(answer, call) from None


def _malformed(answer: object, call: str) -> EvictorContractError:
    return EvictorContractError(
        f"{call}(): expected a sequence of integers, found {shown(answer)}", pages=()
    )
