"""The allocator's side of the eviction protocol: asking an evictor, and judging its answer.

While the evictor is being asked it may only give pages up; whatever it gives up, returned or freed
through the allocator, is judged together once `evict` returns. Nothing here changes the pool.
Serves [[RFC-0001:C-CAPACITY-AND-EVICTION]].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from ownerlanes.reference.contract import (
    Evictor,
    EvictorContractError,
    InvalidArgumentError,
    LaneLayout,
    ReentrantCallError,
    as_index,
    shown,
)


class EvictorCalls:
    """The calls to one evictor, and what may be called back meanwhile."""

    def __init__(self, evictor: Evictor | None, layout: LaneLayout) -> None:
        for method in ("evictable_pages", "evict"):
            if evictor is not None and not callable(getattr(evictor, method, None)):
                raise InvalidArgumentError(f"evictor: has no {method}(), found {shown(evictor)}")
        self._evictor = evictor
        self._layout = layout
        self._asking: str | None = None
        self._given_up: list[int] = []

    @property
    def evicting(self) -> bool:
        """Whether `evict` is under way, so that releases are the evictor's."""
        return self._asking == "evict"

    def give_up(self, pages: Iterable[int]) -> None:
        """Note pages that the evictor frees through the allocator."""
        self._given_up.extend(pages)

    def refuse_reentry(self, name: str) -> None:
        """Raise ReentrantCallError when the evictor is being asked."""
        if self._asking is not None:
            raise ReentrantCallError(
                f"{name}() called back from the evictor's {self._asking}(); "
                "only free() and free_pages() during evict() are allowed"
            )

    def count_once(self) -> Callable[[], tuple[int, ...]] | None:
        """A function that asks for evictable_pages() the first time only; None with no evictor."""
        if self._evictor is None:
            return None
        answers: list[tuple[int, ...]] = []

        def ask() -> tuple[int, ...]:
            if not answers:
                answers.append(self._evictable_pages())
            return answers[0]

        return ask

    def _evictable_pages(self) -> tuple[int, ...]:
        assert self._evictor is not None
        with self._during("evictable_pages"):
            answer = _listed(self._evictor.evictable_pages(), "evictable_pages()")
        counts = _integers(answer, "evictable_pages()")
        if len(counts) != self._layout.num_lanes or min(counts) < 0:
            raise EvictorContractError(
                f"evictable_pages(): expected {self._layout.num_lanes} counts >= 0, one a lane, "
                f"found {shown(answer)}",
                pages=(),
            )
        return counts

    def evict(self, deficit: tuple[int, ...]) -> tuple[int, ...]:
        """The page ids that the evictor gives up, either way, not judged yet."""
        assert self._evictor is not None
        self._given_up = []
        with self._during("evict"):
            answer = self._evictor.evict(deficit)
            returned = () if answer is None else _listed(answer, "evict()")
        return (*self._given_up, *_integers(returned, "evict()"))

    @contextmanager
    def _during(self, name: str) -> Iterator[None]:
        self._asking = name
        try:
            yield
        finally:
            self._asking = None


def _listed(answer: Iterable[int], name: str) -> tuple[int, ...]:
    """All of an answer, while the evictor is still being asked: it may be a generator."""
    try:
        items = iter(answer)
    except TypeError:
        raise _malformed(answer, name) from None
    return tuple(items)


def _integers(answer: Sequence[int], name: str) -> tuple[int, ...]:
    try:
        return tuple(as_index(number, name) for number in answer)
    except InvalidArgumentError:
        raise _malformed(answer, name) from None


def _malformed(answer: object, name: str) -> EvictorContractError:
    return EvictorContractError(
        f"{name}: expected a sequence of integers, found {shown(answer)}", pages=()
    )


def check_given_up(pages: Sequence[int], may_release: Callable[[int], bool]) -> None:
    """Raise EvictorContractError for pages that are repeated or may not be released."""
    times = Counter(pages)
    bad = sorted(page for page in times if times[page] > 1 or not may_release(page))
    if bad:
        raise EvictorContractError(pages=bad)
