"""The state of a pool on the device: one flag byte a page, and a mirror of the counts on the host.

A DeviceState says which pages are free and changes them when told to; it never decides whether a
change is allowed. Whoever calls `take`, `release_host` or a kernel that writes `flags` has checked
that before. Serves [[RFC-0001:C-CONSERVATION]] and [[RFC-0001:C-REPLICA-DETERMINISM]].
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import triton

from ownerlanes.gpu.page_math import Booleans, Integers, count_by_lane, places_of
from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout, PoolSnapshot, shown

FLAG_BLOCK = 2048
"""Most flags that a kernel needs to read at once: a lane's row is whole blocks of that size."""

SMALLEST_BLOCK = 16
"""Rows start at multiples of this many bytes, so that loads of flags are aligned vectors."""

PAGE_LIMIT = 2**31
"""A layout has fewer pages than this, so that page ids are int32 inside kernels."""


def checked_device(device: torch.device | str | None) -> torch.device:
    """Where kernels can run: a GPU (with its index), or the CPU under Triton's interpreter.

    None is the current GPU, or the CPU where there is none.

    Raises:
        InvalidArgumentError: not a device, or a CPU without the interpreter.
    """
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except (RuntimeError, TypeError):
        raise InvalidArgumentError(
            f"device: expected a torch device, found {shown(device)}"
        ) from None
    if chosen.type == "cpu":
        if not triton.knobs.runtime.interpret:
            raise InvalidArgumentError(
                "device: Triton kernels run on CPU tensors only in Triton's interpreter; expected "
                "TRITON_INTERPRET=1 in the environment before triton is imported, found it unset"
            )
        return chosen
    if chosen.type != "cuda":
        raise InvalidArgumentError(f"device: expected 'cuda' or 'cpu', found {str(chosen)!r}")
    return torch.device(
        "cuda", torch.cuda.current_device() if chosen.index is None else chosen.index
    )


class DeviceState:
    """Which pages of a layout are free.

    Attributes:
        layout: the pool.
        device: where `flags` lies.
        block: flags in a block, a power of two that divides `stride`; FLAG_BLOCK for all but
            small lanes.
        stride: flags in a lane's row: pages_per_lane rounded up to whole blocks, at least one.
        flags: uint8 [num_lanes, stride], contiguous, by local page; 1 is free, 0 is allocated,
            reserved or beyond the lane's end.
        free_counts: the free pages of each lane as far as the host knows: exact when no deferred
            release is pending, else a lower bound.

    Raises:
        InvalidArgumentError: `layout` is not a LaneLayout of fewer than 2**31 pages, or kernels
            cannot run on `device`.
    """

    def __init__(self, layout: LaneLayout, device: torch.device | str | None = None) -> None:
        if not isinstance(layout, LaneLayout):
            raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
        if max(layout.num_pages, layout.num_lanes) >= PAGE_LIMIT:
            raise InvalidArgumentError(
                f"layout: expected fewer than {PAGE_LIMIT} pages and lanes, found "
                f"{layout.num_pages} pages of {layout.num_lanes} lanes"
            )
        self.layout = layout
        self.device = checked_device(device)
        self.block = min(
            max(triton.next_power_of_2(layout.pages_per_lane), SMALLEST_BLOCK), FLAG_BLOCK
        )
        self.stride = max(triton.cdiv(layout.pages_per_lane, self.block), 1) * self.block
        self.flags = torch.zeros(
            (layout.num_lanes, self.stride), dtype=torch.uint8, device=self.device
        )
        self.free_counts: list[int] = []
        self.clear()

    def as_current(self) -> torch.cuda.device:
        """A context in which kernels are launched on this device; the CPU needs none."""
        return torch.cuda.device(self.flags.get_device())

    def clear(self) -> None:
        """Make every page free that is not reserved."""
        self.flags[:, self.layout.reserved_pages : self.layout.pages_per_lane] = 1
        self.free_counts = [self.layout.capacity] * self.layout.num_lanes

    def take(self, required: Sequence[int]) -> None:
        """Count pages that a kernel is about to select, by lane."""
        self.free_counts = [a - b for a, b in zip(self.free_counts, required, strict=True)]

    def put_back(self, required: Sequence[int]) -> None:
        """Undo `take` where the kernel did not run."""
        self.free_counts = [a + b for a, b in zip(self.free_counts, required, strict=True)]

    def allocated(self, pages: Integers) -> Booleans:
        """Whether each page id may be released: in range, not reserved, not free.

        Reads the flags of the pages back.
        """
        known = (pages >= 0) & (pages < self.layout.num_pages)
        lanes, local_pages = places_of(np.where(known, pages, 0), self.layout)
        known &= local_pages >= self.layout.reserved_pages
        rows = np.where(known, lanes * self.stride + local_pages, 0)
        found = self.flags.view(-1)[torch.from_numpy(rows).to(self.device)].cpu().numpy()
        result: Booleans = known & (found == 0)
        return result

    def release_host(self, pages: Integers) -> None:
        """Make these pages free; they are allocated and each given once."""
        lanes, local_pages = places_of(pages, self.layout)
        rows = torch.from_numpy(lanes * self.stride + local_pages).to(self.device)
        self.flags.view(-1).index_fill_(0, rows, 1)
        released = count_by_lane(lanes, self.layout)
        self.free_counts = [a + b for a, b in zip(self.free_counts, released, strict=True)]

    def snapshot(self) -> PoolSnapshot:
        """The whole state as data; reads it back."""
        free = (np.flatnonzero(lane).tolist() for lane in self._read_back())
        return PoolSnapshot(self.layout, tuple(map(tuple, free)))

    def digest(self) -> str:
        """The whole state in 64 hex digits; reads it back.

        SHA-256 of a line with the layout's fields, then for each lane a bit for each local page,
        set when it is free, least significant bit first, padded to whole bytes.
        """
        layout = self.layout
        line = (
            f"ownerlanes-state-1|{layout.num_lanes}|{layout.page_size}|{layout.pages_per_lane}|"
            f"{layout.placement}|{layout.reserved_pages}\n"
        )
        bits = np.packbits(self._read_back(), axis=1, bitorder="little")
        return hashlib.sha256(line.encode("ascii") + bits.tobytes()).hexdigest()

    def _read_back(self) -> npt.NDArray[np.uint8]:
        return self.flags[:, : self.layout.pages_per_lane].cpu().numpy()
