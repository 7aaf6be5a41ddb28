"""Deferred releases: nothing is read back until a fold, which tells all that were refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_orders import Counted, arguments_checked, interleaved, permuted
from pool_model import PoolModel, as_tensor, device_state, pools, releasable_pages, releases

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import release
from ownerlanes.gpu.release import Releases
from ownerlanes.reference.contract import InvalidFreeError, LaneLayout

LAYOUT = LaneLayout(3, 4, 9)


def all_allocated() -> PoolModel:
    return PoolModel(LAYOUT, set(releasable_pages(LAYOUT)))


def fold(released: Releases) -> list[int]:
    """Which of the deferred releases the fold says were refused, by their order."""
    try:
        released.fold()
    except InvalidFreeError as error:
        message = str(error)
    else:
        return []
    numbers = [int(number) for number in re.findall(r"release (\d+) \(", message)]
    assert message.startswith(f"{len(numbers)} of ")
    return numbers


class Judged:
    """The model of a history: releases judged in order, told at the next fold."""

    def __init__(self, model: PoolModel) -> None:
        self.model = model
        self.orders: list[bool] = []

    def release(self, kind: str, ids: list[int]) -> bool:
        size = self.model.layout.page_size if kind == "slots" else 1
        return self.model.release([i // size for i in ids])

    def defer(self, kind: str, ids: list[int]) -> None:
        if ids:
            self.orders.append(self.release(kind, ids))

    def fold(self) -> list[int]:
        refused = [number for number, good in enumerate(self.orders, start=1) if not good]
        self.orders = []
        return refused


@clause("RFC-0001:C-RELEASE/8", "RFC-0001:C-RELEASE/9", "RFC-0001:C-RELEASE/10")
@settings(max_examples=60)
@given(st.data(), pools())
def test_histories_of_deferred_and_host_releases(data: st.DataObject, model: PoolModel) -> None:
    state = device_state(model)
    released, judged = Releases(state, deferred=True), Judged(model)
    calls = {"slots": released.free, "pages": released.free_pages}
    steps = data.draw(st.lists(st.sampled_from(["defer", "defer", "host", "fold"]), max_size=8))
    for step in [*steps, "fold"]:
        if step == "fold":
            assert fold(released) == judged.fold()
        else:
            kind, ids = data.draw(releases(model))
            if step == "defer":
                calls[kind](as_tensor(ids))
                judged.defer(kind, ids)
                assert all(
                    a <= b for a, b in zip(state.free_counts, model.free_counts(), strict=True)
                )
                continue
            # A host sequence folds first: what that refuses comes before the call's own work.
            if judged.fold() or not judged.release(kind, ids):
                with pytest.raises(InvalidFreeError):
                    calls[kind](ids)
            else:
                calls[kind](ids)
        assert not released.pending
        assert state.snapshot() == model.snapshot()
        assert state.free_counts == model.free_counts()


@clause("RFC-0001:C-RELEASE/9")
def test_the_error_names_every_refused_release_and_comes_once() -> None:
    state = device_state(all_allocated())
    released = Releases(state, deferred=True)
    released.free(as_tensor([12, 40]))
    released.free_pages(as_tensor([3]))  # free by now
    released.free_pages(as_tensor([4, 5]))
    released.free(as_tensor([20, 0]))  # reserved
    assert released.pending
    assert state.free_counts == [0, 0, 0]
    with pytest.raises(
        InvalidFreeError,
        match=r"^2 of 4 deferred releases .*: "
        r"release 2 \(free_pages of 1 pages\), release 4 \(free of 2 slots\);",
    ):
        released.fold()
    assert state.free_counts == [1, 2, 1]
    released.fold()
    assert not released.pending
    assert state.free_counts == [1, 2, 1]


@clause("RFC-0001:C-RELEASE/10")
@pytest.mark.parametrize("host", [list, np.array])
def test_a_host_sequence_folds_before_its_own_work(host: Callable[[list[int]], object]) -> None:
    state = device_state(all_allocated())
    released = Releases(state, deferred=True)
    released.free_pages(as_tensor([0]))
    with pytest.raises(InvalidFreeError, match=r"^1 of 1 deferred releases"):
        released.free_pages(host([3]))  # type: ignore[arg-type]
    assert state.free_counts == [0, 0, 0]  # page 3 was not looked at
    released.free_pages(host([3]))  # type: ignore[arg-type]
    assert state.free_counts == [1, 0, 0]
    with pytest.raises(InvalidFreeError, match=r"^free_pages: pages: expected ids of allocated"):
        released.free_pages(host([3]))  # type: ignore[arg-type]


@clause("RFC-0001:C-RELEASE/5")
def test_a_wrong_argument_neither_folds_nor_counts_as_a_release() -> None:
    released = Releases(device_state(all_allocated()), deferred=True)
    released.free_pages(as_tensor([3]))
    for bad in (torch.zeros(2), "no", [True]):
        with pytest.raises(InvalidFreeError):
            released.free(bad)  # type: ignore[arg-type]
    assert released.pending
    assert fold(released) == []


def test_a_deferred_release_costs_two_launches_and_nothing_else() -> None:
    released = Releases(device_state(all_allocated()), deferred=True)
    for ids in (as_tensor([12, 40]), as_tensor([0])):
        with Counted() as counted:
            released.free(ids)
        assert counted.launches == ["judge_release", "apply_release"]
        assert counted.operations == []
        assert counted.read_backs == []
    with Counted() as counted, pytest.raises(InvalidFreeError):
        released.fold()
    assert counted.launches == []
    assert counted.read_backs == ["tolist"]
    assert len(counted.operations) == 1


def test_the_caller_may_reuse_the_tensor_at_once() -> None:
    state = device_state(all_allocated())
    released = Releases(state, deferred=True)
    ids = as_tensor([3, 4])
    released.free_pages(ids)
    ids.fill_(0)
    assert fold(released) == []
    assert state.free_counts == [1, 1, 0]


@clause("RFC-0001:C-RELEASE/8")
def test_more_releases_wait_than_one_piece_of_memory_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release, "VERDICTS", 2)
    state = device_state(all_allocated())
    released = Releases(state, deferred=True)
    released._verdicts[0].fill_(1)
    for _ in range(2):  # the second time the memory holds what the first left
        for page in (3, 3, 4, 5, 4):
            released.free_pages(as_tensor([page]))
        assert fold(released) == [2, 5]
        assert len(released._verdicts) == 1  # and memory does not grow from fold to fold
        assert state.free_counts == [1, 1, 1]
        state.flags[:, 1] = 0
        state.take([1, 1, 1])


@pytest.mark.parametrize("layout", [LaneLayout(8, 64, 1000), LaneLayout(4, 16, 33)], ids=str)
def test_all_device_state_is_a_few_bytes_a_page(layout: LaneLayout) -> None:
    state = device_state(PoolModel(layout))
    released = Releases(state, deferred=True)
    memory = (state.flags, released._report, *released._verdicts)
    assert sum(tensor.numel() * tensor.element_size() for tensor in memory) <= 8 * layout.num_pages


@pytest.mark.parametrize("order", [permuted, interleaved])
@clause("RFC-0001:C-RELEASE/4", "RFC-0001:C-RELEASE/8")
def test_no_order_of_programs_changes_the_verdicts(
    monkeypatch: pytest.MonkeyPatch, order: Callable[[int], AbstractContextManager[None]]
) -> None:
    monkeypatch.setattr(release, "INTERPRETER_BLOCK", 4)
    calls = (
        [12, 13, 99, 12, 40, 41, 98, 14, 100],
        [16, 17, 20, 21, 28, 32, 12],  # 12 is free: refused by the second of two programs
        [16, 17, 20, 21, 28, 32],
        [11, 44, 44, 44, 44],  # 11 is reserved: refused by the first
        [44, 48, 52, 56, 60, 64, 48],
    )
    for seed in range(6):
        state, judged = device_state(all_allocated()), Judged(all_allocated())
        released = Releases(state, deferred=True)
        for ids in map(as_tensor, calls):
            with order(seed), arguments_checked():
                released.free(ids)
            judged.defer("slots", ids.tolist())
            assert state.snapshot() == judged.model.snapshot()
        assert fold(released) == judged.fold() == [2, 4]
        assert state.free_counts == judged.model.free_counts()
