"""What TritonAllocator.alloc_extend gives: slots on the device, page ids when somebody asks.

The contract's ExtendAllocation with a tensor for its tuple of slots. It is a record of what was
allocated and never changes anything.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import torch

from ownerlanes.reference.contract import ExtendAllocation


class TensorExtendAllocation(ExtendAllocation):
    """The pages and slots of one batch. Serves [[RFC-0001:C-FLATTENED-ORDER]].

    Two of them are equal only when they are the same: comparing tensors would wait for them.

    Attributes:
        out_cache_loc: int64 [new tokens], contiguous, on the allocator's device: one slot for each
            new token, requests in batch order, tokens in sequence order.
        extend_offsets: request i's tokens are out_cache_loc[extend_offsets[i] :
            extend_offsets[i + 1]].
        phases: the phase of each request.
        evicted: the page ids that eviction released for this allocation, ascending.
    """

    out_cache_loc: torch.Tensor  # type: ignore[assignment]
    _page_ids: torch.Tensor
    _page_offsets: tuple[int, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(
        self,
        *,
        out_cache_loc: torch.Tensor,
        extend_offsets: tuple[int, ...],
        phases: tuple[int, ...],
        evicted: tuple[int, ...],
        page_ids: torch.Tensor,
        page_offsets: tuple[int, ...],
    ) -> None:
        self.__dict__.update(
            out_cache_loc=out_cache_loc,
            extend_offsets=extend_offsets,
            phases=phases,
            evicted=evicted,
            _page_ids=page_ids,
            _page_offsets=page_offsets,
        )

    @cached_property
    def pages(self) -> tuple[tuple[int, ...], ...]:
        """The new page ids of each request, in sequence order; the first look waits for them."""
        ids = self._page_ids.tolist()
        return tuple(tuple(ids[a:b]) for a, b in pairwise(self._page_offsets))
