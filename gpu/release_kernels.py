"""The two launches of a release: one judges every id, the other frees the pages.

`judge_release` only looks and leaves one mark when anything is wrong; `apply_release` then does
nothing, or makes each page free exactly once. All atomics are maxima, bitwise ors and sums, so the
outcome does not depend on the order of programs. Serves [[RFC-0001:C-RELEASE]].
"""

from __future__ import annotations

import triton
import triton.language as tl

from ownerlanes.gpu.slot_math import lane_of_page, local_page_of_page, page_of_slot

FLAGS_PER_WORD = tl.constexpr(4)
"""Atomics work on 32-bit words; a flag is one byte of its word, lowest first."""


@triton.jit(do_not_specialize=["count", "call"])
def judge_release(
    ids_ptr,  # integers [count]: slots, or pages when PAGE_SIZE is 1
    count: tl.int64,
    flags_ptr,  # uint8 [num_lanes, STRIDE]
    report_ptr,  # int64 [1 + num_lanes]: the latest refused call, then pages released by lane
    call: tl.int64,
    NUM_IDS: tl.constexpr,
    RESERVED: tl.constexpr,
    NUM_LANES: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    PAGES_PER_LANE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    STRIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Raise report[0] to `call` when an id is out of range, reserved or free."""
    entry = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = entry < count
    ids = tl.load(ids_ptr + entry, mask=live, other=0).to(tl.int64)
    in_range = (ids >= 0) & (ids < NUM_IDS)
    page = page_of_slot(tl.where(in_range, ids, 0), PAGE_SIZE)
    lane = lane_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
    local = local_page_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
    known = live & in_range & (local >= RESERVED)
    free = tl.load(flags_ptr + lane * STRIDE + local, mask=known, other=1)
    refused = tl.max((live & (free != 0)).to(tl.int32), 0)
    tl.atomic_max(report_ptr, call, mask=refused != 0)


@triton.jit(do_not_specialize=["count", "call", "order"])
def apply_release(
    ids_ptr,  # as judged
    count: tl.int64,
    words_ptr,  # the flags as int32 [num_lanes, STRIDE / 4]
    report_ptr,
    call: tl.int64,
    verdicts_ptr,  # uint8: [order] becomes 1 when the call was refused, else 0
    order: tl.int64,
    NUM_LANES: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    PAGES_PER_LANE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    STRIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Free the pages of a call that was not refused; of equal pages the first atomic counts."""
    refused = tl.load(report_ptr) == call
    tl.store(verdicts_ptr + order, refused.to(tl.uint8), mask=tl.program_id(0) == 0)
    if not refused:
        entry = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        live = entry < count
        page = page_of_slot(tl.load(ids_ptr + entry, mask=live, other=0).to(tl.int64), PAGE_SIZE)
        lane = lane_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
        local = local_page_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
        flag = (1 << (8 * (local % FLAGS_PER_WORD))).to(tl.int32)
        word = (lane * STRIDE + local) // FLAGS_PER_WORD
        before = tl.atomic_or(words_ptr + word, flag, mask=live)
        first = live & ((before & flag) == 0)
        tl.atomic_add(report_ptr + 1 + lane, tl.full((BLOCK,), 1, tl.int64), mask=first)
