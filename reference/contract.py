"""The nouns of the contract: all that an allocator and its caller exchange.

Layouts, splits and errors come from their own modules and are named here too, so that this is
the one module that other packages import. It holds data only: no planning, no selection, no
eviction, and no opinion on which pages are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ownerlanes.reference.errors import (
    CapacityWaitError,
    EvictorContractError,
    ForeignLaneError,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    OwnerLaneError,
    PinError,
    ReentrantCallError,
    ReplicaDivergedError,
    StalePrefixError,
    UnsupportedPagePlanError,
    shown,
)
from ownerlanes.reference.layout import Lane, LaneLayout, Page, Placement, Slot, as_index, index_in
from ownerlanes.reference.splits import (
    ContiguousPages,
    ExplicitOwners,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)

MAX_SEQ_LEN = 2**62
"""Longest sequence of a request; leaves room for paddings and page rounding in int64."""


@dataclass(frozen=True)
class ExtendRequest:
    """One request of a batch: compute the tokens at positions prefix_len ... seq_len-1.

    Building one checks nothing; the allocator does, and names the request by its index.

    Attributes:
        prefix_len: tokens already placed; 0 <= prefix_len <= seq_len.
        seq_len: tokens after this extend; at most 2**62.
        split: which rank computes which token.
        last_slot: the slot of token prefix_len-1. Required when prefix_len is not a multiple of
            the page size and the extend is not empty; ignored otherwise.
        phase: rotates the lanes, lane = (owner + phase) mod num_lanes; None lets the allocator
            choose. ExplicitOwners takes 0 only.
    """

    prefix_len: int
    seq_len: int
    split: Split
    last_slot: int | None = None
    phase: int | None = 0


@dataclass(frozen=True)
class BatchPlan:
    """What a batch would take, for admission. Serves [[RFC-0001:C-REQUEST-LOCAL-PLANNING]].

    Attributes:
        phases: the phase of each request.
        demand: new pages of each request, by lane.
        required: their sum, by lane.
        deficit: what `required` exceeds the free pages by, by lane.
        infeasible: the lanes that would be short even with every page free.
    """

    phases: tuple[int, ...]
    demand: tuple[tuple[int, ...], ...]
    required: tuple[int, ...]
    deficit: tuple[int, ...]
    infeasible: tuple[int, ...]


@dataclass(frozen=True)
class ExtendAllocation:
    """What alloc_extend gives. Serves [[RFC-0001:C-FLATTENED-ORDER]].

    Attributes:
        out_cache_loc: one slot for each new token, requests in batch order, tokens in sequence
            order.
        extend_offsets: request i's tokens are out_cache_loc[extend_offsets[i] :
            extend_offsets[i + 1]].
        pages: the new page ids of each request, in sequence order.
        phases: the phase of each request.
        evicted: the page ids that eviction released for this allocation, ascending.
    """

    out_cache_loc: tuple[int, ...]
    extend_offsets: tuple[int, ...]
    pages: tuple[tuple[int, ...], ...]
    phases: tuple[int, ...]
    evicted: tuple[int, ...]


@dataclass(frozen=True)
class PoolSnapshot:
    """The whole state of a pool: equal and hashable across implementations.

    Serves [[RFC-0001:C-DETERMINISTIC-SELECTION]].

    Attributes:
        layout: the pool's layout.
        free: the free local pages of each lane, ascending.
    """

    layout: LaneLayout
    free: tuple[tuple[int, ...], ...]


class Evictor(Protocol):
    """Who gives pages up under pressure: a cache, usually.

    The allocator cannot see which pages a cache protects: callers pin the prefixes they rely on
    from match to insert.
    """

    def evictable_pages(self) -> Sequence[int]:
        """The pages that `evict` could give up, by lane."""

    def evict(self, deficit: Sequence[int], /) -> Sequence[int] | None:
        """Give up pages, at least `deficit[lane]` of every lane; return their ids.

        A cache that frees through the allocator may call free or free_pages instead and return
        nothing; any other call back into the allocator is ReentrantCallError.
        """


@dataclass(frozen=True)
class InsertResult:
    """What LanePrefixCache.insert gives.

    Attributes:
        prefix: the cached prefix of all the keys given (a CachedPrefix of that cache).
        duplicates: given pages whose key is cached under another page; the caller's to release.
    """

    prefix: CachedPrefix
    duplicates: tuple[int, ...]


class CachedPrefix(Protocol):
    """A cached chain of pages; a handle that only its own cache can read further."""

    @property
    def pages(self) -> tuple[int, ...]:
        """Page ids from the root, one for each matched key."""

    @property
    def phase(self) -> int | None:
        """The phase that the chain's last page was inserted with; None for an empty prefix."""

    def __len__(self) -> int: ...


__all__ = [
    "MAX_SEQ_LEN",
    "BatchPlan",
    "CachedPrefix",
    "CapacityWaitError",
    "ContiguousPages",
    "Evictor",
    "EvictorContractError",
    "ExplicitOwners",
    "ExtendAllocation",
    "ExtendRequest",
    "ForeignLaneError",
    "InsertResult",
    "InvalidArgumentError",
    "InvalidFreeError",
    "InvalidRequestError",
    "Lane",
    "LaneLayout",
    "OwnerLaneError",
    "Page",
    "PinError",
    "Placement",
    "PoolSnapshot",
    "ReentrantCallError",
    "ReplicaDivergedError",
    "RoundRobinPages",
    "RoundRobinTokens",
    "Slot",
    "Split",
    "StalePrefixError",
    "UnsupportedPagePlanError",
    "ZigzagPages",
    "ZigzagTokens",
    "as_index",
    "index_in",
    "shown",
]
