"""Turns a RequestIntent into a request that fits the pool as it is.

It keeps to what the candidate claims: a split, a phase or a partial page that is not claimed is
replaced by one that is. Nothing here looks at other requests or plays a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from ownerlanes.conformance.intents import RequestIntent
from ownerlanes.conformance.operations import NUMBERS, SPLIT_KINDS, Index
from ownerlanes.conformance.protocol import Capabilities
from ownerlanes.reference.contract import (
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    PoolSnapshot,
    Split,
)

MOST_TOKENS = 8192
"""Longest extend of a generated request: the oracle counts tokens one by one."""


@dataclass
class Live:
    """An allocation that can be continued (where it has a length) and released."""

    slots: list[int]
    length: int = 0
    split: Split | None = None
    phase: int = 0

    def pages(self, layout: LaneLayout) -> list[int]:
        """Its pages, in order."""
        return list(dict.fromkeys(slot // layout.page_size for slot in self.slots))


@dataclass(frozen=True)
class RequestBuilder:
    """Builds requests for one state of the pool.

    Attributes:
        pool: the state.
        claims: what the candidate claims.
    """

    pool: PoolSnapshot
    claims: Capabilities

    def build(self, intent: RequestIntent, source: Live | None) -> Any:
        """The request that is meant: an ExtendRequest, or whatever stands in for one.

        Args:
            intent: what is meant.
            source: the allocation that it continues, or None.
        """
        request = self._well_formed(intent, source)
        fault = intent.fault
        if fault is None or not self.claims.argument_checks:
            return _indexed(request) if intent.indexed else request
        if fault.field == "":
            return fault.value
        if fault.field == "owners":
            return replace(request, split=ExplicitOwners(fault.value))
        return replace(request, **{fault.field: fault.value})

    def _well_formed(self, intent: RequestIntent, source: Live | None) -> ExtendRequest:
        size = self.pool.layout.page_size
        prefix_len = intent.prefix_pages * size if intent.source == "cached" else 0
        last_slot = None
        if source is not None:
            prefix_len = source.length
            last_slot = source.slots[-1] if prefix_len % size else None
        seq_len = prefix_len + self._tokens(intent)
        tail = None if last_slot is None else self.pool.layout.lane_of_slot(last_slot)
        kind = self._kind(intent, source)
        if kind == "ExplicitOwners":
            owners = self._owners(intent, tail, prefix_len, seq_len)
            if intent.split.fit:
                new_pages = len(owners) - (tail is not None)
                seq_len = (-(-prefix_len // size) + new_pages) * size
            return ExtendRequest(prefix_len, seq_len, ExplicitOwners(owners), last_slot)
        if source is not None and source.split is not None and intent.follows:
            return ExtendRequest(prefix_len, seq_len, source.split, last_slot, source.phase)
        return ExtendRequest(
            prefix_len, seq_len, self._split(intent, kind), last_slot, self._phase(intent)
        )

    def _tokens(self, intent: RequestIntent) -> int:
        layout = self.pool.layout
        unit = {
            "token": 1,
            "page": layout.page_size,
            "round": 2 * layout.num_lanes * layout.page_size,
            "free": sum(map(len, self.pool.free)) * layout.page_size,
            "pool": layout.num_lanes * layout.capacity * layout.page_size,
        }[intent.length.unit]
        return min(MOST_TOKENS, max(0, unit * intent.length.count + intent.length.more))

    def _kind(self, intent: RequestIntent, source: Live | None) -> str:
        """The name of the split: that of the chain where it follows one, else what is meant."""
        if source is not None and source.split is not None and intent.follows:
            return type(source.split).__name__
        kinds = sorted(self.claims.splits)
        wanted = intent.split.kind
        return wanted if wanted in kinds else kinds[len(wanted) % len(kinds)]

    def _split(self, intent: RequestIntent, kind: str) -> Split:
        number = intent.split.number * (self.pool.layout.page_size if intent.split.in_pages else 1)
        if kind.startswith("RoundRobin"):
            number = max(1, number) if self.claims.runs else 1
        elif not self.claims.padding:
            number = 0
        split: Split = SPLIT_KINDS[kind](number)
        return split

    def _owners(
        self, intent: RequestIntent, tail: int | None, prefix_len: int, seq_len: int
    ) -> tuple[int, ...]:
        """One lane for each touched page, the first one that of the tail page if it `follows`."""
        size, lanes = self.pool.layout.page_size, self.pool.layout.num_lanes
        wanted = [owner % lanes for owner in intent.split.owners] or [0]
        if intent.split.fit:
            new = fitting_owners(self.pool, intent.split.fit, wanted)
            return new if tail is None else (tail, *new)
        pages = 0 if prefix_len == seq_len else (seq_len - 1) // size - prefix_len // size + 1
        owners = [wanted[page % len(wanted)] for page in range(pages)]
        if tail is not None and owners and intent.follows:
            owners[0] = tail
        return tuple(owners)

    def _phase(self, intent: RequestIntent) -> int | None:
        if not self.claims.phases:
            return 0
        if intent.phase is None:
            return None if self.claims.open_phase else 0
        return intent.phase % self.pool.layout.num_lanes


def fitting_owners(pool: PoolSnapshot, fit: int, first: Sequence[int]) -> tuple[int, ...]:
    """Owners that take all that is free, lane after lane in turn, and `fit` - 1 pages more."""
    free = [[lane] * len(pages) for lane, pages in enumerate(pool.free)]
    turns = [lane for row in zip_longest(*free) for lane in row if lane is not None]
    return (*turns, *[first[0] if first else 0] * (fit - 1))


def _indexed(request: ExtendRequest) -> ExtendRequest:
    """The request with every integer in a type that only has `__index__`."""
    given: dict[str, Any] = {
        name: Index(value) for name in NUMBERS if isinstance(value := getattr(request, name), int)
    }
    return replace(request, **given)
