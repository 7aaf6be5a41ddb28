"""The kernels of an allocation: select pages, write slots, look at tail pages.

Each program writes places of its own, computed from the state before the launch, so the result
depends neither on the order of programs nor on how they interleave; there are no atomics. All
parameters come in one int64 buffer whose order `packing` defines. A kernel checks nothing: the
host launches it only for a batch that fits. Serves [[RFC-0001:C-DETERMINISTIC-SELECTION]] and
[[RFC-0001:C-FLATTENED-ORDER]].
"""

from __future__ import annotations

import triton
import triton.language as tl

from ownerlanes.gpu import packing

# The order of the parameters, which kernels may read as constants only.
LANE_TABLES = tl.constexpr(packing.LANE_TABLES)
FIRST_RANK = tl.constexpr(packing.FIRST_RANK)
ORIGIN = tl.constexpr(packing.ORIGIN)
START = tl.constexpr(packing.START)
RUN = tl.constexpr(packing.RUN)
GAP = tl.constexpr(packing.GAP)
REQUEST_COLUMNS = tl.constexpr(packing.REQUEST_COLUMNS)
FIRST_TOKEN = tl.constexpr(packing.FIRST_TOKEN)
PAGE_BASE = tl.constexpr(packing.PAGE_BASE)
TAIL_PAGE = tl.constexpr(packing.TAIL_PAGE)
TOKEN_SHIFT = tl.constexpr(packing.TOKEN_SHIFT)

HOST_INTEGERS = ["num_requests", "num_tokens", "num_lanes", "search_steps", "stride", "count"]
"""Arguments that change from call to call: compiled once for all values, not for each sort."""


@triton.jit
def last_not_above(table, spacing, count, value, search_steps):
    """The last row r < count with table[r * spacing] <= value; ascending rows, the first is 0."""
    low = value * 0
    high = low + (count - 1)
    for _ in range(search_steps):
        middle = (low + high + 1) // 2
        reached = tl.load(table + middle * spacing) <= value
        low = tl.where(reached, middle, low)
        high = tl.where(reached, high, middle - 1)
    return low


@triton.jit(do_not_specialize=HOST_INTEGERS)
def select_kernel(
    flags,
    pages,
    parameters,
    num_requests,
    num_lanes,
    stride,
    pages_per_lane,
    search_steps,
    INTERLEAVED: tl.constexpr,
    HAS_LISTED: tl.constexpr,
    LANES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Take the first free pages of each lane and put them where the batch's order has them.

    flags: uint8 [num_lanes, stride], 1 for a free page; those taken become 0.
    pages: int64, the new page ids of the batch in flattened order.
    Each program does LANES lanes, the last one over where lanes run out, with the same result.
    """
    requests = num_requests.to(tl.int64)
    lanes = num_lanes.to(tl.int64)
    lane = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)[:, None]
    lane = tl.minimum(lane, lanes - 1)
    table = requests * lanes
    required = tl.load(parameters + LANE_TABLES * table + lane)
    columns = parameters + LANE_TABLES * table + lanes
    selected = required * 0
    scanned = stride.to(tl.int64) * 0
    missing = tl.max(required)
    while (scanned < stride) & (missing > 0):
        local_page = scanned + tl.arange(0, BLOCK)[None, :]
        place = flags + lane * stride + local_page
        free = tl.load(place)
        rank = selected + tl.cumsum(free.to(tl.int32), 1) - free
        taken = (free != 0) & (rank < required)
        selected += tl.sum(taken.to(tl.int64), 1)[:, None]
        if tl.max(taken.to(tl.int32)) > 0:
            tl.store(place, tl.where(taken, 0, free))
            ranks = parameters + FIRST_RANK * table + lane
            request = last_not_above(ranks, lanes, requests, rank, search_steps)
            cell = parameters + request * lanes + lane
            number = rank - tl.load(cell + ORIGIN * table)
            start = tl.load(cell + START * table)
            gap = tl.load(cell + GAP * table)
            touched = start + number + number // tl.load(cell + RUN * table) * gap
            if HAS_LISTED:
                listed = columns + REQUEST_COLUMNS * requests + start + number
                entry = tl.load(listed, mask=taken & (gap < 0), other=0)
                touched = tl.where(gap < 0, entry, touched)
            base = tl.load(columns + PAGE_BASE * requests + request)
            page = local_page * lanes + lane if INTERLEAVED else lane * pages_per_lane + local_page
            tl.store(pages + base + touched, page, mask=taken)
        scanned += BLOCK
        missing = tl.max(required - selected)


@triton.jit(do_not_specialize=HOST_INTEGERS)
def flatten_kernel(
    slots,
    pages,
    columns,
    num_requests,
    num_tokens,
    search_steps,
    PAGE_SIZE: tl.constexpr,
    HAS_TAILS: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the slot of every new token.

    slots: int64 [num_tokens rounded up to BLOCK]; those past num_tokens repeat the last token's.
    pages: int64, the new page ids of the batch in flattened order.
    columns: int64 [4, num_requests], the parameters by request.
    WIDE: whether token numbers need int64.
    """
    index = tl.int64 if WIDE else tl.int32
    position = tl.program_id(0).to(index) * BLOCK + tl.arange(0, BLOCK)
    token = tl.minimum(position, num_tokens.to(index) - 1)
    first_tokens = columns + FIRST_TOKEN * num_requests
    request = last_not_above(first_tokens, 1, num_requests, token, search_steps)
    column = columns + request
    in_pages = token + tl.load(column + TOKEN_SHIFT * num_requests).to(index)
    touched = in_pages // PAGE_SIZE
    place = pages + (tl.load(column + PAGE_BASE * num_requests).to(index) + touched)
    if HAS_TAILS:
        tail = tl.load(column + TAIL_PAGE * num_requests)
        in_tail = (tail >= 0) & (touched == 0)
        page = tl.where(in_tail, tail, tl.load(place, mask=~in_tail, other=0))
    else:
        page = tl.load(place)
    tl.store(slots + position, page * PAGE_SIZE + (in_pages - touched * PAGE_SIZE))


@triton.jit(do_not_specialize=HOST_INTEGERS)
def first_free_kernel(flags, places, first, count, BLOCK: tl.constexpr):
    """Which of some pages is the first that is free; `count` when none is.

    flags: uint8, 1 for a free page. places: int64 [count], indices into flags. first: int64 [1].
    One program.
    """
    found = count.to(tl.int64)
    for start in range(0, count, BLOCK):
        number = tl.arange(0, BLOCK).to(tl.int64) + start
        asked = number < count
        place = tl.load(places + number, mask=asked, other=0)
        free = tl.load(flags + place, mask=asked, other=0) != 0
        found = tl.minimum(found, tl.min(tl.where(free, number, found)))
    tl.store(first, found)
