"""SGLang's published PageInterleavePoolAllocator as a candidate.

Its page classes are owner lanes: page `l` belongs to rank `l % N`, and a request draws the class
`(base + P) % N` for the page at position P, which is `RoundRobinPages` with the rotation base as
phase. The adapter translates arguments and reads results; it checks, sorts and repairs nothing.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import types
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from ownerlanes.conformance.protocol import CouldNotRunError
from ownerlanes.reference.contract import (
    ExtendAllocation,
    ExtendRequest,
    LaneLayout,
    PoolSnapshot,
)

MODULE = "sglang.srt.mem_cache.allocator.page_interleave"
DERIVED = frozenset({"RFC-0001:C-FLATTENED-ORDER/5", "RFC-0001:C-FLATTENED-ORDER/8"})
"""Obligations on `extend_offsets` and `pages`, which the published method does not give.

The adapter reads both off slots and lengths, so that the slots can be compared.
"""


def published_class() -> Any:
    """PageInterleavePoolAllocator of the installed wheel.

    The package's own `__init__` imports its serving interface, with dependencies that the
    allocator does not need; a bare package in its place leaves the allocator's modules as they are.

    Raises:
        CouldNotRunError: sglang is not installed, or has no such class.
    """
    if "sglang" not in sys.modules:
        try:
            found = importlib.metadata.distribution("sglang").locate_file("sglang")
        except importlib.metadata.PackageNotFoundError:
            raise CouldNotRunError(
                "sglang is not installed; `nox -s outsiders` installs its wheel"
            ) from None
        bare = types.ModuleType("sglang")
        bare.__path__ = [str(found)]
        sys.modules["sglang"] = bare
    try:
        return importlib.import_module(MODULE).PageInterleavePoolAllocator
    except (ImportError, AttributeError) as fault:
        raise CouldNotRunError(f"{MODULE}.PageInterleavePoolAllocator: {fault}") from fault


class PageInterleaveCandidate:
    """The published allocator behind the contract's methods.

    Args:
        layout: interleaved, with one reserved page a lane; its reserved pages are the padded
            range of the published pool.
    """

    capabilities: Mapping[str, Any] = types.MappingProxyType(
        {
            "splits": ("RoundRobinPages",),
            "placements": ("interleaved",),
            "reserved_pages": (1,),
            "padding": False,
            "runs": False,
            "partial_pages": False,
            "eviction": False,
            "plan_extend": False,
            "alloc_pages": False,
            "exact_pages": False,
            "digest": False,
            "typed_errors": False,
            "argument_checks": False,
            "release_checks": False,
        }
    )

    def __init__(self, layout: LaneLayout) -> None:
        import torch

        self._torch = torch
        self._layout = layout
        self._pool = published_class()(
            size=layout.capacity * layout.page_size,
            physical_page_size=layout.page_size,
            shard_size=layout.num_lanes,
            dtype=torch.bfloat16,
            device="cpu",
            kvcache=None,
            need_sort=True,
        )

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation | None:
        """Pages and slots; None when some class is short, as the published method answers."""
        prefixes = self._tensor([request.prefix_len for request in requests])
        lengths = self._tensor([request.seq_len for request in requests])
        last = self._tensor(
            [-1 if request.last_slot is None else request.last_slot for request in requests]
        )
        bases = [request.phase for request in requests]
        slots = self._pool.alloc_extend(
            prefix_lens=prefixes,
            prefix_lens_cpu=prefixes,
            seq_lens=lengths,
            seq_lens_cpu=lengths,
            last_loc=last,
            extend_num_tokens=int((lengths - prefixes).sum()),
            rotation_bases=bases,
        )
        if slots is None:
            return None
        given = slots.tolist()
        offsets = accumulate((r.seq_len - r.prefix_len for r in requests), initial=0)
        bounds = tuple(offsets)
        size = self._layout.page_size
        return ExtendAllocation(
            out_cache_loc=tuple(given),
            extend_offsets=bounds,
            pages=tuple(
                tuple(slot // size for slot in given[first:end:size])
                for first, end in pairwise(bounds)
            ),
            phases=tuple(bases),  # type: ignore[arg-type]  # None was resolved in place
            evicted=(),
        )

    def free(self, slots: Sequence[int]) -> None:
        """Release the pages of these slots."""
        self._pool.free(self._tensor(slots))

    def free_pages(self, pages: Sequence[int]) -> None:
        """Release these pages, named by their first slots: the published pool takes slots."""
        self._pool.free(self._tensor(pages) * self._layout.page_size)

    def clear(self) -> None:
        """Make every page free that is not reserved."""
        self._pool.clear()

    def available_pages(self) -> Sequence[int]:
        """Its own census of free pages, by class."""
        counts: Sequence[int] = self._pool.class_free_page_counts()
        return counts

    def snapshot(self) -> PoolSnapshot:
        """Its own census of free page ids, by class."""
        lanes = self._layout.num_lanes
        free: list[list[int]] = [[] for _ in range(lanes)]
        for page in sorted(self._pool.get_all_free_pages().tolist()):
            free[page % lanes].append(page // lanes)
        return PoolSnapshot(self._layout, tuple(map(tuple, free)))

    def _tensor(self, numbers: Sequence[int]) -> Any:
        return self._torch.tensor(list(numbers), dtype=self._torch.int64)
