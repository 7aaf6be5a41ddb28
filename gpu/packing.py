"""Everything that the kernels of one allocation need to know, in one host buffer of int64.

One buffer is one copy to the device, whatever the batch. Its order is the kernels' too: `kernels`
reads it back at the same places. Nothing here is computed by page or by token, but for the list
that ExplicitOwners brings along.

    LANE_TABLES [5, R, N]    FIRST_RANK, ORIGIN (first rank - skip), START, RUN, GAP
    required [N]             new pages by lane
    REQUEST_COLUMNS [4, R]   FIRST_TOKEN in the batch, PAGE_BASE (touched page 0's place among the
                             batch's new pages), TAIL_PAGE (or NO_PAGE), TOKEN_SHIFT (what makes
                             a token's place in the batch one among the tokens of its pages)
    listed [L]               touched pages of ExplicitOwners

A *rank* numbers the pages that the batch takes of one lane, in flattened order. START, RUN and GAP
are those of `planning`, by lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ownerlanes.gpu import planning
from ownerlanes.gpu.page_math import Integers
from ownerlanes.gpu.planning import LISTED, Plan
from ownerlanes.gpu.planning_phases import LanePlan
from ownerlanes.gpu.validation import NO_PAGE, Batch

FIRST_RANK, ORIGIN, START, RUN, GAP = range(LANE_TABLES := 5)
FIRST_TOKEN, PAGE_BASE, TAIL_PAGE, TOKEN_SHIFT = range(REQUEST_COLUMNS := 4)


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
    first_rank, origin = parts.tables[FIRST_RANK], parts.tables[ORIGIN]
    demand = lane_plan.tables[planning.DEMAND]
    np.cumsum(demand, axis=0, out=first_rank)
    first_rank -= demand
    origin[:] = first_rank
    origin[np.arange(count), lane_plan.turns] -= plan.skip
    parts.tables[START:] = lane_plan.tables[planning.START :]
    parts.required[:] = lane_plan.required
    parts.listed[:] = plan.listed
    tokens_before, pages_before = np.zeros((2, count + 1), dtype=np.int64)
    np.cumsum(batch.new_tokens, out=tokens_before[1:])
    np.cumsum(batch.touched - batch.partial, out=pages_before[1:])
    columns = parts.columns
    columns[FIRST_TOKEN] = tokens_before[:-1]
    np.subtract(pages_before[:-1], batch.partial, out=columns[PAGE_BASE])
    columns[TAIL_PAGE] = batch.tail_pages
    np.subtract(batch.offset, columns[FIRST_TOKEN], out=columns[TOKEN_SHIFT])
    return Packed(
        buffer=parts.buffer,
        num_requests=count,
        request_columns=parts.columns_start,
        has_tails=bool(batch.partial.any()),
        has_listed=bool(len(plan.listed)),
        extend_offsets=tuple(tokens_before.tolist()),
        page_offsets=tuple(pages_before.tolist()),
    )


def pack_owners(owners: Integers, required: list[int]) -> Packed:
    """The parameters of alloc_pages: one request that lists the lane of each page."""
    parts = _Parts(1, len(required), len(owners))
    parts.tables[[FIRST_RANK, ORIGIN]] = 0
    parts.tables[START, 0] = (0, *accumulate(required[:-1]))
    parts.tables[RUN] = 1
    parts.tables[GAP] = LISTED
    parts.required[:] = required
    parts.columns[[FIRST_TOKEN, PAGE_BASE, TOKEN_SHIFT]] = 0
    parts.columns[TAIL_PAGE] = NO_PAGE
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
