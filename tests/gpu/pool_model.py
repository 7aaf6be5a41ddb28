"""A pool as a plain set of free pages, and strategies for pools and for releases of them.

The model is what the device is compared with: it has no lanes, no counts and no arithmetic but
that of LaneLayout. Nothing here knows how a release is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from ownerlanes.gpu.state import DeviceState
from ownerlanes.reference.contract import LaneLayout, Page, PoolSnapshot


@dataclass
class PoolModel:
    """The free pages of a layout."""

    layout: LaneLayout
    allocated: set[int] = field(default_factory=set)

    def release(self, pages: Sequence[int]) -> bool:
        """Release all of these pages or, when one is not allocated, none."""
        if set(pages) - self.allocated:
            return False
        self.allocated -= set(pages)
        return True

    def snapshot(self) -> PoolSnapshot:
        layout = self.layout
        return PoolSnapshot(
            layout,
            tuple(
                tuple(
                    local
                    for local in range(layout.reserved_pages, layout.pages_per_lane)
                    if layout.page(lane, local) not in self.allocated
                )
                for lane in range(layout.num_lanes)
            ),
        )

    def free_counts(self) -> list[int]:
        return [len(lane) for lane in self.snapshot().free]


def releasable_pages(layout: LaneLayout) -> list[Page]:
    """All pages that are not reserved."""
    return [
        layout.page(lane, local)
        for local in range(layout.reserved_pages, layout.pages_per_lane)
        for lane in range(layout.num_lanes)
    ]


def device_state(model: PoolModel) -> DeviceState:
    """A DeviceState with the model's pages allocated."""
    state = DeviceState(model.layout, "cpu")
    for page in model.allocated:
        state.flags[model.layout.lane_of_page(page), model.layout.local_page(page)] = 0
    free = model.free_counts()
    state.take([model.layout.capacity - count for count in free])
    return state


@st.composite
def layouts(draw: st.DrawFn) -> LaneLayout:
    """Small layouts of every kind: one lane, one slot a page, no page, no or all reserved."""
    pages_per_lane = draw(st.integers(0, 20))
    return LaneLayout(
        num_lanes=draw(st.sampled_from([1, 2, 3, 4, 8])),
        page_size=draw(st.sampled_from([1, 2, 5, 16])),
        pages_per_lane=pages_per_lane,
        placement=draw(st.sampled_from(["interleaved", "blocked"])),
        reserved_pages=draw(st.integers(0, min(3, pages_per_lane))),
    )


@st.composite
def pools(draw: st.DrawFn) -> PoolModel:
    """A layout with some of its pages allocated."""
    layout = draw(layouts())
    pages = releasable_pages(layout)
    bits = draw(st.lists(st.booleans(), min_size=len(pages), max_size=len(pages)))
    return PoolModel(layout, {page for page, bit in zip(pages, bits, strict=True) if not bit})


INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def releases(draw: st.DrawFn, model: PoolModel) -> tuple[str, list[int]]:
    """A call and its ids, given what was allocated at first; about half of them are valid."""
    kind = draw(st.sampled_from(["slots", "pages"]))
    layout = model.layout
    size, ids = (layout.page_size, layout.num_slots) if kind == "slots" else (1, layout.num_pages)
    good = sorted(page * size + offset for page in model.allocated for offset in range(size))
    choices = [st.sampled_from(good)] if good else []
    if draw(st.booleans()):
        choices += [st.integers(-2, ids + 2), INT64]
    some = st.lists(st.one_of(choices), max_size=12) if choices else st.just([])
    return kind, draw(some)


def as_tensor(ids: list[int]) -> torch.Tensor:
    return torch.tensor(ids, dtype=torch.int64)


FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "array": lambda ids: np.array(ids, dtype=np.int64),
    "tensor": as_tensor,
}
