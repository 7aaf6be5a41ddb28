"""TritonAllocator: the contract on a device, one launch to select pages and one to write slots.

It strings the parts together in the order that the contract gives: read the batch, plan it, count,
evict at most once, pack, launch. Pages and slots stay on the device; the host keeps a count of free
pages by lane and nothing else, so a batch that fits reads nothing back. It never changes anything
before the last check that can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import torch

from ownerlanes.gpu.allocation import TensorExtendAllocation
from ownerlanes.gpu.eviction import EvictionDoor
from ownerlanes.gpu.kernels_launch import Launcher
from ownerlanes.gpu.packing import Packed, pack_batch, pack_owners
from ownerlanes.gpu.page_math import Booleans, Integers, count_by_lane, places_of
from ownerlanes.gpu.planning import DEMAND, Plan, plan_batch
from ownerlanes.gpu.planning_phases import (
    LanePlan,
    choose_phases,
    infeasible_lanes,
    place_on_lanes,
)
from ownerlanes.gpu.release import Releases
from ownerlanes.gpu.release_ids import Ids
from ownerlanes.gpu.state import DeviceState
from ownerlanes.gpu.validation import Batch, check_tail_pages, read_batch, read_lanes
from ownerlanes.reference.contract import (
    BatchPlan,
    CapacityWaitError,
    Evictor,
    ExtendRequest,
    InvalidArgumentError,
    LaneLayout,
    PoolSnapshot,
    shown,
)

Counter = Callable[[], list[int]]


class TritonAllocator:
    """Allocates pages by owner lane, on a GPU or in Triton's interpreter.

    Not thread-safe; on a GPU all of its work is ordered by the current stream.

    Args:
        layout: the pool; fewer than 2**31 pages.
        evictor: who may give pages up when a lane is short, or None.
        device: where the state and the results live; None is the current GPU, or the CPU where
            there is none (which needs TRITON_INTERPRET=1).
        deferred_release: whether releases of tensors on `device` return before they are judged.

    Raises:
        InvalidArgumentError: an argument is not one that this allocator can use.
    """

    def __init__(
        self,
        layout: LaneLayout,
        evictor: Evictor | None = None,
        device: torch.device | str | None = None,
        deferred_release: bool = False,
    ) -> None:
        if not isinstance(deferred_release, bool):
            raise InvalidArgumentError(
                f"deferred_release: expected a bool, found {shown(deferred_release)}"
            )
        self._state = DeviceState(layout, device)
        self._releases = Releases(self._state, deferred_release)
        self._launcher = Launcher(self._state)
        self._door = EvictionDoor(evictor, layout)

    @property
    def layout(self) -> LaneLayout:
        """The pool's layout."""
        return self._state.layout

    @property
    def device(self) -> torch.device:
        """Where the state and the results live."""
        return self._state.device

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> TensorExtendAllocation:
        """Pages and slots for the new tokens of a batch, all or nothing.

        At most two launches and no wait for the device when the pages are there; a batch that
        fills partial pages takes one more launch and reads one number back.
        Serves [[RFC-0001:C-ATOMIC-BATCH]] and [[RFC-0001:C-FLATTENED-ORDER]].

        Raises:
            InvalidArgumentError: `requests` is not a sequence.
            InvalidRequestError, UnsupportedPagePlanError, CapacityWaitError: in this order over
                the whole batch; of the first two, the first request at fault.
            EvictorContractError, ReentrantCallError: the evictor broke its contract.
            InvalidFreeError: a deferred release was refused; this call did nothing.
        """
        self._door.refuse("alloc_extend")
        batch, plan = self._planned(requests)
        evictable = self._door.counter()
        lane_plan = self._with_phases(batch, plan, evictable)
        evicted = self._make_room(
            lane_plan.required,
            evictable,
            infeasible=partial(infeasible_lanes, batch, plan, self.layout),
            filling=batch.tail_pages,
        )
        packed = pack_batch(batch, plan, lane_plan)
        pages, slots = self._launcher.empty_outputs(packed)
        parameters = self._launcher.to_device(packed.buffer)
        self._select(packed, parameters, pages, lane_plan.required)
        try:
            filled = self._launcher.flatten(packed, parameters, pages, slots)
        except BaseException:
            self._state.release_host(pages.cpu().numpy()[: packed.page_offsets[-1]])
            raise
        return TensorExtendAllocation(
            out_cache_loc=filled,
            extend_offsets=packed.extend_offsets,
            phases=tuple(lane_plan.phases.tolist()),
            evicted=evicted,
            page_ids=pages,
            page_offsets=packed.page_offsets,
        )

    def plan_extend(self, requests: Sequence[ExtendRequest]) -> BatchPlan:
        """What alloc_extend would take, for admission; changes nothing and never waits.

        Serves [[RFC-0001:C-REQUEST-LOCAL-PLANNING]].

        Raises:
            InvalidArgumentError, InvalidRequestError, UnsupportedPagePlanError, InvalidFreeError:
                as alloc_extend.
        """
        self._door.refuse("plan_extend")
        batch, plan = self._planned(requests)
        self._releases.fold()
        lane_plan = self._with_phases(batch, plan, self._door.counter())
        return BatchPlan(
            phases=tuple(lane_plan.phases.tolist()),
            demand=tuple(map(tuple, lane_plan.tables[DEMAND].tolist())),
            required=tuple(lane_plan.required),
            deficit=self._deficit(lane_plan.required),
            infeasible=infeasible_lanes(batch, plan, self.layout),
        )

    def alloc_pages(self, owners: Sequence[int]) -> torch.Tensor:
        """One new page on each named lane, in that order, all or nothing; int64 page ids.

        Raises:
            InvalidArgumentError: an owner is not a lane.
            CapacityWaitError, EvictorContractError, ReentrantCallError, InvalidFreeError: as
                alloc_extend.
        """
        self._door.refuse("alloc_pages")
        lanes = read_lanes(owners, self.layout)
        required = count_by_lane(lanes, self.layout)
        capacity = self.layout.capacity
        self._make_room(
            required,
            self._door.counter(),
            infeasible=lambda: tuple(i for i, n in enumerate(required) if n > capacity),
            filling=np.empty(0, dtype=np.int64),
        )
        packed = pack_owners(lanes, required)
        pages, _ = self._launcher.empty_outputs(packed)
        self._select(packed, self._launcher.to_device(packed.buffer), pages, required)
        return pages

    def free(self, slots: Ids) -> None:
        """Release every page that the slots touch; duplicates are one release.

        Args:
            slots: a sequence of integers, or a 1-D contiguous integer tensor on the CPU or on the
                allocator's device.

        Raises:
            InvalidFreeError: the argument is none of these, or a page is free, reserved or out of
                range; nothing was released.
        """
        if self._door.collecting:
            self._door.collect(self._releases.as_pages(slots, "slots"))
            return
        self._door.refuse("free")
        self._releases.free(slots)

    def free_pages(self, pages: Ids) -> None:
        """Release these pages; duplicates are one release. Arguments and errors as `free`."""
        if self._door.collecting:
            self._door.collect(self._releases.as_pages(pages, "pages"))
            return
        self._door.refuse("free_pages")
        self._releases.free_pages(pages)

    def available_pages(self) -> tuple[int, ...]:
        """The free pages, by lane; folds deferred releases in.

        Raises:
            InvalidFreeError: a deferred release was refused. So do the other calls that fold.
        """
        self._door.refuse("available_pages")
        self._releases.fold()
        return tuple(self._state.free_counts)

    def available_lower_bound(self) -> tuple[int, ...]:
        """The free pages, by lane, without those of deferred releases; never waits."""
        self._door.refuse("available_lower_bound")
        return tuple(self._state.free_counts)

    def snapshot(self) -> PoolSnapshot:
        """The whole state, as data; folds deferred releases in and reads the device back."""
        self._door.refuse("snapshot")
        self._releases.fold()
        return self._state.snapshot()

    def digest(self) -> str:
        """The whole state in 64 hex digits; folds deferred releases in and reads the device back.

        Serves [[RFC-0001:C-REPLICA-DETERMINISM]].
        """
        self._door.refuse("digest")
        self._releases.fold()
        return self._state.digest()

    def clear(self) -> None:
        """Make every page free that is not reserved; the evictor is the caller's to clear."""
        self._door.refuse("clear")
        self._releases.fold()
        self._state.clear()

    def _planned(self, requests: Iterable[ExtendRequest]) -> tuple[Batch, Plan]:
        batch, fault = read_batch(requests, self.layout)
        check_tail_pages(batch, self._launcher.first_free)
        if fault is not None:
            raise fault
        return batch, plan_batch(batch, self.layout)

    def _with_phases(self, batch: Batch, plan: Plan, evictable: Counter | None) -> LanePlan:
        if batch.open_phases:
            self._releases.fold()
        phases = choose_phases(batch, plan, self.layout, self._state.free_counts, evictable)
        return place_on_lanes(batch, plan, phases, self.layout)

    def _select(
        self,
        packed: Packed,
        parameters: torch.Tensor,
        pages: torch.Tensor,
        required: Sequence[int],
    ) -> None:
        """Select pages, counted first: an interrupt leaves counts too low, never too high."""
        self._state.take(required)
        try:
            self._launcher.select(packed, parameters, pages)
        except Exception:  # the launch failed, so that no page was selected
            self._state.put_back(required)
            raise

    def _deficit(self, required: Sequence[int]) -> tuple[int, ...]:
        free = self._state.free_counts
        return tuple(max(need - have, 0) for need, have in zip(required, free, strict=True))

    def _make_room(
        self,
        required: Sequence[int],
        evictable: Counter | None,
        *,
        infeasible: Callable[[], Sequence[int]],
        filling: Integers,
    ) -> tuple[int, ...]:
        """Have `required` pages free on every lane, evicting at most once; the pages evicted.

        Serves [[RFC-0001:C-CAPACITY-AND-EVICTION]].
        """
        if not any(self._deficit(required)):
            return ()
        self._releases.fold()
        deficit = self._deficit(required)
        pages: Integers = np.empty(0, dtype=np.int64)
        if any(deficit) and evictable is not None:
            covered = zip(evictable(), deficit, strict=True)
            if all(count >= missing for count, missing in covered):
                pages = self._door.evict(deficit, partial(self._releasable, filling))
                self._state.release_host(pages)
                deficit = self._deficit(required)
        if any(deficit):
            raise CapacityWaitError(
                required=required,
                available=self._state.free_counts,
                deficit=deficit,
                evicted=count_by_lane(places_of(pages, self.layout)[0], self.layout),
                infeasible=infeasible(),
            )
        return tuple(pages.tolist())

    def _releasable(self, filling: Integers, pages: Integers) -> Booleans:
        return self._state.allocated(pages) & ~np.isin(pages, filling)
