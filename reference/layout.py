"""Where a page lives: the arithmetic between lanes, pages and slots.

A LaneLayout is immutable data and every accessor is a total, checked function of integers; it
never looks at which pages are free. Serves [[RFC-0001:C-OWNER-LANE-LAYOUT]].
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal, NewType, SupportsIndex, get_args

from ownerlanes.reference.errors import InvalidArgumentError, shown

Lane = NewType("Lane", int)
Page = NewType("Page", int)
Slot = NewType("Slot", int)
Placement = Literal["interleaved", "blocked"]

MAX_SLOTS = 2**63 - 1
"""Slots are int64 on the device, so the last slot of a layout must be one."""


def as_index(value: object, name: str, position: int | None = None) -> int:
    """`value` as an int: anything with `__index__` but bool, else InvalidArgumentError.

    The error names the argument, and the position in it where one is given.
    """
    if type(value) is int:  # most are; the protocol check below is slow
        return value
    where = name if position is None else f"{name}[{position}]"
    refusal = InvalidArgumentError(f"{where}: expected an integer, found {shown(value)}")
    if not isinstance(value, SupportsIndex) or _is_bool_or_array(value):
        raise refusal
    try:
        return operator.index(value)
    except Exception as fault:  # whatever __index__ raises, the argument is at fault
        raise refusal from fault


def _is_bool_or_array(value: object) -> bool:
    """Array libraries give `__index__` to boolean scalars and to arrays of one element too."""
    dtype, shape = getattr(value, "dtype", ""), getattr(value, "shape", ())
    return isinstance(value, bool) or str(dtype).endswith("bool") or tuple(shape) != ()


def index_in(value: object, name: str, low: int, high: int) -> int:
    """`value` as an int in [low, high), else InvalidArgumentError."""
    number = as_index(value, name)
    if not low <= number < high:
        raise InvalidArgumentError(
            f"{name}: expected {low} <= {name} < {high}, found {shown(number)}"
        )
    return number


@dataclass(frozen=True)
class LaneLayout:
    """A pool of `num_lanes * pages_per_lane` pages of `page_size` slots each.

    Page ids: `interleaved` numbers page = local_page * num_lanes + lane, `blocked` numbers page =
    lane * pages_per_lane + local_page. Slot ids: slot = page * page_size + offset. Local pages
    0 ... reserved_pages-1 of every lane are padding targets, never allocated nor freed.

    Raises:
        InvalidArgumentError: an argument is not an integer or out of range, or the pool has
            more than 2**63 - 1 slots.
    """

    num_lanes: int
    page_size: int
    pages_per_lane: int
    placement: Placement = "interleaved"
    reserved_pages: int = 1

    def __post_init__(self) -> None:
        for name, least in (
            ("num_lanes", 1),
            ("page_size", 1),
            ("pages_per_lane", 0),
            ("reserved_pages", 0),
        ):
            number = index_in(getattr(self, name), name, least, MAX_SLOTS + 1)
            object.__setattr__(self, name, number)
        if not isinstance(self.placement, str) or self.placement not in get_args(Placement):
            raise InvalidArgumentError(
                f"placement: expected 'interleaved' or 'blocked', found {shown(self.placement)}"
            )
        plain = "interleaved" if self.placement == "interleaved" else "blocked"
        object.__setattr__(self, "placement", plain)  # equal layouts write equal digests
        if self.reserved_pages > self.pages_per_lane:
            raise InvalidArgumentError(
                f"reserved_pages: expected at most pages_per_lane ({self.pages_per_lane}), "
                f"found {self.reserved_pages}"
            )
        if self.num_slots > MAX_SLOTS:
            raise InvalidArgumentError(
                f"num_lanes * pages_per_lane * page_size: expected at most {MAX_SLOTS} slots, "
                f"found {self.num_slots}"
            )

    @property
    def capacity(self) -> int:
        """Pages of each lane that can be allocated."""
        return self.pages_per_lane - self.reserved_pages

    @property
    def num_pages(self) -> int:
        """All pages, the reserved ones included."""
        return self.num_lanes * self.pages_per_lane

    @property
    def num_slots(self) -> int:
        """All slots, the reserved pages' included."""
        return self.num_pages * self.page_size

    def page(self, lane: int, local_page: int) -> Page:
        """The id of a lane's `local_page`-th page."""
        lane = index_in(lane, "lane", 0, self.num_lanes)
        local_page = index_in(local_page, "local_page", 0, self.pages_per_lane)
        if self.placement == "interleaved":
            return Page(local_page * self.num_lanes + lane)
        return Page(lane * self.pages_per_lane + local_page)

    def lane_of_page(self, page: int) -> Lane:
        """The owner lane of a page."""
        page = index_in(page, "page", 0, self.num_pages)
        if self.placement == "interleaved":
            return Lane(page % self.num_lanes)
        return Lane(page // self.pages_per_lane)

    def local_page(self, page: int) -> int:
        """The index of a page in its own lane."""
        page = index_in(page, "page", 0, self.num_pages)
        if self.placement == "interleaved":
            return page // self.num_lanes
        return page % self.pages_per_lane

    def page_of_slot(self, slot: int) -> Page:
        """The page that a slot is in."""
        return Page(index_in(slot, "slot", 0, self.num_slots) // self.page_size)

    def lane_of_slot(self, slot: int) -> Lane:
        """The owner lane of a slot."""
        return self.lane_of_page(self.page_of_slot(slot))

    def local_slot(self, slot: int) -> int:
        """The index of a slot in its own lane's pool of pages_per_lane * page_size slots."""
        slot = index_in(slot, "slot", 0, self.num_slots)
        return self.local_page(slot // self.page_size) * self.page_size + slot % self.page_size

    def pad_slot(self, lane: int) -> Slot:
        """The first slot of the lane's first reserved page: where padding may be written.

        Raises:
            InvalidArgumentError: the lane does not exist, or the layout reserves no page.
        """
        lane = index_in(lane, "lane", 0, self.num_lanes)
        if not self.reserved_pages:
            raise InvalidArgumentError("pad_slot: the layout has reserved_pages=0, expected >= 1")
        return Slot(self.page(lane, 0) * self.page_size)
