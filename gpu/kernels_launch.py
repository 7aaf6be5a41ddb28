"""Launches the kernels of an allocation on one device: grids, block sizes, and nothing else.

On a GPU a program does one lane or a short run of tokens; in Triton's interpreter programs are
what costs, so that one does all lanes or a wide run. Nothing here waits for the device except
`first_free`, which is there to be read. The caller has checked that the batch fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton

from ownerlanes.gpu.kernels import first_free_kernel, flatten_kernel, select_kernel
from ownerlanes.gpu.packing import Packed, host_buffer
from ownerlanes.gpu.state import DeviceState
from ownerlanes.gpu.validation import Integers, places_of

INT32_LIMIT = 2**31


@dataclass(frozen=True, slots=True)
class Shapes:
    """How much one program does.

    Attributes:
        lanes: lanes of the selection kernel, a power of two; fewer where there are fewer.
        tokens: tokens of the flattening kernel, a power of two; fewer where there are fewer.
        warps: of either kernel.
        wide: whether tokens are always numbered in int64. The interpreter checks every int32
            operation for overflow, which costs more than the width.
    """

    lanes: int
    tokens: int
    warps: int
    wide: bool


GPU_SHAPES = Shapes(lanes=1, tokens=512, warps=8, wide=False)
INTERPRETER_SHAPES = Shapes(lanes=64, tokens=2**16, warps=1, wide=True)


class Launcher:
    """The launches of one pool's allocations."""

    def __init__(self, state: DeviceState) -> None:
        self._state = state
        self.shapes = GPU_SHAPES if state.device.type == "cuda" else INTERPRETER_SHAPES

    def select(self, packed: Packed, parameters: torch.Tensor) -> torch.Tensor:
        """Take the pages of a packed allocation; int64 page ids in flattened order."""
        state, layout = self._state, self._state.layout
        pages = torch.empty(packed.page_offsets[-1], dtype=torch.int64, device=state.device)
        if not len(pages):
            return pages
        lanes = min(self.shapes.lanes, triton.next_power_of_2(layout.num_lanes))
        with state.as_current():
            select_kernel[(triton.cdiv(layout.num_lanes, lanes),)](
                state.flags,
                pages,
                parameters,
                packed.num_requests,
                layout.num_lanes,
                state.stride,
                layout.pages_per_lane,
                search_steps(packed.num_requests),
                INTERLEAVED=layout.placement == "interleaved",
                HAS_LISTED=packed.has_listed,
                LANES=lanes,
                BLOCK=state.block,
                num_warps=self.shapes.warps,
            )
        return pages

    def flatten(
        self, packed: Packed, parameters: torch.Tensor, pages: torch.Tensor
    ) -> torch.Tensor:
        """The slots of a packed batch's new tokens: int64, contiguous."""
        state, size = self._state, self._state.layout.page_size
        num_tokens = packed.extend_offsets[-1]
        if not num_tokens:
            return torch.empty(0, dtype=torch.int64, device=state.device)
        block = min(self.shapes.tokens, triton.next_power_of_2(num_tokens))
        grid = triton.cdiv(num_tokens, block)
        slots = torch.empty(grid * block, dtype=torch.int64, device=state.device)
        with state.as_current():
            flatten_kernel[(grid,)](
                slots,
                pages,
                parameters[packed.request_columns :],
                packed.num_requests,
                num_tokens,
                search_steps(packed.num_requests),
                PAGE_SIZE=size,
                HAS_TAILS=packed.has_tails,
                WIDE=self.shapes.wide or grid * block + size >= INT32_LIMIT,
                BLOCK=block,
                num_warps=self.shapes.warps,
            )
        return slots[:num_tokens]

    def first_free(self, pages: Integers) -> int:
        """Index of the first of these pages that is free, or their number. Waits for the device.

        The pages exist and are not reserved.
        """
        state = self._state
        local_pages, lanes = places_of(pages, state.layout)
        places = host_buffer(len(pages), state.device)
        np.add(lanes * state.stride, local_pages, out=places.numpy())
        first = torch.empty(1, dtype=torch.int64, device=state.device)
        with state.as_current():
            first_free_kernel[(1,)](
                state.flags,
                places.to(state.device, non_blocking=True),
                first,
                len(pages),
                BLOCK=min(self.shapes.tokens, triton.next_power_of_2(len(pages))),
                num_warps=self.shapes.warps,
            )
        return int(first.item())


def search_steps(count: int) -> int:
    """Halvings that a binary search needs to find one of `count` rows."""
    return (count - 1).bit_length()


def to_device(packed: Packed, state: DeviceState) -> torch.Tensor:
    """The parameters on the device, without waiting for the copy."""
    return packed.buffer.to(state.device, non_blocking=True)
