"""direct_write: a rank stores what it computed into its own lane's pool, with no exchange.

Slots are global and pools are local; this is the translation, with a check that no row belongs to
another lane. Engines that cannot afford the check call the device functions of `slot_math` from
their own kernels. Nothing here knows which pages are allocated.
Serves [[RFC-0001:C-DIRECT-WRITE]].
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import triton

from ownerlanes.gpu.direct_write_kernels import judge_rows, write_rows
from ownerlanes.gpu.release_ids import tensor_fault
from ownerlanes.gpu.slot_math import layout_constants
from ownerlanes.gpu.state import checked_device
from ownerlanes.reference.contract import (
    ForeignLaneError,
    InvalidArgumentError,
    LaneLayout,
    index_in,
    shown,
)

GPU_ELEMENTS = 4096
"""Elements that a program stores on a GPU."""

GPU_LINE = 1024
"""Slots that a program judges on a GPU, and elements of one row that it stores at most."""

INTERPRETER_ELEMENTS = 2**16
"""Slots judged, or elements stored, by a program in the interpreter, where programs are dear."""

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Rows are moved as integers of the same width, so that any dtype can be written bit for bit."""


def direct_write(
    rows: torch.Tensor,
    slots: torch.Tensor,
    pool: torch.Tensor,
    layout: LaneLayout,
    lane: int,
    foreign: Literal["error", "skip"] = "error",
) -> None:
    """Store row i at `local_slot(slots[i])` of a lane's pool, bit for bit.

    Two launches and one read-back of two numbers. Slots of reserved pages may be written, they are
    what padding is for. When several rows of one call are to be stored at one slot, its contents
    are unspecified afterwards: bytes of any of these rows. `out_cache_loc` names no slot twice.

    Args:
        rows: [n, ...], any dtype; rows may be strided, each row's elements are contiguous.
        slots: [n], contiguous integers of any width, on the pool's device or the CPU.
        pool: [pages_per_lane * page_size, ...] with the trailing shape, dtype and device of
            `rows`; slots may be strided as rows may. Changed in place.
        layout: of the whole pool, all lanes.
        lane: whose pool this is.
        foreign: "error" refuses a row of another lane, "skip" leaves it out.

    Raises:
        InvalidArgumentError: an argument is not as above, or a slot is out of range; nothing was
            written.
        ForeignLaneError: a row's slot is of another lane and `foreign` is "error"; nothing was
            written. `row` is the first such row.
    """
    if not isinstance(layout, LaneLayout):
        raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
    lane = index_in(lane, "lane", 0, layout.num_lanes)
    if foreign not in ("error", "skip"):
        raise InvalidArgumentError(f"foreign: expected 'error' or 'skip', found {shown(foreign)}")
    _check_tensors(rows, slots, pool, layout)
    count = rows.shape[0]
    if not count:
        return
    with torch.cuda.device(pool.get_device()):
        slots = slots.to(pool.device)
        outside, other_lane = _first_faults(slots, layout, lane)
        if outside < count:
            raise InvalidArgumentError(
                f"slots: expected 0 <= slot < {layout.num_slots}, found slots[{outside}] = "
                f"{slots[outside].item()}; nothing was written"
            )
        if other_lane < count and foreign == "error":
            slot = int(slots[other_lane].item())
            raise ForeignLaneError(
                f"slots: expected slots of lane {lane}, found slots[{other_lane}] = {slot} of lane "
                f"{layout.lane_of_slot(slot)}; nothing was written",
                row=other_lane,
            )
        _write(rows, slots, pool, layout, lane)


def _check_tensors(
    rows: torch.Tensor, slots: torch.Tensor, pool: torch.Tensor, layout: LaneLayout
) -> None:
    for name, tensor in (("rows", rows), ("slots", slots), ("pool", pool)):
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgumentError(f"{name}: expected a tensor, found {shown(tensor)}")
        if tensor.layout is not torch.strided or not tensor.dim():
            raise InvalidArgumentError(
                f"{name}: expected a dense tensor of at least one dimension, found "
                f"{tensor.layout} {tuple(tensor.shape)}"
            )
    device = checked_device(pool.device)
    fault = tensor_fault(slots, device)
    if fault:
        raise InvalidArgumentError(f"slots: {fault}")
    for name, expected, found in (
        ("slots: shape", (rows.shape[0],), tuple(slots.shape)),
        (
            "pool: shape",
            (layout.pages_per_lane * layout.page_size, *rows.shape[1:]),
            tuple(pool.shape),
        ),
        ("rows: dtype", pool.dtype, rows.dtype),
        ("rows: device", device, rows.device),
    ):
        if found != expected:
            raise InvalidArgumentError(f"{name}: expected {expected}, found {found}")
    for name, tensor in (("rows", rows), ("pool", pool)):
        if tensor.numel() and not tensor[0].is_contiguous():
            raise InvalidArgumentError(
                f"{name}: expected the elements of a row to be contiguous, found strides "
                f"{tensor.stride()} for shape {tuple(tensor.shape)}"
            )
    if pool.shape[0] > 1 and pool.stride(0) < math.prod(pool.shape[1:]):
        raise InvalidArgumentError(
            f"pool: expected slots that do not overlap, found stride {pool.stride(0)} between them"
        )


def _first_faults(slots: torch.Tensor, layout: LaneLayout, lane: int) -> tuple[int, int]:
    """The first row out of range and the first of another lane; the number of rows for none."""
    count = slots.numel()
    faults = torch.full((2,), count, dtype=torch.int64, device=slots.device)
    limit = INTERPRETER_ELEMENTS if slots.device.type == "cpu" else GPU_LINE
    block = min(triton.next_power_of_2(count), limit)
    judge_rows[(triton.cdiv(count, block),)](
        slots,
        count,
        lane,
        faults,
        NUM_SLOTS=layout.num_slots,
        BLOCK=block,
        **layout_constants(layout),
    )
    outside, other_lane = faults.tolist()
    return outside, other_lane


def _write(
    rows: torch.Tensor, slots: torch.Tensor, pool: torch.Tensor, layout: LaneLayout, lane: int
) -> None:
    rows, pool = _as_integers(rows), _as_integers(pool)
    count, width = rows.shape[0], math.prod(rows.shape[1:])
    if not width:
        return
    on_cpu = pool.device.type == "cpu"
    elements = INTERPRETER_ELEMENTS if on_cpu else GPU_ELEMENTS
    columns = min(triton.next_power_of_2(width), elements if on_cpu else GPU_LINE)
    rows_a_program = min(triton.next_power_of_2(count), elements // columns)
    write_rows[(triton.cdiv(count, rows_a_program), triton.cdiv(width, columns))](
        rows,
        rows.stride(0),
        slots,
        count,
        lane,
        pool,
        pool.stride(0),
        width,
        ROWS=rows_a_program,
        COLUMNS=columns,
        **layout_constants(layout),
    )


def _as_integers(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers; 16-byte elements as two of 8."""
    if tensor.dtype == torch.complex128:
        tensor = torch.view_as_real(tensor)
    return tensor.view(INTEGERS[tensor.element_size()])
