"""Everything that the kernels of one allocation need to know, in one host buffer of int64.

One buffer is one copy to the device, whatever the batch. Its order is the kernels' too: `kernels`
reads it back at the same places. Nothing here is computed by page or by token, but for the list
that ExplicitOwners brings along.

    LANE_TABLES [5, R, N]  first rank, first rank - skip, start, run, gap; by request and lane
    required    [N]        new pages by lane
    REQUEST_COLUMNS [4, R] first token, page 0's place among the new pages, tail page (or -1),
                           what to add to a token's place in the batch to get its place in page 0
    listed      [L]        pages of ExplicitOwners

A *rank* numbers the pages that the batch takes of one lane, in flattened order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ownerlanes.gpu.page_math import Integers
from ownerlanes.gpu.planning import DEMAND, LISTED, START, Plan
from ownerlanes.gpu.planning_phases import LanePlan
from ownerlanes.gpu.validation import NO_PAGE, Batch

LANE_TABLES = 5
REQUEST_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Packed:
    """The parameters of one allocation, on the host.

    Attributes:
        buffer: int64, one-dimensional, as the module says.
        num_requests: R.
        request_columns: where the columns by request start.
        has_tails, has_listed: whether any request fills a partial page, or lists its owners.
        extend_offsets: R + 1 tokens before each request.
        page_offsets: R + 1 new pages before each request.
    """

    buffer: Integers
    num_requests: int
    request_columns: int
    has_tails: bool
    has_listed: bool
    extend_offsets: tuple[int, ...]
    page_offsets: tuple[int, ...]


class _Parts:
    """A new buffer and the views of its parts."""

    def __init__(self, count: int, lanes: int, listed: int) -> None:
        sizes = (LANE_TABLES * count * lanes, lanes, REQUEST_COLUMNS * count, listed)
        ends = list(accumulate(sizes))
        self.columns_start = ends[1]
        self.buffer = array = np.empty(ends[-1], dtype=np.int64)
        self.tables = array[: ends[0]].reshape(LANE_TABLES, count, lanes)
        self.required = array[ends[0] : ends[1]]
        self.columns = array[ends[1] : ends[2]].reshape(REQUEST_COLUMNS, count)
        self.listed = array[ends[2] :]


def pack_batch(batch: Batch, plan: Plan, lane_plan: LanePlan) -> Packed:
    """The parameters of a batch that fits the pool, so that its pages number less than 2**31."""
    count, lanes = lane_plan.tables.shape[1:]
    parts = _Parts(count, lanes, len(plan.listed))
    first_rank, origin = parts.tables[0], parts.tables[1]
    demand = lane_plan.tables[DEMAND]
    np.cumsum(demand, axis=0, out=first_rank)
    first_rank -= demand
    origin[:] = first_rank
    origin[np.arange(count), lane_plan.turns] -= plan.skip
    parts.tables[2:] = lane_plan.tables[START:]
    parts.required[:] = lane_plan.required
    parts.listed[:] = plan.listed
    extend_offsets = (0, *accumulate(batch.new_tokens.tolist()))
    page_offsets = (0, *accumulate((batch.touched - batch.partial).tolist()))
    first_token, page_base, tail_page, token_shift = parts.columns
    first_token[:] = extend_offsets[:-1]
    page_base[:] = page_offsets[:-1]
    page_base -= batch.partial
    tail_page[:] = batch.tail_pages
    np.subtract(batch.offset, first_token, out=token_shift)
    return Packed(
        buffer=parts.buffer,
        num_requests=count,
        request_columns=parts.columns_start,
        has_tails=bool(batch.partial.any()),
        has_listed=bool(len(plan.listed)),
        extend_offsets=extend_offsets,
        page_offsets=page_offsets,
    )


def pack_owners(owners: Integers, required: list[int]) -> Packed:
    """The parameters of alloc_pages: one request that lists the lane of each page."""
    parts = _Parts(1, len(required), len(owners))
    parts.tables[:2] = 0
    parts.tables[2, 0] = (0, *accumulate(required[:-1]))
    parts.tables[3] = 1
    parts.tables[4] = LISTED
    parts.required[:] = required
    parts.columns[:, 0] = (0, 0, NO_PAGE, 0)
    parts.listed[:] = np.argsort(owners, kind="stable")
    return Packed(
        buffer=parts.buffer,
        num_requests=1,
        request_columns=parts.columns_start,
        has_tails=False,
        has_listed=True,
        extend_offsets=(0, 0),
        page_offsets=(0, len(owners)),
    )
