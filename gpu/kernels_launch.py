"""Launches the kernels of an allocation on one device: grids, block sizes, and nothing else.

On a GPU a program does one lane or a short run of tokens; in Triton's interpreter programs are
what costs, so that one does all lanes or a wide run. Nothing here waits for the device except
`first_free`, which is there to be read. The caller has checked that the batch fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from ownerlanes.gpu.kernels import first_free_kernel, flatten_kernel, select_kernel
from ownerlanes.gpu.packing import Packed
from ownerlanes.gpu.page_math import Integers, places_of
from ownerlanes.gpu.state import DeviceState

INT32_LIMIT = 2**31


@dataclass(frozen=True, slots=True)
class Shapes:
    """How much one program does; all of these are powers of two.

    Attributes:
        lanes: lanes of the selection kernel, or fewer where there are fewer.
        fewest, most: tokens of the flattening kernel, or tail pages, as there are.
        wide: whether tokens are always numbered in int64. The interpreter checks every int32
            operation for overflow, which costs more than the width.
    """

    lanes: int
    fewest: int
    most: int
    wide: bool

    def block(self, items: int) -> int:
        """How many of some items a program does."""
        power: int = triton.next_power_of_2(items)
        return min(max(power, self.fewest), self.most)


GPU_SHAPES = Shapes(lanes=1, fewest=512, most=512, wide=False)
INTERPRETER_SHAPES = Shapes(lanes=64, fewest=1, most=2**16, wide=True)
FLAGS_PER_WARP = 128
TOKENS_PER_WARP = 64
"""Two slots a thread are one 128-bit store."""


class Launcher:
    """The launches of one pool's allocations."""

    def __init__(self, state: DeviceState) -> None:
        self._state = state
        self.shapes = GPU_SHAPES if state.device.type == "cuda" else INTERPRETER_SHAPES

    def to_device(self, numbers: Integers) -> torch.Tensor:
        """Numbers of the host's on the device, without waiting for the copy."""
        tensor = torch.from_numpy(numbers)
        if self._state.device.type == "cuda":
            return tensor.pin_memory().to(self._state.device, non_blocking=True)
        return tensor

    def empty_outputs(self, packed: Packed) -> tuple[torch.Tensor, torch.Tensor]:
        """Room for a packed allocation's new page ids and slots, both int64.

        Taken before anything is selected, so that a lack of memory changes nothing. The room for
        slots is whole blocks of the flattening kernel.
        """
        num_tokens = packed.extend_offsets[-1]
        block = self.shapes.block(num_tokens)
        pages = torch.empty(packed.page_offsets[-1], dtype=torch.int64, device=self._state.device)
        slots = torch.empty(
            triton.cdiv(num_tokens, block) * block, dtype=torch.int64, device=self._state.device
        )
        return pages, slots

    def select(self, packed: Packed, parameters: torch.Tensor, pages: torch.Tensor) -> None:
        """Take the pages of a packed allocation and write their ids in flattened order."""
        state, layout = self._state, self._state.layout
        if not len(pages):
            return
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
                num_warps=max(state.block // FLAGS_PER_WARP, 1),
            )

    def flatten(
        self, packed: Packed, parameters: torch.Tensor, pages: torch.Tensor, slots: torch.Tensor
    ) -> torch.Tensor:
        """Write the slots of a packed batch's new tokens; the part of `slots` that they fill."""
        state, size = self._state, self._state.layout.page_size
        num_tokens = packed.extend_offsets[-1]
        if not num_tokens:
            return slots
        block = self.shapes.block(num_tokens)
        with state.as_current():
            flatten_kernel[(len(slots) // block,)](
                slots,
                pages,
                parameters[packed.request_columns :],
                packed.num_requests,
                num_tokens,
                search_steps(packed.num_requests),
                PAGE_SIZE=size,
                HAS_TAILS=packed.has_tails,
                WIDE=self.shapes.wide or len(slots) + size >= INT32_LIMIT,
                BLOCK=block,
                num_warps=max(block // TOKENS_PER_WARP, 1),
            )
        return slots[:num_tokens]

    def first_free(self, pages: Integers) -> int:
        """Index of the first of these pages that is free, or their number. Waits for the device.

        The pages exist and are not reserved.
        """
        state = self._state
        lanes, local_pages = places_of(pages, state.layout)
        first = torch.empty(1, dtype=torch.int64, device=state.device)
        with state.as_current():
            first_free_kernel[(1,)](
                state.flags,
                self.to_device(lanes * state.stride + local_pages),
                first,
                len(pages),
                BLOCK=self.shapes.block(len(pages)),
            )
        return int(first.item())


def search_steps(count: int) -> int:
    """Halvings that a binary search needs to find one of `count` rows."""
    return (count - 1).bit_length()
