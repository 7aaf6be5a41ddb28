"""Faults in who owns a page: the splits, their padding, the phase of a plan.

Each breaks one obligation of C-PAGE-OWNERSHIP, whichever pages are free and whatever else is in
the batch; none of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import planning
from ownerlanes.reference.contract import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    ZigzagPages,
    ZigzagTokens,
)
from ownerlanes.reference.validation import touched_pages

Owners = list[frozenset[int]]


@plant("C-PAGE-OWNERSHIP/1", "planning.blocks")
def remainder_on_the_last_blocks(_: Function, items: int, count: int) -> Iterator[int]:
    """Of n items in k blocks the last n % k are one larger, not the first."""
    sizes = (items // count + (block >= count - items % count) for block in range(count))
    return chain.from_iterable(repeat(block, size) for block, size in enumerate(sizes))


@plant("C-PAGE-OWNERSHIP/2", "planning.blocks")
def owner_off_by_one_after_the_remainder(_: Function, items: int, count: int) -> Iterator[int]:
    """The first item after the larger blocks goes to the block before its own."""
    size, larger = divmod(items, count)
    sizes = [size + (block < larger) for block in range(count)]
    if larger and size:
        sizes[larger - 1] += 1
        sizes[larger] -= 1
    return chain.from_iterable(repeat(block, size) for block, size in enumerate(sizes))


@plant("C-PAGE-OWNERSHIP/3", "planning.blocks")
def blocks_rounded_up(_: Function, items: int, count: int) -> Iterator[int]:
    """Every block has ceil(n / k) items, so that the last ones run dry."""
    size = max(1, -(-items // count))
    return chain.from_iterable(repeat(block, size) for block in range(count))


@plant("C-PAGE-OWNERSHIP/1", "planning.zigzag")
def zigzag_without_the_way_back(_: Function, items: int, num_lanes: int) -> Iterator[int]:
    """The 2N blocks of a zigzag go round twice: block b -> b mod N."""
    return (block % num_lanes for block in planning.blocks(items, 2 * num_lanes))


@plant("C-PAGE-OWNERSHIP/2", "planning.owners_by_page")
def zigzag_over_the_whole_sequence(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """ZigzagTokens deals all tokens of the request, the prefix included."""
    found: Owners = original(request, layout)
    if not isinstance(request.split, ZigzagTokens):
        return found
    whole: Owners = original(replace(request, prefix_len=0), layout)
    return whole[len(whole) - len(found) :] if found else found


@plant("C-PAGE-OWNERSHIP/4", "planning.owners_by_page")
def page_positions_relative_to_the_prefix(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """RoundRobinPages counts touched pages from 0, not page positions of the request."""
    if not isinstance(request.split, RoundRobinPages):
        return list(original(request, layout))
    pages = touched_pages(request.prefix_len, request.seq_len, layout)
    run = request.split.run
    return planning.page_by_page(i // run % layout.num_lanes for i in range(len(pages)))


@plant("C-PAGE-OWNERSHIP/4", "planning.owners_by_page")
def run_ignored(original: Function, request: ExtendRequest, layout: LaneLayout) -> Owners:
    """RoundRobinPages(run) deals single pages, whatever the run."""
    if isinstance(request.split, RoundRobinPages):
        request = replace(request, split=RoundRobinPages())
    return list(original(request, layout))


@plant("C-PAGE-OWNERSHIP/5", "planning.owners_by_page")
def token_positions_relative_to_the_prefix(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """RoundRobinTokens counts new tokens from 0, not token positions of the request."""
    if not isinstance(request.split, RoundRobinTokens):
        return list(original(request, layout))
    run, tokens = request.split.run, range(request.prefix_len, request.seq_len)
    owners = (i // run % layout.num_lanes for i in range(len(tokens)))
    return planning.token_by_token(tokens, owners, layout.page_size)


@plant("C-PAGE-OWNERSHIP/6", "planning.owners_by_page")
def explicit_owners_begin_after_the_tail_page(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """With a tail page, new page i gets owners[i] in place of owners[i+1]."""
    found: Owners = original(request, layout)
    if isinstance(request.split, ExplicitOwners) and request.last_slot is not None:
        return [found[0], *found[:-1]]
    return found


@plant("C-PAGE-OWNERSHIP/6", "planning.owners_by_page")
def explicit_owners_dealt_backwards(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """ExplicitOwners are given to the touched pages from the last one on."""
    found: Owners = original(request, layout)
    return found[::-1] if isinstance(request.split, ExplicitOwners) else found


@plant("C-PAGE-OWNERSHIP/7", "capacity.new_pages", "allocator.new_pages")
def padding_gets_pages(
    original: Function, request: ExtendRequest, lanes: tuple[int, ...]
) -> tuple[int, ...]:
    """A page is allocated for the first padding item of ZigzagPages and ContiguousPages."""
    pages: tuple[int, ...] = original(request, lanes)
    padded = isinstance(request.split, ZigzagPages | ContiguousPages) and request.split.pad > 0
    return (*pages, lanes[-1]) if padded and lanes else pages


@plant("C-PAGE-OWNERSHIP/1", "planning.owners_by_page")
def padding_ignored(original: Function, request: ExtendRequest, layout: LaneLayout) -> Owners:
    """Padding does not move the block boundaries of ZigzagPages."""
    if isinstance(request.split, ZigzagPages):
        request = replace(request, split=ZigzagPages())
    return list(original(request, layout))


def with_phase(original: Function, change: Any) -> Any:
    """A plan under another phase than asked for."""

    def plan(
        request: ExtendRequest, layout: LaneLayout, index: int, phase: int, by_page: Owners
    ) -> Any:
        phase = change(index, phase) % layout.num_lanes
        return original(request, layout, index, phase, by_page)

    return plan


@plant("C-PAGE-OWNERSHIP/8", "planning.plan")
def phase_applied_twice(original: Function, *arguments: Any) -> Any:
    """lane = owner + 2 * phase."""
    return with_phase(original, lambda _, phase: 2 * phase)(*arguments)


@plant("C-PAGE-OWNERSHIP/8", "planning.plan")
def phase_rotates_backwards(original: Function, *arguments: Any) -> Any:
    """lane = owner - phase."""
    return with_phase(original, lambda _, phase: -phase)(*arguments)


@plant("C-PAGE-OWNERSHIP/8", "planning.plan")
def phase_of_the_first_request_only(original: Function, *arguments: Any) -> Any:
    """Only the first request of a batch is rotated by its phase."""
    return with_phase(original, lambda index, phase: 0 if index else phase)(*arguments)


@plant("C-PAGE-OWNERSHIP/8", "planning.plan")
def phase_not_applied_to_the_last_page(
    original: Function,
    request: ExtendRequest,
    layout: LaneLayout,
    index: int,
    phase: int,
    by_page: Owners,
) -> tuple[int, ...]:
    """The last of several touched pages is not rotated."""
    lanes: tuple[int, ...] = original(request, layout, index, phase, by_page)
    return (*lanes[:-1], min(by_page[-1])) if len(lanes) > 1 else lanes


@plant("C-PAGE-OWNERSHIP/9", "planning.plan")
def last_page_on_another_lane_than_its_tokens(original: Function, *arguments: Any) -> Any:
    """The last of several touched pages is planned on the lane after its owner's."""
    lanes: tuple[int, ...] = original(*arguments)
    after = (lanes[-1] + 1) % arguments[1].num_lanes if lanes else 0
    return (*lanes[:-1], after) if len(lanes) > 1 else lanes


@plant("C-PAGE-OWNERSHIP/10", "planning.plan")
def lane_of_the_tail_page_ignored(
    original: Function, request: ExtendRequest, *arguments: Any
) -> Any:
    """A tail page is filled up although it lies on a lane that does not own it."""
    return original(replace(request, last_slot=None), *arguments)
