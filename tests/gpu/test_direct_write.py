"""direct_write against a loop over rows, and the arithmetic offered to engines' own kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_orders import Counted, arguments_checked, interleaved, permuted
from pool_model import layouts

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import direct_writes as module
from ownerlanes.gpu.direct_writes import direct_write
from ownerlanes.gpu.slot_math import (
    lane_of_page,
    lane_of_slot,
    layout_constants,
    local_page_of_page,
    local_slot,
    page_of_slot,
)
from ownerlanes.reference.contract import ForeignLaneError, InvalidArgumentError, LaneLayout

LAYOUT = LaneLayout(2, 4, 5)
"""Two pools of 20 slots; slots 0 to 3 are lane 0's, 4 to 7 lane 1's, and so on."""

DTYPES = [
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
    torch.int8,
    torch.bool,
    torch.complex64,
    torch.complex128,
]


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory of no row: every byte is 0x5a (bool has no such value and is False)."""
    if dtype == torch.bool:
        return torch.zeros(shape, dtype=dtype)
    pool = torch.empty(shape, dtype=dtype)
    pool.untyped_storage().fill_(0x5A)
    return pool


def random_rows(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Rows of random bits, NaNs and all."""
    if dtype == torch.bool:
        return torch.ones(shape, dtype=dtype)
    rows = torch.empty(shape, dtype=dtype)
    size = rows.untyped_storage().nbytes()
    noise = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator())
    rows.untyped_storage().copy_(noise.untyped_storage())
    return rows


def bits(tensor: torch.Tensor) -> list[int]:
    """All the bytes, so that NaNs compare."""
    return list(tensor.contiguous().untyped_storage().tolist())


def distinct_slots(layout: LaneLayout) -> st.SearchStrategy[list[int]]:
    if not layout.num_slots:
        return st.just([])
    return st.lists(st.sampled_from(range(layout.num_slots)), unique=True, max_size=30)


def written_by_hand(
    rows: torch.Tensor, slots: list[int], pool: torch.Tensor, layout: LaneLayout, lane: int
) -> torch.Tensor:
    expected = pool.clone()
    for row, slot in enumerate(slots):
        if layout.lane_of_slot(slot) == lane:
            expected[layout.local_slot(slot)] = rows[row]
    return expected


@clause("RFC-0001:C-DIRECT-WRITE/1", "RFC-0001:C-DIRECT-WRITE/3", "RFC-0001:C-DIRECT-WRITE/4")
@settings(max_examples=60)
@given(st.data(), layouts(), st.sampled_from(DTYPES), st.sampled_from([(), (1,), (3, 5), (0,)]))
def test_rows_of_a_lane_are_stored_and_nothing_else_changes(
    data: st.DataObject, layout: LaneLayout, dtype: torch.dtype, trailing: tuple[int, ...]
) -> None:
    slots = data.draw(distinct_slots(layout))
    lane = data.draw(st.integers(0, layout.num_lanes - 1))
    rows = random_rows((len(slots), *trailing), dtype)
    pool = poisoned((layout.pages_per_lane * layout.page_size, *trailing), dtype)
    expected = written_by_hand(rows, slots, pool, layout, lane)
    before = pool.clone()
    given_slots = torch.tensor(slots, dtype=torch.int64)

    foreign = [row for row, slot in enumerate(slots) if layout.lane_of_slot(slot) != lane]
    if foreign:
        with pytest.raises(ForeignLaneError, match=rf"slots\[{foreign[0]}\]") as failure:
            direct_write(rows, given_slots, pool, layout, lane)
        assert failure.value.row == foreign[0]
        assert bits(pool) == bits(before)
    else:
        direct_write(rows, given_slots, pool, layout, lane)
        assert bits(pool) == bits(expected)
    direct_write(rows, given_slots, pool, layout, lane, foreign="skip")
    assert bits(pool) == bits(expected)


@clause("RFC-0001:C-DIRECT-WRITE/5")
@settings(max_examples=30)
@given(st.data(), layouts())
def test_every_row_is_stored_on_exactly_one_lane(data: st.DataObject, layout: LaneLayout) -> None:
    slots = data.draw(distinct_slots(layout))
    rows = torch.arange(1, len(slots) + 1)
    pools = [
        torch.zeros(layout.pages_per_lane * layout.page_size, dtype=torch.int64)
        for _ in range(layout.num_lanes)
    ]
    for lane, pool in enumerate(pools):
        direct_write(rows, torch.tensor(slots, dtype=torch.int64), pool, layout, lane, "skip")
    assert sorted(row for pool in pools for row in pool.tolist() if row) == rows.tolist()
    for slot, row in zip(slots, rows.tolist(), strict=True):
        assert pools[layout.lane_of_slot(slot)][layout.local_slot(slot)] == row


@clause("RFC-0001:C-DIRECT-WRITE/7")
@pytest.mark.parametrize("foreign", ["error", "skip"])
@pytest.mark.parametrize("bad", [-1, -4, 40, 2**32, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("row", [0, 2])
def test_a_slot_out_of_range_writes_nothing(bad: int, row: int, foreign: Any) -> None:
    slots = [8, 9, 10]
    slots[row] = bad
    pool = poisoned((20, 2), torch.float32)
    before = bits(pool)
    with pytest.raises(
        InvalidArgumentError,
        match=rf"expected 0 <= slot < 40, found slots\[{row}\] = {bad}; nothing",
    ):
        direct_write(torch.ones(3, 2), torch.tensor(slots), pool, LAYOUT, 0, foreign)
    assert bits(pool) == before


@pytest.mark.parametrize("order", [permuted, interleaved])
@clause("RFC-0001:C-DIRECT-WRITE/1", "RFC-0001:C-DIRECT-WRITE/2")
def test_no_order_of_programs_changes_the_outcome(
    monkeypatch: pytest.MonkeyPatch, order: Callable[[int], AbstractContextManager[None]]
) -> None:
    """Tiles of 4 elements: several programs along rows and along columns, both with a rest."""
    monkeypatch.setattr(module, "INTERPRETER_ELEMENTS", 4)
    slots = [8, 9, 17, 18, 35, 16, 24]
    with_foreign = [8, 9, 17, 18, 35, 20, 12]
    rows = random_rows((7, 6), torch.int32)
    for seed in range(4):
        pool = poisoned((20, 6), torch.int32)
        expected = written_by_hand(rows, slots, pool, LAYOUT, 0)
        given_slots, bad_slots = torch.tensor(slots), torch.tensor(with_foreign)
        with order(seed), pytest.raises(ForeignLaneError) as failure:
            direct_write(rows, bad_slots, pool, LAYOUT, 0)
        assert failure.value.row == 5
        with order(seed):
            direct_write(rows, given_slots, pool, LAYOUT, 0)
        assert bits(pool) == bits(expected)


@clause("RFC-0001:C-DIRECT-WRITE/4")
def test_no_program_reaches_beyond_its_tensors() -> None:
    storage = poisoned((22, 6), torch.int32)
    pool = storage[1:21]
    rows, slots = random_rows((3, 6), torch.int32), torch.tensor([8, 39, 35])
    with arguments_checked():
        direct_write(rows, slots, pool, LAYOUT, 0, foreign="skip")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64, torch.uint64], ids=str)
@clause("RFC-0001:C-DIRECT-WRITE/1")
def test_slots_of_any_width(dtype: torch.dtype) -> None:
    rows, pool = random_rows((2, 3), torch.float16), poisoned((20, 3), torch.float16)
    expected = written_by_hand(rows, [8, 35], pool, LAYOUT, 0)
    direct_write(rows, torch.tensor([8, 35]).to(dtype), pool, LAYOUT, 0)
    assert bits(pool) == bits(expected)


@clause("RFC-0001:C-DIRECT-WRITE/1", "RFC-0001:C-DIRECT-WRITE/4")
def test_strided_rows_and_a_strided_pool() -> None:
    """Keys cut out of a fused projection, stored into the keys of a pool of keys and values."""
    fused = random_rows((3, 12), torch.float32)
    pairs = poisoned((20, 2, 4), torch.float32)
    expected = pairs.clone()
    expected[:, 1] = written_by_hand(fused[:, 4:8], [8, 35, 0], pairs[:, 1], LAYOUT, 0)
    direct_write(fused[:, 4:8], torch.tensor([8, 35, 0]), pairs[:, 1], LAYOUT, 0)
    assert bits(pairs) == bits(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_autograd_sees_nothing_of_a_write(dtype: torch.dtype) -> None:
    rows = torch.ones(1, 2, dtype=dtype, requires_grad=True)
    pool = torch.zeros(20, 2, dtype=dtype, requires_grad=True)
    direct_write(rows, torch.tensor([8]), pool, LAYOUT, 0)
    assert pool[4].tolist() == [1, 1]
    assert pool.grad_fn is None


def test_padding_may_be_written_many_times() -> None:
    slots = torch.full((5,), LAYOUT.pad_slot(1))
    pool = torch.zeros(20, dtype=torch.int64)
    direct_write(torch.full((5,), 7), slots, pool, LAYOUT, 1)
    assert pool.tolist() == [7] + [0] * 19


def test_a_write_costs_two_launches_and_one_read_back() -> None:
    rows, slots, pool = torch.ones(3, 2), torch.tensor([8, 9, 10]), torch.zeros(20, 2)
    with Counted() as counted:
        direct_write(rows, slots, pool, LAYOUT, 0)
    assert counted.launches == ["judge_rows", "write_rows"]
    assert counted.read_backs == ["tolist"]


ROWS, SLOTS, POOL = torch.ones(2, 3), torch.tensor([8, 9]), torch.zeros(20, 3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"layout": 3}, r"layout: expected a LaneLayout, found 3"),
        ({"lane": 2}, r"lane: expected 0 <= lane < 2, found 2"),
        ({"lane": True}, r"lane: expected an integer, found True"),
        ({"foreign": "ignore"}, r"foreign: expected 'error' or 'skip', found 'ignore'"),
        ({"rows": [1.0]}, r"rows: expected a tensor, found \[1.0\]"),
        ({"slots": [8, 9]}, r"slots: expected a tensor, found \[8, 9\]"),
        ({"pool": None}, r"pool: expected a tensor, found None"),
        ({"rows": torch.tensor(1.0)}, r"rows: expected a dense tensor of at least one dimension"),
        ({"pool": POOL.to_sparse()}, r"pool: expected a dense tensor .* found torch.sparse_coo"),
        ({"slots": torch.tensor([8.0, 9.0])}, r"slots: expected a tensor of integers, .*float32"),
        ({"slots": torch.tensor([True, False])}, r"slots: expected a tensor of integers, .*bool"),
        ({"slots": SLOTS[None]}, r"slots: expected a dense tensor of one dim.* found .*\(1, 2\)"),
        ({"slots": torch.arange(4)[::2]}, r"slots: expected a contiguous tensor, found stride 2"),
        ({"slots": torch.tensor([8])}, r"slots: shape: expected \(2,\), found \(1,\)"),
        ({"pool": torch.zeros(19, 3)}, r"pool: shape: expected \(20, 3\), found \(19, 3\)"),
        ({"pool": torch.zeros(20, 4)}, r"pool: shape: expected \(20, 3\), found \(20, 4\)"),
        ({"rows": ROWS.double()}, r"rows: dtype: expected torch.float32, found torch.float64"),
        ({"rows": ROWS.to("meta")}, r"rows: device: expected cpu, found meta"),
        ({"pool": POOL.to("meta")}, r"device: expected 'cuda' or 'cpu', found 'meta'"),
        ({"slots": SLOTS.to("meta")}, r"slots: expected a tensor on the CPU or cpu, .* meta"),
        ({"rows": torch.ones(3, 2).t()}, r"rows: expected the elements of a row to be contiguous"),
        ({"pool": torch.zeros(3, 20).t()}, r"pool: expected the elements of a row to be contig"),
        ({"pool": torch.zeros(3).expand(20, 3)}, r"pool: expected slots that do not overlap"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_of_the_wrong_kind(changed: dict[str, Any], message: str) -> None:
    arguments = {"rows": ROWS, "slots": SLOTS, "pool": POOL, "layout": LAYOUT, "lane": 0} | changed
    with pytest.raises(InvalidArgumentError, match=message):
        direct_write(**arguments)
    assert not POOL.any()


@triton.jit
def locate(
    slots_ptr,
    found_ptr,
    NUM_LANES: tl.constexpr,  # noqa: N803
    PAGE_SIZE: tl.constexpr,  # noqa: N803
    PAGES_PER_LANE: tl.constexpr,  # noqa: N803
    INTERLEAVED: tl.constexpr,  # noqa: N803
    count,
    BLOCK: tl.constexpr,  # noqa: N803
):
    """An engine's kernel: five numbers for each slot, by the functions it is offered."""
    entry = tl.arange(0, BLOCK)
    live = entry < count
    slot = tl.load(slots_ptr + entry, mask=live, other=0)
    page = page_of_slot(slot, PAGE_SIZE)
    lane = lane_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
    local = local_page_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
    slot_lane = lane_of_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED)
    own_slot = local_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED)
    tl.store(found_ptr + entry * 5, page, mask=live)
    tl.store(found_ptr + entry * 5 + 1, lane, mask=live)
    tl.store(found_ptr + entry * 5 + 2, local, mask=live)
    tl.store(found_ptr + entry * 5 + 3, slot_lane, mask=live)
    tl.store(found_ptr + entry * 5 + 4, own_slot, mask=live)


@clause("RFC-0001:C-DIRECT-WRITE/6")
@given(st.one_of(layouts(), st.just(LaneLayout(3, 2**50, 2**11)), st.just(LaneLayout(1, 1, 2**62))))
def test_the_arithmetic_for_kernels_is_the_layouts(layout: LaneLayout) -> None:
    count = min(layout.num_slots, 200)
    slots = [*range(count), *range(layout.num_slots - count, layout.num_slots)]
    found = torch.full((len(slots), 5), -1)
    block = triton.next_power_of_2(max(len(slots), 1))
    given_slots = torch.tensor(slots, dtype=torch.int64)
    locate[(1,)](given_slots, found, count=len(slots), BLOCK=block, **layout_constants(layout))
    assert found.tolist() == [
        [
            layout.page_of_slot(slot),
            layout.lane_of_page(layout.page_of_slot(slot)),
            layout.local_page(layout.page_of_slot(slot)),
            layout.lane_of_slot(slot),
            layout.local_slot(slot),
        ]
        for slot in slots
    ]
