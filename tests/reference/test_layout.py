"""The arithmetic of a layout, on values worked out by hand."""

from __future__ import annotations

import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import InvalidArgumentError, LaneLayout


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/1", "RFC-0001:C-OWNER-LANE-LAYOUT/7")
def test_interleaved_pages_rotate_over_the_lanes() -> None:
    layout = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=5)
    assert [layout.lane_of_page(page) for page in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [layout.local_page(page) for page in range(6)] == [0, 0, 0, 1, 1, 1]
    assert layout.page(lane=2, local_page=4) == 14
    assert (layout.num_pages, layout.num_slots, layout.capacity) == (15, 60, 4)


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/2", "RFC-0001:C-OWNER-LANE-LAYOUT/7")
def test_blocked_pages_keep_each_lane_together() -> None:
    layout = LaneLayout(3, 4, 5, placement="blocked", reserved_pages=2)
    assert [layout.lane_of_page(page) for page in (0, 4, 5, 9, 10, 14)] == [0, 0, 1, 1, 2, 2]
    assert layout.page(lane=2, local_page=1) == 11
    assert layout.capacity == 3


@clause(
    "RFC-0001:C-OWNER-LANE-LAYOUT/3",
    "RFC-0001:C-OWNER-LANE-LAYOUT/4",
    "RFC-0001:C-OWNER-LANE-LAYOUT/6",
)
def test_slots_of_a_lane_index_its_own_pool() -> None:
    layout = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=5)
    assert layout.page_of_slot(59) == 14
    assert layout.lane_of_slot(59) == 2
    assert layout.local_slot(59) == 4 * 4 + 3
    assert [layout.pad_slot(lane) for lane in range(3)] == [0, 4, 8]


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/3", "RFC-0001:C-OWNER-LANE-LAYOUT/4")
@pytest.mark.parametrize("placement", ["interleaved", "blocked"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 4), (5, 1, 3), (3, 7, 2)])
def test_every_slot_is_exactly_one_lanes(placement: str, shape: tuple[int, int, int]) -> None:
    layout = LaneLayout(*shape, placement=placement)  # type: ignore[arg-type]
    homes = {(layout.lane_of_slot(s), layout.local_slot(s)) for s in range(layout.num_slots)}
    lanes, size, pages = shape
    assert homes == {(lane, local) for lane in range(lanes) for local in range(pages * size)}
    for page in range(layout.num_pages):
        assert layout.page(layout.lane_of_page(page), layout.local_page(page)) == page


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/9")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_lanes": 0}, "num_lanes"),
        ({"page_size": 0}, "page_size"),
        ({"pages_per_lane": -1}, "pages_per_lane"),
        ({"reserved_pages": -1}, "reserved_pages"),
        ({"reserved_pages": 10}, "reserved_pages"),
        ({"num_lanes": 2.0}, "num_lanes"),
        ({"page_size": True}, "page_size"),
        ({"page_size": "16"}, "page_size"),
        ({"placement": "striped"}, "placement"),
        ({"pages_per_lane": 2**60, "page_size": 4, "num_lanes": 2}, "slots"),
    ],
)
def test_a_bad_layout_names_its_argument(change: dict[str, object], named: str) -> None:
    good: dict[str, object] = {"num_lanes": 2, "page_size": 16, "pages_per_lane": 9}
    with pytest.raises(InvalidArgumentError, match=named):
        LaneLayout(**(good | change))  # type: ignore[arg-type]


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/8")
def test_the_largest_layout_has_int64_slots() -> None:
    layout = LaneLayout(num_lanes=1, page_size=2**63 - 1, pages_per_lane=1)
    assert layout.lane_of_slot(2**63 - 2) == 0
    with pytest.raises(InvalidArgumentError, match="slot"):
        layout.lane_of_slot(2**63 - 1)


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/7", "RFC-0001:C-OWNER-LANE-LAYOUT/8")
def test_a_lane_without_allocatable_pages_is_legal() -> None:
    assert LaneLayout(2, 4, 1).capacity == 0
    assert LaneLayout(2, 4, 0, reserved_pages=0).num_slots == 0


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/9")
def test_accessors_refuse_what_is_not_there() -> None:
    layout = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=5)
    for call, bad in (
        (layout.lane_of_page, 15),
        (layout.local_page, -1),
        (layout.lane_of_slot, 60),
        (layout.local_slot, -1),
        (layout.pad_slot, 3),
        (layout.lane_of_slot, 1.0),
        (layout.lane_of_page, False),
    ):
        with pytest.raises(InvalidArgumentError):
            call(bad)  # type: ignore[operator]
    with pytest.raises(InvalidArgumentError, match="reserved_pages"):
        LaneLayout(3, 4, 5, reserved_pages=0).pad_slot(0)
