"""The stressed interpreter finds what it is for: kernels that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl
from interpreter_orders import Counted, arguments_checked, interleaved, permuted, poisoned
from triton.runtime.errors import InterpreterError


@triton.jit
def count_without_atomics(total_ptr):
    tl.store(total_ptr, tl.load(total_ptr) + 1)


@triton.jit
def count_with_atomics(total_ptr):
    tl.atomic_add(total_ptr, 1)


@triton.jit
def last_program_wins(winner_ptr):
    tl.store(winner_ptr, tl.program_id(0))


@triton.jit
def store_at(target_ptr, place):
    tl.store(target_ptr + place, 1)


def run_programs(kernel: Callable[..., None], programs: int = 8) -> int:
    result = torch.zeros(1, dtype=torch.int64)
    kernel[(programs,)](result)
    return int(result[0])


def test_interleaving_loses_updates_that_are_not_atomic() -> None:
    assert run_programs(count_without_atomics) == 8
    for seed in range(5):
        with interleaved(seed):
            assert run_programs(count_without_atomics) < 8
            assert run_programs(count_with_atomics) == 8


@pytest.mark.parametrize("order", [permuted, interleaved])
def test_orders_differ_by_seed_and_repeat_by_it(order: Callable) -> None:
    def winner(seed: int) -> int:
        with order(seed):
            return run_programs(last_program_wins)

    winners = [winner(seed) for seed in range(8)]
    assert len(set(winners)) > 1
    assert winners == [winner(seed) for seed in range(8)]
    assert run_programs(last_program_wins) == 7


@pytest.mark.parametrize("order", [permuted, interleaved])
def test_stores_beyond_an_argument_are_found_in_any_order(order: Callable) -> None:
    memory = torch.zeros(8, dtype=torch.int64)
    with order(1), arguments_checked():
        store_at[(3,)](memory[:4], 3)
        for place in (-1, 4):
            with pytest.raises(InterpreterError, match="store: 1 elements out of bounds"):
                store_at[(3,)](memory[:4], place)
    store_at[(3,)](memory[:4], 4)
    assert memory.tolist() == [0, 0, 0, 1, 1, 0, 0, 0]


def test_counting_sees_launches_operations_and_read_backs() -> None:
    numbers = torch.arange(4)
    with Counted() as counted:
        run = torch.zeros(1, dtype=torch.int64)
        count_with_atomics[(2,)](run)
        numbers[numbers > 1]
        numbers.nonzero()
        int(run)
    assert counted.launches == ["count_with_atomics"]
    assert counted.operations[0] == "zeros"
    assert {"index", "nonzero", "_local_scalar_dense"} <= set(counted.read_backs)
    with Counted() as counted:
        numbers + 1
    assert (counted.launches, counted.operations, counted.read_backs) == ([], ["add"], [])


def test_fresh_memory_is_poisoned() -> None:
    with poisoned():
        assert torch.empty(3, dtype=torch.int64).tolist() == [2**63 - 1] * 3
