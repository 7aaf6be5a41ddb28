"""DeviceState: flags, counts, snapshot and digest, against hand-worked values and sets."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from pool_model import PoolModel, device_state, layouts, pools, releasable_pages

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu.state import DeviceState
from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout


@clause("RFC-0001:C-CONSERVATION/4")
@given(layouts())
def test_a_new_state_has_every_page_free_that_is_not_reserved(layout: LaneLayout) -> None:
    state = DeviceState(layout, "cpu")
    expected = PoolModel(layout).snapshot()
    assert state.snapshot() == expected
    assert hash(state.snapshot()) == hash(expected)
    assert state.free_counts == [layout.capacity] * layout.num_lanes
    assert int(state.flags.sum()) == layout.capacity * layout.num_lanes  # and no padding is


@given(layouts())
def test_rows_of_flags_are_whole_blocks(layout: LaneLayout) -> None:
    state = DeviceState(layout, "cpu")
    assert state.flags.shape == (layout.num_lanes, state.stride)
    assert state.flags.is_contiguous()
    assert state.stride % state.block == 0
    assert state.stride >= max(layout.pages_per_lane, 1)
    assert state.block.bit_count() == 1


@clause("RFC-0001:C-CONSERVATION/3", "RFC-0001:C-REPLICA-DETERMINISM/2")
@given(pools())
def test_snapshot_and_digest_say_which_pages_are_free(model: PoolModel) -> None:
    state = device_state(model)
    snapshot = state.snapshot()
    assert snapshot == model.snapshot()
    assert all(type(page) is int for lane in snapshot.free for page in lane)

    layout = model.layout
    encoded = (
        f"ownerlanes-state-1|{layout.num_lanes}|{layout.page_size}|{layout.pages_per_lane}|"
        f"{layout.placement}|{layout.reserved_pages}\n"
    ).encode("ascii")
    for lane in snapshot.free:
        bits = sum(1 << page for page in lane)
        encoded += bits.to_bytes((layout.pages_per_lane + 7) // 8, "little")
    assert state.digest() == hashlib.sha256(encoded).hexdigest()


@clause("RFC-0001:C-REPLICA-DETERMINISM/2")
def test_digest_of_a_known_state() -> None:
    state = DeviceState(LaneLayout(2, 4, 9, reserved_pages=1), "cpu")
    state.flags[1, 8] = 0
    # Lane 0 has local pages 1 to 8 free (fe 01), lane 1 has 1 to 7 (fe 00).
    known = b"ownerlanes-state-1|2|4|9|interleaved|1\n\xfe\x01\xfe\x00"
    assert state.digest() == hashlib.sha256(known).hexdigest()


@clause("RFC-0001:C-REPLICA-DETERMINISM/3")
def test_digest_changes_with_every_single_page() -> None:
    layout = LaneLayout(3, 2, 11, "blocked", reserved_pages=2)
    digests = {DeviceState(layout, "cpu").digest()}
    pages = releasable_pages(layout)
    digests |= {device_state(PoolModel(layout, {page})).digest() for page in pages}
    assert len(digests) == 1 + len(pages)


@given(pools())
def test_allocated_pages_are_those_that_are_neither_free_nor_reserved(model: PoolModel) -> None:
    state = device_state(model)
    ids = [*range(-2, model.layout.num_pages + 2), 2**31, 2**32, -(2**63), 2**63 - 1]
    found = state.allocated(np.array(ids, dtype=np.int64))
    assert found.tolist() == [page in model.allocated for page in ids]


@given(pools())
def test_pages_released_by_the_host_are_free_and_counted(model: PoolModel) -> None:
    state = device_state(model)
    released = np.array(sorted(model.allocated)[::2], dtype=np.int64)
    state.release_host(released)
    model.release(released.tolist())
    assert state.snapshot() == model.snapshot()
    assert state.free_counts == model.free_counts()


@clause("RFC-0001:C-CONSERVATION/5")
@given(pools())
def test_clear_frees_everything(model: PoolModel) -> None:
    state = device_state(model)
    state.clear()
    assert state.snapshot() == PoolModel(model.layout).snapshot()
    assert state.free_counts == [model.layout.capacity] * model.layout.num_lanes
    assert state.digest() == DeviceState(model.layout, "cpu").digest()


def test_flags_take_little_more_than_a_byte_a_page() -> None:
    for layout in (
        LaneLayout(8, 64, 20_000),
        LaneLayout(3, 1, 33, reserved_pages=0),
        LaneLayout(16, 16, 1025, "blocked"),
    ):
        state = DeviceState(layout, "cpu")
        assert state.flags.numel() * state.flags.element_size() <= 2 * layout.num_pages


def test_layouts_that_a_device_cannot_number_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"layout: expected fewer than 2147483648 pages"):
        DeviceState(LaneLayout(2, 1, 2**30), "cpu")
    with pytest.raises(InvalidArgumentError, match=r"layout: expected a LaneLayout, found 3"):
        DeviceState(3, "cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["meta", "nowhere", 3.5, torch.device("meta")])
def test_devices_without_kernels_are_refused(device: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"device: expected .* found .*(meta|where|3.5)"):
        DeviceState(LaneLayout(1, 1, 1), device)  # type: ignore[arg-type]


def test_the_cpu_without_the_interpreter_is_refused_with_what_to_set() -> None:
    program = (
        "from ownerlanes.gpu.state import DeviceState\n"
        "from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout\n"
        "try:\n"
        "    DeviceState(LaneLayout(1, 1, 1), 'cpu')\n"
        "except InvalidArgumentError as error:\n"
        "    print(error)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "TRITON_INTERPRET=1" in done.stdout
