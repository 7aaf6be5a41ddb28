"""The two launches of a direct write: one looks at every slot, the other stores the rows.

`judge_rows` finds the first row that is at fault and writes nothing of a pool; `write_rows` trusts
that every slot is in range and leaves out the rows of other lanes. Both take layouts as constants.
Serves [[RFC-0001:C-DIRECT-WRITE]].
"""

from __future__ import annotations

import triton
import triton.language as tl

from ownerlanes.gpu.slot_math import lane_of_slot, local_slot


@triton.jit(do_not_specialize=["count", "lane"])
def judge_rows(
    slots_ptr,  # integers [count]
    count: tl.int64,
    lane: tl.int64,
    faults_ptr,  # int64 [2], both `count` before
    NUM_SLOTS: tl.constexpr,
    NUM_LANES: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    PAGES_PER_LANE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Lower faults[0] to the first row out of range, faults[1] to the first of another lane."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(slots_ptr + row, mask=row < count, other=0).to(tl.int64)
    in_range = (slot >= 0) & (slot < NUM_SLOTS)
    owner = lane_of_slot(
        tl.where(in_range, slot, 0), NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED
    )
    # Rows past the end, whatever they seem to be, are not below `count` and lower nothing.
    outside = tl.min(tl.where(in_range, count, row), 0)
    foreign = tl.min(tl.where(in_range & (owner != lane), row, count), 0)
    tl.atomic_min(faults_ptr, outside, mask=outside < count)
    tl.atomic_min(faults_ptr + 1, foreign, mask=foreign < count)


@triton.jit(do_not_specialize=["count", "lane"])
def write_rows(
    rows_ptr,  # integers as wide as the elements: row i starts at i * row_stride
    row_stride,
    slots_ptr,  # integers [count], all in range
    count: tl.int64,
    lane: tl.int64,
    pool_ptr,  # as rows: the lane's slot i starts at i * pool_stride
    pool_stride,
    width,  # elements in a row
    NUM_LANES: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    PAGES_PER_LANE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Store the rows of this lane's slots at their local slots."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    live = row < count
    slot = tl.load(slots_ptr + row, mask=live, other=0).to(tl.int64)
    owner = lane_of_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED)
    target = local_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED)
    mask = (live & (owner == lane))[:, None] & (column < width)[None, :]
    values = tl.load(rows_ptr + row[:, None] * row_stride + column[None, :], mask=mask)
    tl.store(pool_ptr + target[:, None] * pool_stride + column[None, :], values, mask=mask)
