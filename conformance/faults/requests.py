"""Faults in what is refused before anything happens: malformed requests, unsupported plans.

Each breaks one obligation of C-UNSUPPORTED-PLANS: something is accepted, rounded, or reported as
another fault than it is. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool
from ownerlanes.reference.contract import (
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    RoundRobinPages,
    UnsupportedPagePlanError,
)
from ownerlanes.reference.validation import touched_pages

PLANNED = "allocator.ReferenceAllocator._planned"
TAIL = "allocator.ReferenceAllocator._check_tail_page"
CHECKED = "validation._checked"

Owners = list[frozenset[int]]


@plant("C-UNSUPPORTED-PLANS/1", CHECKED)
def decreasing_lengths_taken_for_an_empty_extend(
    original: Function, request: Any, layout: LaneLayout
) -> Any:
    """A seq_len below the prefix_len is raised to it."""
    if isinstance(request, ExtendRequest):
        lengths = (request.prefix_len, request.seq_len)
        if set(map(type, lengths)) == {int} and 0 <= request.seq_len < request.prefix_len:
            request = replace(request, seq_len=request.prefix_len)
    return original(request, layout)


@plant("C-UNSUPPORTED-PLANS/1", CHECKED)
def phase_taken_modulo_the_lanes(
    original: Function, request: Any, layout: LaneLayout
) -> ExtendRequest:
    """A phase beyond the lanes wraps around in place of being refused."""
    if isinstance(request, ExtendRequest) and type(request.phase) is int and request.phase > 0:
        request = replace(request, phase=request.phase % layout.num_lanes)
    return ExtendRequest(**vars(original(request, layout)))


@plant("C-UNSUPPORTED-PLANS/1", CHECKED)
def missing_explicit_owners_are_lane_zero(
    original: Function, request: Any, layout: LaneLayout
) -> Any:
    """Explicit owners that are too few are filled up with lane 0."""
    if isinstance(request, ExtendRequest) and isinstance(request.split, ExplicitOwners):
        lengths = (request.prefix_len, request.seq_len)
        if set(map(type, lengths)) == {int} and 0 <= request.prefix_len <= request.seq_len < 2**20:
            missing = len(touched_pages(*lengths, layout)) - len(request.split.owners)
            split = ExplicitOwners((*request.split.owners, *(0,) * missing))
            request = replace(request, split=split)
    return original(request, layout)


@plant("C-UNSUPPORTED-PLANS/1", TAIL)
def tail_page_that_is_free_accepted(
    original: Function, self: Any, slot: int, *arguments: Any
) -> None:
    """A tail page is filled up although nobody has allocated it."""
    if pool.is_allocated(self._pool, self.layout.page_of_slot(slot)):
        original(self, slot, *arguments)


@plant("C-UNSUPPORTED-PLANS/1", "validation._checked_last_slot")
def offset_of_last_slot_not_checked(
    original: Function, last_slot: Any, prefix_len: int, layout: LaneLayout
) -> int:
    """last_slot may be any slot of its page."""
    if type(last_slot) is int and 0 <= last_slot < layout.num_slots:
        last_slot += (prefix_len - 1) % layout.page_size - last_slot % layout.page_size
    return int(original(last_slot, prefix_len, layout))


@plant("C-UNSUPPORTED-PLANS/1", PLANNED)
def last_malformed_request_reported(original: Function, self: Any, requests: Any) -> Any:
    """Of several malformed requests the last one is told."""
    try:
        return original(self, requests)
    except InvalidRequestError as fault:
        rest = list(requests)[fault.request_index + 1 :]
        good = [ExtendRequest(0, 0, RoundRobinPages())] * (fault.request_index + 1)
        with suppress(UnsupportedPagePlanError):
            self._planned([*good, *rest])
        raise


@plant("C-UNSUPPORTED-PLANS/2", TAIL)
def tail_page_filled_twice(
    original: Function, self: Any, slot: int, index: int, _: list[ExtendRequest]
) -> None:
    """Two requests of a batch may fill the same tail page."""
    original(self, slot, index, [])


@plant("C-UNSUPPORTED-PLANS/2", TAIL)
def earlier_request_blamed_for_a_shared_tail_page(
    original: Function, self: Any, slot: int, index: int, earlier: list[ExtendRequest]
) -> None:
    """Of two requests with one tail page the earlier is reported."""
    page = self.layout.page_of_slot(slot)
    for other, request in enumerate(earlier):
        if request.last_slot is not None and self.layout.page_of_slot(request.last_slot) == page:
            index = other
    original(self, slot, index, earlier)


@plant("C-UNSUPPORTED-PLANS/3", CHECKED)
def last_slot_checked_where_it_is_ignored(
    original: Function, request: Any, layout: LaneLayout
) -> Any:
    """last_slot must be a slot of the layout even where there is no tail page."""
    checked = original(request, layout)
    slot = request.last_slot
    if slot is not None and not (type(slot) is int and 0 <= slot < layout.num_slots):
        raise InvalidArgumentError(f"last_slot: expected a slot, found {slot!r}")
    return checked


@plant("C-UNSUPPORTED-PLANS/5", "validation.as_index", "layout.as_index")
def bool_taken_for_an_integer(original: Function, value: Any, *arguments: Any) -> int:
    """True is 1 and False is 0."""
    return int(value) if isinstance(value, bool) else int(original(value, *arguments))


@plant("C-UNSUPPORTED-PLANS/5", "validation.as_index", "layout.as_index")
def integers_of_other_types_refused(
    original: Function, value: Any, name: str, *arguments: Any
) -> int:
    """Only int is an integer, not what has `__index__`."""
    if not isinstance(value, int):
        raise InvalidArgumentError(f"{name}: expected an int, found {value!r}")
    return int(original(value, name, *arguments))


@plant("C-UNSUPPORTED-PLANS/6", CHECKED)
def runs_beyond_16_bits_refused(original: Function, request: Any, layout: LaneLayout) -> Any:
    """A run of 2**16 or more is refused."""
    checked = original(request, layout)
    if getattr(request.split, "run", 0) >= 2**16:
        raise InvalidArgumentError("run: expected at most 65535")
    return checked


@plant("C-UNSUPPORTED-PLANS/6", "planning.owners_by_page")
def pads_wrap_at_32_bits(original: Function, request: ExtendRequest, layout: LaneLayout) -> Owners:
    """T + pad and E + pad are computed in int32; below 0 they count as no padding."""
    pad = getattr(request.split, "pad", 0)
    if pad + request.seq_len - request.prefix_len >= 2**31:
        split: Any = type(request.split)
        request = replace(request, split=split())
    return list(original(request, layout))


@plant("C-UNSUPPORTED-PLANS/7", PLANNED)
def last_unsupported_plan_reported(original: Function, self: Any, requests: Any) -> Any:
    """Of several requests without a supported plan the last one is told."""
    try:
        return original(self, requests)
    except UnsupportedPagePlanError as fault:
        given = list(requests)
        given[fault.request_index] = ExtendRequest(0, 0, RoundRobinPages())
        try:
            self._planned(given)
        except UnsupportedPagePlanError as later:
            raise later from None
        raise


@plant("C-UNSUPPORTED-PLANS/8", "planning.plan")
def highest_page_position_told(original: Function, request: Any, *arguments: Any) -> Any:
    """Of several pages with two lanes the last one is told."""
    layout, index, phase, by_page = arguments
    told: list[UnsupportedPagePlanError] = []
    for end in range(len(by_page)):
        trimmed = [*(frozenset([min(owners)]) for owners in by_page[:end]), *by_page[end:]]
        try:
            original(replace(request, last_slot=None), layout, index, phase, trimmed)
        except UnsupportedPagePlanError as fault:
            told.append(fault)
    if told:
        raise told[-1]
    return original(request, *arguments)


@plant("C-UNSUPPORTED-PLANS/8", "planning.plan")
def page_position_relative_to_the_prefix(original: Function, request: Any, *arguments: Any) -> Any:
    """The page position of an unsupported plan counts from the first touched page."""
    try:
        return original(request, *arguments)
    except UnsupportedPagePlanError as fault:
        raise UnsupportedPagePlanError(
            request_index=fault.request_index,
            page_position=fault.page_position - request.prefix_len // arguments[0].page_size,
            owners=fault.owners,
        ) from None


def _other_owners(original: Function, arguments: tuple[Any, ...], change: Any) -> Any:
    """A plan whose fault tells other owners."""
    try:
        return original(*arguments)
    except UnsupportedPagePlanError as fault:
        raise UnsupportedPagePlanError(
            request_index=fault.request_index,
            page_position=fault.page_position,
            owners=change(fault.owners),
        ) from None


@plant("C-UNSUPPORTED-PLANS/9", "planning.plan")
def owners_of_a_fault_descending(original: Function, *arguments: Any) -> Any:
    """The lanes of an unsupported page are told in descending order."""
    return _other_owners(original, arguments, lambda owners: owners[::-1])


@plant("C-UNSUPPORTED-PLANS/9", "planning.plan")
def first_two_owners_of_a_fault_only(original: Function, *arguments: Any) -> Any:
    """Of three or more lanes on an unsupported page two are told."""
    return _other_owners(original, arguments, lambda owners: owners[:2])


@plant("C-UNSUPPORTED-PLANS/10", "allocator.supported_plans")
def open_phase_without_a_plan_told_as_the_last_phase(
    original: Function, request: ExtendRequest, layout: LaneLayout, index: int
) -> Any:
    """For phase=None with no supported phase, the fault told is that of phase N-1."""
    try:
        return original(request, layout, index)
    except UnsupportedPagePlanError:
        if request.phase is None:
            original(replace(request, phase=layout.num_lanes - 1), layout, index)
        raise


@plant("C-UNSUPPORTED-PLANS/11", PLANNED)
def evictor_counted_before_the_checks(original: Function, self: Any, requests: Any) -> Any:
    """evictable_pages() is asked before the batch is looked at."""
    count = self._evictor.count_once()
    if count is not None:
        count()
    return original(self, requests)


@plant("C-UNSUPPORTED-PLANS/12", "planning.owners_by_page")
def unaligned_zigzag_rounded_to_pages(
    original: Function, request: ExtendRequest, layout: LaneLayout
) -> Owners:
    """A page that a token split cuts goes to the owner of its first token."""
    return [frozenset([min(owners)]) for owners in original(request, layout)]


@plant("C-UNSUPPORTED-PLANS/12", "planning.plan")
def pages_follow_the_tail_page(original: Function, request: ExtendRequest, *arguments: Any) -> Any:
    """A tail page on another lane than planned rotates the whole request there."""
    layout, index, _, by_page = arguments
    try:
        return original(request, *arguments)
    except UnsupportedPagePlanError:
        for other in range(layout.num_lanes):
            try:
                return original(request, layout, index, other, by_page)
            except UnsupportedPagePlanError:
                continue
        raise


@plant("C-UNSUPPORTED-PLANS/7", "planning.token_by_token")
def last_page_not_looked_at(
    original: Function, tokens: Iterable[int], owners: Iterable[int], page_size: int
) -> Owners:
    """The last page of a token split is taken for its lowest owner, cut or not."""
    found: Owners = original(tokens, owners, page_size)
    return [*found[:-1], *(frozenset([min(owners)]) for owners in found[-1:])]
