"""Owner plans on values worked out by hand from the definition of each split."""

from __future__ import annotations

import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
    page_owners,
)

TWO = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=9)
THREE = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=9)


def owners(
    layout: LaneLayout, pages: int, split: Split, first: int = 0, phase: int | None = 0
) -> list[int]:
    """Owners of `pages` whole pages from page position `first`."""
    size = layout.page_size
    request = ExtendRequest(first * size, (first + pages) * size, split, phase=phase)
    return list(page_owners(request, layout))


@clause(
    "RFC-0001:C-PAGE-OWNERSHIP/1",
    "RFC-0001:C-PAGE-OWNERSHIP/2",
    "RFC-0001:C-PAGE-OWNERSHIP/3",
    "RFC-0001:C-PAGE-OWNERSHIP/4",
    "RFC-0001:C-PAGE-OWNERSHIP/5",
    "RFC-0001:C-PAGE-OWNERSHIP/6",
    "RFC-0001:C-PAGE-OWNERSHIP/7",
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/9",
)
@pytest.mark.parametrize(
    ("split", "pages", "expected"),
    [
        # 7 pages over 4 blocks: sizes 2 2 2 1, lanes 0 1 1 0
        (ZigzagPages(), 7, [0, 0, 1, 1, 1, 1, 0]),
        # 6 and 2 of padding over 4 blocks: sizes 2 2 2 2
        (ZigzagPages(pad=2), 6, [0, 0, 1, 1, 1, 1]),
        # 3 pages over 4 blocks: sizes 1 1 1 0
        (ZigzagPages(), 3, [0, 1, 1]),
        # 5 pages over 2 blocks: sizes 3 2
        (ContiguousPages(), 5, [0, 0, 0, 1, 1]),
        (ContiguousPages(pad=5), 5, [0, 0, 0, 0, 0]),
        (ContiguousPages(pad=2**31 - 1), 3, [0, 0, 0]),
        (RoundRobinPages(), 5, [0, 1, 0, 1, 0]),
        (RoundRobinPages(run=2), 5, [0, 0, 1, 1, 0]),
        (ExplicitOwners([1, 1, 0]), 3, [1, 1, 0]),
        # 16 tokens over 4 blocks of 4 tokens, a page each
        (ZigzagTokens(), 4, [0, 1, 1, 0]),
        (RoundRobinTokens(run=8), 4, [0, 0, 1, 1]),
    ],
)
def test_owner_of_each_page_on_two_lanes(split: Split, pages: int, expected: list[int]) -> None:
    assert owners(TWO, pages, split) == expected


@clause("RFC-0001:C-PAGE-OWNERSHIP/1")
def test_zigzag_on_three_lanes_goes_forth_and_back() -> None:
    # 13 pages over 6 blocks: sizes 3 2 2 2 2 2, lanes 0 1 2 2 1 0
    assert owners(THREE, 13, ZigzagPages()) == [0, 0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0]


@clause("RFC-0001:C-PAGE-OWNERSHIP/4")
def test_round_robin_counts_from_the_start_of_the_request() -> None:
    assert owners(THREE, 4, RoundRobinPages(run=2), first=3) == [1, 2, 2, 0]


@clause("RFC-0001:C-PAGE-OWNERSHIP/1")
def test_zigzag_counts_from_the_first_new_page() -> None:
    assert owners(TWO, 4, ZigzagPages(), first=5) == owners(TWO, 4, ZigzagPages())


@clause("RFC-0001:C-PAGE-OWNERSHIP/8", "RFC-0001:C-REQUEST-LOCAL-PLANNING/9")
def test_phase_rotates_the_lanes() -> None:
    assert owners(THREE, 3, RoundRobinPages(), phase=2) == [2, 0, 1]
    assert owners(THREE, 3, RoundRobinPages(), phase=None) == [0, 1, 2]


@clause(
    "RFC-0001:C-UNSUPPORTED-PLANS/8",
    "RFC-0001:C-UNSUPPORTED-PLANS/9",
    "RFC-0001:C-UNSUPPORTED-PLANS/10",
)
@pytest.mark.parametrize(
    ("request_", "position", "found"),
    [
        # 18 tokens over 4 blocks 5 5 4 4: page 1 holds tokens 4 (lane 0) and 5, 6, 7 (lane 1)
        (ExtendRequest(0, 18, ZigzagTokens()), 1, (0, 1)),
        (ExtendRequest(0, 18, ZigzagTokens(), phase=1), 1, (0, 1)),
        (ExtendRequest(0, 18, ZigzagTokens(), phase=None), 1, (0, 1)),
        (ExtendRequest(4, 8, RoundRobinTokens(run=2)), 1, (0, 1)),
        # the tail page at position 2 lies on lane 1 (slot 21 is on page 5), its owner is lane 0
        (ExtendRequest(10, 12, RoundRobinPages(), last_slot=21), 2, (0, 1)),
    ],
)
def test_a_page_of_two_lanes_is_unsupported(
    request_: ExtendRequest, position: int, found: tuple[int, ...]
) -> None:
    with pytest.raises(UnsupportedPagePlanError) as caught:
        page_owners(request_, TWO)
    assert caught.value.request_index == 0
    assert caught.value.page_position == position
    assert caught.value.owners == found


@clause("RFC-0001:C-PAGE-OWNERSHIP/10", "RFC-0001:C-REQUEST-LOCAL-PLANNING/9")
def test_the_tail_page_keeps_its_lane() -> None:
    # tokens 10, 11 go to page position 2, which lies on page 5 (lane 1): phase 1 supports that
    assert page_owners(ExtendRequest(10, 14, RoundRobinPages(), 21, phase=1), TWO) == (1, 0)
    assert page_owners(ExtendRequest(10, 14, RoundRobinPages(), 21, phase=None), TWO) == (1, 0)


@clause("RFC-0001:C-UNSUPPORTED-PLANS/1", "RFC-0001:C-UNSUPPORTED-PLANS/4")
@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (None, "ExtendRequest"),
        (ExtendRequest(-1, 4, ZigzagPages()), "prefix_len"),
        (ExtendRequest(5, 4, ZigzagPages()), "prefix_len"),
        (ExtendRequest(0, 2**62 + 1, ZigzagPages()), "seq_len"),
        (ExtendRequest(0, 4.0, ZigzagPages()), "seq_len"),  # type: ignore[arg-type]
        (ExtendRequest(False, 4, ZigzagPages()), "prefix_len"),
        (ExtendRequest(0, 4, "zigzag"), "split"),  # type: ignore[arg-type]
        (ExtendRequest(0, 4, ZigzagPages(), phase=2), "phase"),
        (ExtendRequest(0, 4, ZigzagPages(), phase=-1), "phase"),
        (ExtendRequest(0, 4, ExplicitOwners([0]), phase=1), "phase"),
        (ExtendRequest(0, 4, ExplicitOwners([0]), phase=None), "phase"),
        (ExtendRequest(0, 4, ExplicitOwners([0, 1])), "touched pages"),
        (ExtendRequest(4, 4, ExplicitOwners([0])), "touched pages"),
        (ExtendRequest(0, 4, ExplicitOwners([2])), r"owners\[0\]"),
        (ExtendRequest(0, 4, ExplicitOwners([-1])), r"owners\[0\]"),
        (ExtendRequest(3, 4, ZigzagPages()), "last_slot"),
        (ExtendRequest(3, 4, ZigzagPages(), last_slot=9), "last_slot"),
        (ExtendRequest(3, 4, ZigzagPages(), last_slot=72 + 2), "last_slot"),
        (ExtendRequest(3, 4, ZigzagPages(), last_slot=-2), "last_slot"),
        (ExtendRequest(3, 4, ZigzagPages(), last_slot=2), "reserved"),
        (ExtendRequest(3, 4, ZigzagPages(), last_slot=10.0), "last_slot"),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_request_is_named(request_: ExtendRequest, named: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"request 0: .*{named}") as caught:
        page_owners(request_, TWO)
    assert caught.value.request_index == 0


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/9")
@pytest.mark.parametrize(
    "build",
    [
        lambda: ZigzagPages(pad=-1),
        lambda: ZigzagTokens(pad=2**31),
        lambda: ContiguousPages(pad=True),
        lambda: RoundRobinPages(run=0),
        lambda: RoundRobinTokens(run=1.5),  # type: ignore[arg-type]
        lambda: ExplicitOwners([0, 1.0]),  # type: ignore[list-item]
        lambda: ExplicitOwners(3),  # type: ignore[arg-type]
    ],
)
def test_a_bad_split_is_refused(build: object) -> None:
    with pytest.raises(InvalidArgumentError):
        build()  # type: ignore[operator]


@clause("RFC-0001:C-UNSUPPORTED-PLANS/3")
def test_last_slot_is_not_looked_at_where_it_is_ignored() -> None:
    assert page_owners(ExtendRequest(4, 8, ZigzagPages(), last_slot=-7), TWO) == (0,)
    assert page_owners(ExtendRequest(3, 3, ZigzagPages(), last_slot=-7), TWO) == ()
