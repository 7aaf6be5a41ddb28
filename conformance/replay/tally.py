"""What happened in a replay, counted: the numbers that the summary and the pictures show.

It only listens: nothing that it holds flows back into the scheduler. Counts are of requests,
tokens or pages by lane, taken from the oracle's answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference.contract import CapacityWaitError, ExtendAllocation, LaneLayout

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """The pool after a batch was placed.

    Attributes:
        free: pages that nobody holds, by lane.
        live: pages that requests in flight hold or reuse, by lane. What is neither is cached.
        served: requests served so far.
        hit_ratio: share of their prompt tokens that was cached.
    """

    free: Counts
    live: Counts
    served: int
    hit_ratio: float


@dataclass(frozen=True)
class Wait:
    """A capacity wait.

    Attributes:
        batch: batches placed before it.
        free, deficit: pages by lane, as the error tells them.
    """

    batch: int
    free: Counts
    deficit: Counts


class Tally:
    """Counts of one replay.

    Attributes:
        layout: the pool.
        served, infeasible: requests that left with their prompt placed, or were refused.
        tokens, reused: prompt tokens of served requests, and how many of them were cached.
        computed: tokens that got slots, those of requests put back included.
        extends, requeued: extends placed; requests put back in the queue.
        evicted, collateral: pages that eviction released; of them, those of lanes not short.
        samples: the pool after each batch.
        waits: every capacity wait.
    """

    def __init__(self, layout: LaneLayout) -> None:
        self.layout = layout
        self.served = self.infeasible = self.requeued = 0
        self.tokens = self.reused = self.computed = 0
        self.extends = self.evicted = self.collateral = 0
        self.samples: list[Sample] = []
        self.waits: list[Wait] = []
        self._lanes = [layout.lane_of_page(page) for page in range(layout.num_pages)]

    @property
    def requests_left(self) -> int:
        """Requests that are through, one way or the other."""
        return self.served + self.infeasible

    @property
    def hit_ratio(self) -> float:
        """Share of the prompt tokens of served requests that was cached."""
        return self.reused / self.tokens if self.tokens else 0.0

    def note_served(self, prompt: Prompt, reused: int) -> None:
        """A request left with its whole prompt placed, `reused` tokens of it from the cache."""
        self.served += 1
        self.tokens += prompt.tokens
        self.reused += reused

    def note_wait(self, wait: CapacityWaitError) -> None:
        """A batch did not get its pages."""
        self.evicted += sum(wait.evicted)
        self.waits.append(Wait(len(self.samples), wait.available, wait.deficit))

    def note_batch(
        self,
        allocation: ExtendAllocation,
        free_before: Counts,
        free: Counts,
        held: Iterable[Sequence[int]],
    ) -> None:
        """A batch got its pages.

        Args:
            allocation: what it got.
            free_before, free: free pages by lane, before and after.
            held: the pages of each request in flight, reused ones included.
        """
        self.extends += len(allocation.phases)
        self.computed += len(allocation.out_cache_loc)
        required = self._by_lane(chain.from_iterable(allocation.pages))
        evicted = self._by_lane(allocation.evicted)
        self.evicted += sum(evicted)
        self.collateral += sum(
            gone
            for gone, needed, had in zip(evicted, required, free_before, strict=True)
            if needed <= had
        )
        live = self._by_lane(set(chain.from_iterable(held)))
        self.samples.append(Sample(free, live, self.served, self.hit_ratio))

    def effective_capacity(self) -> list[float]:
        """After each batch: num_lanes x the shortest lane as a share of all that is to be had.

        To be had are the pages that no request in flight holds: free, or cached and evictable. 1
        means that the lanes are level; less, that the rest is out of reach of an even plan.
        """
        shares = []
        for sample in self.samples:
            left = [self.layout.capacity - live for live in sample.live]
            if sum(left):
                shares.append(len(left) * min(left) / sum(left))
        return shares

    def _by_lane(self, pages: Iterable[int]) -> Counts:
        counts = [0] * self.layout.num_lanes
        for page in pages:
            counts[self._lanes[page]] += 1
        return tuple(counts)
