"""Malformed calls: an error that names argument, request, found and expected; nothing changes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    RoundRobinPages,
    TritonAllocator,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)

LAYOUT = LaneLayout(2, 4, 6)
"""Pages 2 ... 11; the even ones are lane 0's."""

GOOD = ExtendRequest(0, 9, ZigzagPages())


@dataclass
class Index:
    """An integer of somebody else's."""

    value: int

    def __index__(self) -> int:
        return self.value


def allocator_with_pages() -> TritonAllocator:
    """Pages 2 and 3 are allocated."""
    allocator = TritonAllocator(LAYOUT)
    allocator.alloc_pages([0, 1])
    return allocator


def request(**changes: Any) -> ExtendRequest:
    fields: dict[str, Any] = {"prefix_len": 0, "seq_len": 9, "split": ZigzagPages()}
    return ExtendRequest(**(fields | changes))


class LaterPages(ZigzagPages):
    """Somebody's own split, which no allocator knows how to plan."""


MALFORMED: list[tuple[object, str]] = [
    ("request", "expected an ExtendRequest, found 'request'"),
    (None, "expected an ExtendRequest, found None"),
    (request(prefix_len=-1), "prefix_len.*0 <= prefix_len.*found -1 and 9"),
    (request(prefix_len=10), "prefix_len <= seq_len.*found 10 and 9"),
    (request(seq_len=2**62 + 1), "seq_len <= 4611686018427387904.*found 0 and 4611686018427387905"),
    (request(seq_len=2**70), "found 0 and 1180591620717411303424"),
    (request(seq_len=9.0), "seq_len: expected an integer, found 9.0"),
    (request(seq_len=True), "seq_len: expected an integer, found True"),
    (request(prefix_len=None), "prefix_len: expected an integer, found None"),
    (request(split="zigzag"), "split: expected one of ZigzagPages, .*found 'zigzag'"),
    (request(split=ZigzagPages), "split: expected one of"),
    (request(split=LaterPages()), "split: expected one of .*found LaterPages"),
    (request(seq_len=1 << 20000), "seq_len: .*too large to write out"),
    (request(phase=2), "phase: expected 0 <= phase < 2, found 2"),
    (request(phase=-1), "phase: expected 0 <= phase < 2, found -1"),
    (request(phase="0"), "phase: expected an integer, found '0'"),
    (request(split=ExplicitOwners([0, 1])), "expected 3 lanes.*found 2"),
    (request(split=ExplicitOwners([0, 1, 1, 1])), "expected 3 lanes.*found 4"),
    (request(split=ExplicitOwners([0, 2, 1])), r"owners\[1\]: expected 0 <= .* < 2, found 2"),
    (request(split=ExplicitOwners([0, -1, 1])), r"owners\[1\].*found -1"),
    (request(split=ExplicitOwners([0, 1, 0]), phase=1), "phase: expected 0.*found 1"),
    (request(split=ExplicitOwners([0, 1, 0]), phase=None), "phase: expected 0.*found None"),
    (request(prefix_len=2), "last_slot: expected the slot of token 1.*page of 4.*found None"),
    (request(prefix_len=2, last_slot=48), "last_slot: expected 0 <= last_slot < 48, found 48"),
    (request(prefix_len=2, last_slot=-3), "last_slot: expected 0 <= last_slot < 48, found -3"),
    (request(prefix_len=2, last_slot=8), "last_slot: expected a slot at offset 1.*found slot 8"),
    (request(prefix_len=2, last_slot=9.0), "last_slot: expected an integer, found 9.0"),
    (request(prefix_len=2, last_slot=5), "last_slot: expected a slot of an allocated page.*slot 5"),
    (request(prefix_len=2, last_slot=17), "last_slot: .*page 4 is free"),
]


@clause("RFC-0001:C-UNSUPPORTED-PLANS/1", "RFC-0001:C-UNSUPPORTED-PLANS/11")
@pytest.mark.parametrize("call", ["alloc_extend", "plan_extend"])
@pytest.mark.parametrize(("bad", "message"), MALFORMED, ids=[fault for _, fault in MALFORMED])
def test_a_malformed_request_is_named(call: str, bad: Any, message: str) -> None:
    allocator = allocator_with_pages()
    before = allocator.digest()
    cut = ExtendRequest(0, 10, ZigzagTokens())  # not supported, which comes after malformed
    batches: list[tuple[list[Any], int]] = [([bad], 0), ([GOOD, cut, bad, "worse"], 2)]
    for batch, index in batches:
        with pytest.raises(InvalidRequestError, match=message) as raised:
            getattr(allocator, call)(batch)
        assert raised.value.request_index == index
        assert str(raised.value).startswith(f"request {index}: ")
    assert allocator.digest() == before


@clause("RFC-0001:C-UNSUPPORTED-PLANS/2", "RFC-0001:C-ATOMIC-BATCH/3")
def test_the_first_request_at_fault_is_told_whoever_finds_the_fault() -> None:
    allocator = allocator_with_pages()
    fills_2 = request(prefix_len=2, last_slot=9)
    fills_3 = request(prefix_len=2, last_slot=13, phase=1)
    fills_free = request(prefix_len=2, last_slot=17)
    malformed = request(seq_len=-1)
    for batch, index in (
        ([fills_2, fills_3, fills_2], 2),
        ([fills_2, fills_free, malformed], 1),
        ([fills_2, malformed, fills_free], 1),
        ([fills_2, fills_2, fills_free], 1),
        ([fills_2, fills_free, fills_2], 1),
        ([fills_free, fills_free], 0),
    ):
        with pytest.raises(InvalidRequestError) as raised:
            allocator.alloc_extend(batch)
        assert raised.value.request_index == index
    assert allocator.alloc_extend([fills_2, fills_3]).extend_offsets == (0, 7, 14)


@clause("RFC-0001:C-UNSUPPORTED-PLANS/7", "RFC-0001:C-UNSUPPORTED-PLANS/9")
def test_a_tail_page_on_a_wrong_lane_is_an_unsupported_plan() -> None:
    allocator = allocator_with_pages()
    for phase, split in ((0, ZigzagPages()), (1, ContiguousPages())):
        misplaced = request(prefix_len=2, split=split, last_slot=13 - 4 * phase, phase=phase)
        with pytest.raises(UnsupportedPagePlanError) as raised:
            allocator.alloc_extend([GOOD, misplaced])
        assert vars(raised.value) == {"request_index": 1, "page_position": 0, "owners": (0, 1)}


@clause("RFC-0001:C-UNSUPPORTED-PLANS/5")
@pytest.mark.parametrize("integer", [Index, np.int32, np.uint8, torch.tensor])
def test_anything_with_an_index_is_an_integer(integer: Any) -> None:
    given = allocator_with_pages().alloc_extend(
        [
            request(prefix_len=integer(2), seq_len=integer(8), last_slot=integer(9)),
            request(split=RoundRobinPages(integer(2)), phase=integer(1)),
            request(split=ExplicitOwners([integer(1), integer(0), integer(0)]), phase=integer(0)),
        ]
    )
    assert given.pages == ((5,), (7, 9, 4), (11, 6, 8))


@clause("RFC-0001:C-UNSUPPORTED-PLANS/3")
def test_last_slot_is_ignored_where_no_page_is_partly_filled() -> None:
    given = TritonAllocator(LAYOUT).alloc_extend(
        [request(last_slot="x"), request(prefix_len=9, last_slot=-1), request(last_slot=10**30)]
    )
    assert given.extend_offsets == (0, 9, 9, 18)


def test_a_derived_request_is_a_request() -> None:
    class LaterRequest(ExtendRequest):
        pass

    given = TritonAllocator(LAYOUT).alloc_extend([LaterRequest(0, 9, ZigzagPages())])
    assert given.pages == ((2, 3, 5),)


@clause("RFC-0001:C-ATOMIC-BATCH/8", "RFC-0001:C-ATOMIC-BATCH/9")
def test_arguments_that_are_no_batch_and_no_lanes() -> None:
    allocator = TritonAllocator(LAYOUT)
    not_a_batch: Any = GOOD
    for call in (allocator.alloc_extend, allocator.plan_extend):
        with pytest.raises(InvalidArgumentError, match=r"requests: expected a sequence.*found Ext"):
            call(not_a_batch)
    bad_owners: list[tuple[Any, str]] = [
        (3, "owners: expected a sequence of lanes, found 3"),
        ([0, 2], r"owners\[1\]: expected 0 <= .* < 2, found 2"),
        ([0, -1], r"owners\[1\].*found -1"),
        ([0.0], r"owners\[0\]: expected an integer, found 0.0"),
        ([True], r"owners\[0\]: expected an integer, found True"),
    ]
    for owners, message in bad_owners:
        with pytest.raises(InvalidArgumentError, match=message):
            allocator.alloc_pages(owners)
    assert allocator.available_pages() == (5, 5)


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/10")
def test_layouts_and_devices_that_cannot_be_used() -> None:
    not_a_layout: Any = (2, 4, 6)
    with pytest.raises(InvalidArgumentError, match="layout: expected a LaneLayout"):
        TritonAllocator(not_a_layout)
    with pytest.raises(InvalidArgumentError, match="layout: expected fewer than 2147483648 pages"):
        TritonAllocator(LaneLayout(2, 1, 2**30))
    no_evictor: Any = [2, 3]
    with pytest.raises(
        InvalidArgumentError, match=r"evictor: expected .*evictable_pages and evict"
    ):
        TritonAllocator(LAYOUT, no_evictor)
    for device in ("tpu", "meta", 1.5):
        with pytest.raises(InvalidArgumentError, match="device: expected"):
            TritonAllocator(LAYOUT, device=device)  # type: ignore[arg-type]


def test_the_cpu_needs_the_interpreter_and_says_so() -> None:
    script = (
        "from ownerlanes.gpu import InvalidArgumentError, LaneLayout, TritonAllocator\n"
        "try: TritonAllocator(LaneLayout(2, 4, 6), device='cpu')\n"
        "except InvalidArgumentError as error: print(error)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert "TRITON_INTERPRET=1" in done.stdout
