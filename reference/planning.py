"""Which lane each page of one request belongs to, derived from the split's own definition.

A plan is a function of one request, its phase and the layout; nothing here sees a batch or which
pages are free. Owners are enumerated item by item, so that each rule can be checked against the
RFC by eye; this module never looks for a closed form.

Terms: the *touched pages* are those that the new tokens lie on, by position in the request; the
first of them is the *tail page* when the prefix ends inside it, so that it is placed already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice, repeat

from ownerlanes.reference.contract import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
    shown,
)
from ownerlanes.reference.validation import checked_request, touched_pages


def blocks(items: int, count: int) -> Iterator[int]:
    """The block of each item: sizes items // count, the first items % count blocks one larger."""
    sizes = (items // count + (block < items % count) for block in range(count))
    return chain.from_iterable(repeat(block, size) for block, size in enumerate(sizes))


def zigzag(items: int, num_lanes: int) -> Iterator[int]:
    """The owner of each item dealt in 2N blocks, forth and back: block b -> min(b, 2N-1-b)."""
    return (min(block, 2 * num_lanes - 1 - block) for block in blocks(items, 2 * num_lanes))


def owners_by_page(request: ExtendRequest, layout: LaneLayout) -> list[frozenset[int]]:
    """The distinct owners, before phase, of the new tokens on each touched page.

    Serves [[RFC-0001:C-PAGE-OWNERSHIP]].
    """
    lanes = layout.num_lanes
    pages = touched_pages(request.prefix_len, request.seq_len, layout)
    tokens = range(request.prefix_len, request.seq_len)
    match request.split:
        case ZigzagPages(pad):
            return page_by_page(islice(zigzag(len(pages) + pad, lanes), len(pages)))
        case ContiguousPages(pad):
            return page_by_page(islice(blocks(len(pages) + pad, lanes), len(pages)))
        case RoundRobinPages(run):
            return page_by_page(position // run % lanes for position in pages)
        case ExplicitOwners():
            return page_by_page(request.split.owners)
        case ZigzagTokens(pad):
            dealt = islice(zigzag(len(tokens) + pad, lanes), len(tokens))
            return token_by_token(tokens, dealt, layout.page_size)
        case RoundRobinTokens(run):
            in_turn = (token // run % lanes for token in tokens)
            return token_by_token(tokens, in_turn, layout.page_size)


def page_by_page(owners: Iterable[int]) -> list[frozenset[int]]:
    """One owner a page: all its new tokens have it."""
    return [frozenset([owner]) for owner in owners]


def token_by_token(
    tokens: Iterable[int], owners: Iterable[int], page_size: int
) -> list[frozenset[int]]:
    """The owners of the tokens that share a page, page by page."""
    placed = zip(tokens, owners, strict=True)
    pages = groupby(placed, key=lambda token_and_owner: token_and_owner[0] // page_size)
    return [frozenset(owner for _, owner in on_page) for _, on_page in pages]


def plan(
    request: ExtendRequest,
    layout: LaneLayout,
    request_index: int,
    phase: int,
    by_page: list[frozenset[int]],
) -> tuple[int, ...]:
    """The lane of each touched page under one phase; `by_page` is owners_by_page's answer.

    Raises:
        UnsupportedPagePlanError: the lowest page with new tokens of two lanes, or the tail page
            when it lies on a lane that does not own it ([[RFC-0001:C-UNSUPPORTED-PLANS]]).
    """
    lanes: list[int] = []
    pages = touched_pages(request.prefix_len, request.seq_len, layout)
    for position, owners in zip(pages, by_page, strict=True):
        found = {(owner + phase) % layout.num_lanes for owner in owners}
        if request.last_slot is not None and not lanes:
            found.add(layout.lane_of_slot(request.last_slot))
        if len(found) > 1:
            raise UnsupportedPagePlanError(
                request_index=request_index, page_position=position, owners=sorted(found)
            )
        lanes.extend(found)
    return tuple(lanes)


def supported_plans(
    request: ExtendRequest, layout: LaneLayout, request_index: int
) -> dict[int, tuple[int, ...]]:
    """phase -> lane of each touched page, for each supported phase it may get, ascending.

    The request is a checked one. An empty extend that leaves the choice open gets phase 0.

    Raises:
        UnsupportedPagePlanError: there is no such phase. The fault told is that of the request's
            own phase, or of phase 0 where the choice was open.
    """
    by_page = owners_by_page(request, layout)
    if request.phase is not None:
        phases = range(request.phase, request.phase + 1)
    else:
        phases = range(layout.num_lanes) if by_page else range(1)
    plans: dict[int, tuple[int, ...]] = {}
    faults: list[UnsupportedPagePlanError] = []
    for phase in phases:
        try:
            plans[phase] = plan(request, layout, request_index, phase, by_page)
        except UnsupportedPagePlanError as fault:
            faults.append(fault)
    if not plans:
        raise faults[0]
    return plans


def new_pages(request: ExtendRequest, lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The lanes of the pages to be taken: those of all touched pages but the tail page."""
    return lanes if request.last_slot is None else lanes[1:]


def page_owners(request: ExtendRequest, layout: LaneLayout) -> tuple[int, ...]:
    """The lane of each page that the request's new tokens touch, to look at.

    A partly filled first page is included. `phase=None` gives the smallest supported phase, which
    is what an allocator with every page free would choose.

    Raises:
        InvalidArgumentError: `layout` is not a LaneLayout.
        InvalidRequestError, UnsupportedPagePlanError: as alloc_extend would, with index 0; whether
            the page of `last_slot` is allocated is not known here.
    """
    if not isinstance(layout, LaneLayout):
        raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
    checked = checked_request(request, layout, 0)
    return next(iter(supported_plans(checked, layout, 0).values()))
