"""Releases that are judged by their own call, against a plain set of pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_orders import Counted, arguments_checked, interleaved, permuted
from pool_model import FORMS, PoolModel, as_tensor, device_state, pools, releasable_pages, releases

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import release
from ownerlanes.gpu.release import Releases
from ownerlanes.reference.contract import InvalidFreeError, LaneLayout

LAYOUT = LaneLayout(3, 4, 9)
"""108 slots, so that every slot fits the narrowest integers; lane 0 holds pages 0, 3, 6 ..."""


def all_allocated(layout: LaneLayout = LAYOUT) -> PoolModel:
    return PoolModel(layout, set(releasable_pages(layout)))


def pages_of(model: PoolModel, kind: str, ids: list[int]) -> list[int]:
    return [i // model.layout.page_size for i in ids] if kind == "slots" else ids


def call(released: Releases, kind: str, ids: Any) -> None:
    (released.free if kind == "slots" else released.free_pages)(ids)


@clause("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/2", "RFC-0001:C-RELEASE/4")
@settings(max_examples=60)
@given(st.data(), pools())
def test_a_release_frees_all_its_pages_or_none(data: st.DataObject, model: PoolModel) -> None:
    state = device_state(model)
    released = Releases(state, deferred=False)
    for kind, ids in data.draw(st.lists(releases(model), min_size=1, max_size=4)):
        given_as = FORMS[data.draw(st.sampled_from(sorted(FORMS)))](ids)
        if model.release(pages_of(model, kind, ids)):
            call(released, kind, given_as)
        else:
            with pytest.raises(InvalidFreeError, match=rf"{kind}: expected ids of allocated"):
                call(released, kind, given_as)
        assert state.snapshot() == model.snapshot()
        assert state.free_counts == model.free_counts()


@clause("RFC-0001:C-RELEASE/3")
def test_duplicates_are_one_release() -> None:
    model = all_allocated()
    state = device_state(model)
    Releases(state, deferred=False).free(as_tensor([12, 15, 12, 13, 98, 12, 99]))
    model.release([3, 24])
    assert state.snapshot() == model.snapshot()
    assert state.free_counts == [2, 0, 0]


@clause("RFC-0001:C-RELEASE/4")
@pytest.mark.parametrize("place", [0, 1, 5, 8])
@pytest.mark.parametrize(
    "bad", [0, 11, 108, -1, -4, 2**31, 2**32 + 12, 2**62, -(2**63), 2**63 - 1, 24]
)
def test_one_bad_id_anywhere_refuses_the_call(bad: int, place: int) -> None:
    model = all_allocated()
    model.release([6])  # slot 24 is free
    state = device_state(model)
    before, digest = list(state.free_counts), state.digest()
    released = Releases(state, deferred=False)
    ids = [12, 13, 20, 40, 41, 42, 60, 99]
    ids.insert(place, bad)
    for form in FORMS.values():
        with pytest.raises(InvalidFreeError, match=rf"free: slots: .* pages \[{bad // 4}\], which"):
            released.free(form(ids))
        assert state.digest() == digest
        assert state.free_counts == before
    released.free(ids[:place] + ids[place + 1 :])  # nothing was half done


@clause("RFC-0001:C-RELEASE/4")
@pytest.mark.parametrize("bad", [0, 2, 6, 27, 28, 30, 107, -1, 2**31, 2**62, 2**63 - 1])
def test_one_bad_page_refuses_the_call(bad: int) -> None:
    model = all_allocated()
    model.release([6])
    state = device_state(model)
    digest = state.digest()
    released = Releases(state, deferred=False)
    for form in FORMS.values():
        with pytest.raises(
            InvalidFreeError, match=rf"^free_pages: pages: .* pages \[{bad}\], which"
        ):
            released.free_pages(form([3, bad, 26]))
        assert state.digest() == digest


@pytest.mark.parametrize("beyond", [2**63, -(2**63) - 1, 2**80])
@clause("RFC-0001:C-RELEASE/4")
def test_ids_beyond_int64_are_refused(beyond: int) -> None:
    released = Releases(device_state(all_allocated()), deferred=False)
    with pytest.raises(InvalidFreeError, match=f"expected ids that are int64, found {beyond}"):
        released.free([12, beyond])


@clause("RFC-0001:C-RELEASE/1")
@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("sign", ["", "u"])
def test_every_integer_dtype_is_read_at_its_own_width(sign: str, width: str) -> None:
    dtype = getattr(torch, sign + width)
    model = all_allocated()
    state = device_state(model)
    released = Releases(state, deferred=False)
    released.free(as_tensor([12, 40, 99]).to(dtype))
    model.release([3, 10, 24])
    assert state.snapshot() == model.snapshot()
    if dtype.is_signed:
        with pytest.raises(InvalidFreeError, match=r"pages \[-1\]"):
            released.free(torch.tensor([-1], dtype=dtype))


class Index:
    """Not an int, but one for every purpose."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@clause("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/2")
@pytest.mark.parametrize(
    "ids",
    [
        [Index(12), 40],
        [np.int64(12), np.uint8(40)],
        (i for i in (12, 40)),
        {12, 40},
        range(12, 41, 28),
        np.array([12, 40], dtype=np.uint64),
        np.array([12, 40], dtype=">i4"),
        np.array([12, 0, 40])[::2],
        torch.tensor([0, 12, 40, 0])[1:3],
    ],
    ids=[
        "objects",
        "array scalars",
        "generator",
        "set",
        "range",
        "uint64 array",
        "big-endian array",
        "strided array",
        "view of a tensor",
    ],
)
def test_sequences_of_all_kinds(ids: Any) -> None:
    model = all_allocated()
    state = device_state(model)
    Releases(state, deferred=False).free(ids)
    model.release([3, 10])
    assert state.snapshot() == model.snapshot()


@clause("RFC-0001:C-RELEASE/5")
@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (3, r"expected a sequence of ids, found 3"),
        (None, r"expected a sequence of ids, found None"),
        ("12", r"\[0\]: expected an integer, found '1'"),
        ([12, 3.0], r"\[1\]: expected an integer, found 3.0"),
        ([12, True], r"\[1\]: expected an integer, found True"),
        ([[12]], r"\[0\]: expected an integer, found \[12\]"),
        (np.zeros((2, 2), np.int64), r"expected an array of integers of one .* int64 \(2, 2\)"),
        (np.zeros(2), r"expected an array of integers of one dimension, found float64 \(2,\)"),
        (np.ones(2, bool), r"expected an array of integers of one dimension, found bool"),
        (np.array([2**63], np.uint64), r"expected ids that are int64, found 9223372036854775808"),
        (torch.zeros(2), r"expected a tensor of integers, found torch.float32"),
        (torch.tensor([True]), r"expected a tensor of integers, found torch.bool"),
        (torch.zeros((2, 1), dtype=torch.int32), r"tensor of one dimension, found .* \(2, 1\)"),
        (torch.tensor(3), r"expected a dense tensor of one dimension, found torch.strided \(\)"),
        (torch.tensor([1]).to_sparse(), r"dense tensor of one dimension, found torch.sparse_coo"),
        (torch.arange(8)[::2], r"expected a contiguous tensor, found stride 2"),
        (torch.zeros(1, dtype=torch.int64, device="meta"), r"on the CPU or cpu, found one on meta"),
    ],
)
def test_arguments_of_the_wrong_kind(ids: Any, message: str, deferred: bool) -> None:
    state = device_state(all_allocated())
    released = Releases(state, deferred)
    digest = state.digest()
    for kind in ("slots", "pages"):
        with pytest.raises(InvalidFreeError, match=rf"{kind}.*{message}"):
            call(released, kind, ids)
        with pytest.raises(InvalidFreeError, match=rf"{kind}.*{message}"):
            released.as_pages(ids, kind)  # type: ignore[arg-type]
    released.fold()
    assert state.digest() == digest


@pytest.mark.parametrize("layout", [LAYOUT, LaneLayout(2, 4, 0, reserved_pages=0)], ids=str)
@pytest.mark.parametrize("deferred", [False, True])
@clause("RFC-0001:C-RELEASE")
def test_empty_releases_are_legal(deferred: bool, layout: LaneLayout) -> None:
    released = Releases(device_state(PoolModel(layout)), deferred)
    with Counted() as counted:
        for ids in ([], np.zeros(0, np.int32), torch.zeros(0, dtype=torch.uint8)):
            released.free(ids)
            released.free_pages(ids)
    assert not counted.launches
    assert not released.pending


@clause("RFC-0001:C-RELEASE/4")
@pytest.mark.parametrize("placement", ["interleaved", "blocked"])
@pytest.mark.parametrize("reserved", [0, 2])
def test_pools_without_capacity_refuse_everything(placement: Any, reserved: int) -> None:
    layout = LaneLayout(2, 4, reserved, placement, reserved_pages=reserved)
    released = Releases(device_state(PoolModel(layout)), deferred=False)
    for slot in (0, 15, 16, -1):
        with pytest.raises(InvalidFreeError):
            released.free([slot])


def test_messages_list_some_of_many_pages() -> None:
    released = Releases(device_state(PoolModel(LAYOUT)), deferred=False)
    with pytest.raises(InvalidFreeError, match=r"pages \[3, 4, .*, 10\] and 12 more, which"):
        released.free_pages(range(3, 23))


@pytest.mark.parametrize("order", [permuted, interleaved])
@pytest.mark.parametrize("last", [24, 25, 99])
@clause("RFC-0001:C-RELEASE/3", "RFC-0001:C-RELEASE/4")
def test_no_order_of_programs_changes_the_outcome(
    monkeypatch: pytest.MonkeyPatch, order: Callable[[int], AbstractContextManager[None]], last: int
) -> None:
    """Duplicates across programs, neighbours in one word of flags, a bad id in one program."""
    monkeypatch.setattr(release, "INTERPRETER_BLOCK", 4)
    ids = as_tensor([12, 13, 99, 12, 40, 41, 98, 14, 25 * 4, 26 * 4, 12, 99, 40, 100, last])
    for seed in range(8):
        model = all_allocated()
        model.release([6])  # slots 24 and 25 are free
        state = device_state(model)
        released = Releases(state, deferred=False)
        with order(seed), arguments_checked():
            if model.release((ids // 4).tolist()):
                released.free(ids)
            else:
                with pytest.raises(InvalidFreeError):
                    released.free(ids)
        assert state.snapshot() == model.snapshot()
        assert state.free_counts == model.free_counts()


def test_a_release_costs_two_launches_and_one_read_back() -> None:
    released = Releases(device_state(all_allocated()), deferred=False)
    ids = as_tensor([12, 40])
    with Counted() as counted:
        released.free(ids)
    assert counted.launches == ["judge_release", "apply_release"]
    assert counted.read_backs == ["tolist"]
    assert counted.operations == []


@pytest.mark.parametrize("form", [list, lambda ids: as_tensor(ids).to(torch.int32)])
def test_millions_of_slots_in_one_call(form: Callable[[list[int]], Any]) -> None:
    layout = LaneLayout(8, 64, 4097)
    state = device_state(PoolModel(layout))
    state.flags.zero_()
    state.take([layout.capacity] * 8)
    Releases(state, deferred=False).free(form(list(range(8 * 64, layout.num_slots))))
    assert state.free_counts == [layout.capacity] * 8
    assert state.snapshot() == PoolModel(layout).snapshot()


def test_pages_at_the_end_of_the_largest_layouts() -> None:
    """Slots close to 2**63, of which no arithmetic may wrap."""
    layout = LaneLayout(1, 2**57, 63, reserved_pages=1)
    model = PoolModel(layout, {62})
    state = device_state(model)
    released = Releases(state, deferred=False)
    for bad in (layout.num_slots, 2**63 - 1, 61 * 2**57, 62 * 2**57 - 1):
        with pytest.raises(InvalidFreeError):
            released.free(as_tensor([62 * 2**57, bad]))
    released.free(as_tensor([layout.num_slots - 1]))
    assert state.free_counts == [layout.capacity]


@given(st.data(), pools())
def test_as_pages_gives_the_distinct_pages_of_any_ids(
    data: st.DataObject, model: PoolModel
) -> None:
    released = Releases(device_state(model), deferred=True)
    kind, ids = data.draw(releases(model))
    given_as = FORMS[data.draw(st.sampled_from(sorted(FORMS)))](ids)
    pages = released.as_pages(given_as, kind)  # type: ignore[arg-type]
    assert all(type(page) is int for page in pages)
    assert pages == sorted(set(pages_of(model, kind, ids)))
