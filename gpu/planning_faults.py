"""Words the fault of a request whose pages would have several owners.

Planning finds out that a request is not supported; this module then says where, with plain
integers and for that one request. It decides nothing and costs nothing when all is well.
Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].
"""

from __future__ import annotations

from ownerlanes.gpu.validation import Batch
from ownerlanes.reference.contract import (
    LaneLayout,
    RoundRobinTokens,
    UnsupportedPagePlanError,
    ZigzagTokens,
)


def plan_fault(
    batch: Batch, index: int, first_lane: int, layout: LaneLayout
) -> UnsupportedPagePlanError:
    """The error for an unsupported request: the lowest page at fault and the lanes found there.

    `first_lane` is the planned owner of its first touched page, before the phase. With an open
    phase the fault told is that of phase 0.
    """
    lanes, phase = layout.num_lanes, int(batch.phases[index])
    page = 0
    owners = _owners_of_page(batch, index, page, layout) or {first_lane}
    found = {(owner + phase) % lanes for owner in owners}
    if batch.partial[index]:
        found.add(int(batch.tail_lanes[index]))
    if len(found) == 1:
        page = _first_cut_page(batch, index, layout)
        owners = _owners_of_page(batch, index, page, layout)
        found = {(owner + phase) % lanes for owner in owners}
    return UnsupportedPagePlanError(
        request_index=index,
        page_position=int(batch.first_page[index]) + page,
        owners=sorted(found),
    )


def _token_blocks(batch: Batch, index: int, pad: int, lanes: int) -> tuple[int, int]:
    """Tokens in a block of ZigzagTokens, and how many blocks have one more."""
    return divmod(int(batch.new_tokens[index]) + pad, 2 * lanes)


def _first_cut_page(batch: Batch, index: int, layout: LaneLayout) -> int:
    """The first touched page that a block or run of tokens ends inside, with another lane next."""
    size, lanes = layout.page_size, layout.num_lanes
    prefix_len, offset = int(batch.prefix_len[index]), int(batch.offset[index])
    match batch.splits[index]:
        case ZigzagTokens(pad):
            each, larger = _token_blocks(batch, index, pad, lanes)
            ends = (b * each + min(b, larger) for b in range(1, 2 * lanes) if b != lanes)
            return next((offset + end) // size for end in ends if (offset + end) % size)
        case RoundRobinTokens(run):
            end = (prefix_len // run + 1) * run
            if end % size == 0:  # then the next one is not, or pages would divide the runs
                end += run
            return end // size - int(batch.first_page[index])
        case split:
            raise AssertionError(f"{split!r} cannot cut a page")


def _owners_of_page(batch: Batch, index: int, page: int, layout: LaneLayout) -> set[int]:
    """The base owners of the new tokens on one touched page; none when pages are what is dealt."""
    size, lanes = layout.page_size, layout.num_lanes
    offset = int(batch.offset[index])
    first = max(page * size - offset, 0)
    last = min((page + 1) * size - offset, int(batch.new_tokens[index])) - 1
    match batch.splits[index]:
        case ZigzagTokens(pad):
            each, larger = _token_blocks(batch, index, pad, lanes)

            def block(token: int) -> int:
                inside = larger * (each + 1)
                return token // (each + 1) if token < inside else larger + (token - inside) // each

            return {min(b, 2 * lanes - 1 - b) for b in range(block(first), block(last) + 1)}
        case RoundRobinTokens(run):
            prefix_len = int(batch.prefix_len[index])
            turn, last_turn = (prefix_len + first) // run, (prefix_len + last) // run
            return {t % lanes for t in range(turn, min(last_turn, turn + lanes) + 1)}
        case _:
            return set()
