"""Releases: two launches that judge and apply one, and the fold that tells the host.

A release either frees every page that its ids name or none. By default each call reads its
verdict back and raises; deferred, releases of device tensors return at once and `fold` reads what
became of them. Nothing here decides when to fold for the caller's sake, or who may call.
Serves [[RFC-0001:C-RELEASE]].
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
import triton

from ownerlanes.gpu.page_math import Integers
from ownerlanes.gpu.release_ids import Ids, checked_ids, integers
from ownerlanes.gpu.release_kernels import apply_release, judge_release
from ownerlanes.gpu.slot_math import layout_constants
from ownerlanes.gpu.state import DeviceState
from ownerlanes.reference.contract import InvalidFreeError

Kind = Literal["slots", "pages"]

GPU_BLOCK = 1024
"""Ids a program looks at on a GPU."""

INTERPRETER_BLOCK = 2**16
"""Ids a program looks at in the interpreter, where programs are dear and wide blocks cheap."""

VERDICTS = 256
"""Verdicts of deferred releases in one piece of device memory, a byte each; more come as needed."""

PAGES_SHOWN = 8
"""How many pages at fault a message lists."""

RELEASES_SHOWN = 20
"""How many refused releases a message lists."""


class Releases:
    """The releases of one pool.

    Args:
        state: the pool. Kernels change `state.flags`; `state.free_counts` follows when a verdict
            has been read.
        deferred: whether releases of tensors on the state's device wait for a fold.
    """

    def __init__(self, state: DeviceState, deferred: bool) -> None:
        self._state = state
        self._deferred = deferred
        self._words = state.flags.view(torch.int32)
        # report[0] is the number of the latest refused call, report[1:] counts, by lane, the
        # pages that were ever released here. Neither is ever reset, so no call has to.
        self._report = torch.zeros(
            1 + state.layout.num_lanes, dtype=torch.int64, device=state.device
        )
        self._counted = [0] * state.layout.num_lanes
        self._calls = 0
        self._verdicts = [self._uninitialised_verdicts()]
        self._waiting: list[str] = []

    @property
    def pending(self) -> bool:
        """Whether a fold would read anything."""
        return bool(self._waiting)

    def free(self, slots: Ids) -> None:
        """Release every page that the slots touch; duplicates are one release.

        Args:
            slots: a 1-D contiguous integer tensor on the CPU or the state's device, a 1-D integer
                array, or a sequence of integers.

        Raises:
            InvalidFreeError: the argument is none of these, or (unless it is deferred) a page is
                free, reserved or out of range; nothing was released. Also an earlier deferred
                release was refused; then this one was not looked at.
        """
        self._release("free", slots, "slots")

    def free_pages(self, pages: Ids) -> None:
        """Release these pages; duplicates are one release. Arguments and errors as `free`."""
        self._release("free_pages", pages, "pages")

    def fold(self) -> None:
        """Count in the deferred releases; does nothing when there are none.

        Raises:
            InvalidFreeError: some were refused; one error for all of them, and the others stand.
        """
        if not self._waiting:
            return
        report = self._report.numel()
        found = torch.cat([self._report, *self._verdicts]).tolist()
        self._count_in(found[:report])
        waiting, self._waiting = self._waiting, []
        del self._verdicts[1:]
        refused = [
            f"release {number} ({release})"
            for number, (release, verdict) in enumerate(
                zip(waiting, found[report : report + len(waiting)], strict=True), start=1
            )
            if verdict
        ]
        if refused:
            more = f" and {len(refused) - RELEASES_SHOWN} more" * (len(refused) > RELEASES_SHOWN)
            raise InvalidFreeError(
                f"{len(refused)} of {len(waiting)} deferred releases named a page that is free, "
                f"reserved or out of range: {', '.join(refused[:RELEASES_SHOWN])}{more}; each of "
                "these released nothing, the others stand"
            )

    def as_pages(self, ids: Ids, kind: Kind) -> list[int]:
        """The distinct pages that ids name, ascending, whether they exist or not.

        Reads a device tensor back. Integers of a sequence may be of any size here.

        Raises:
            InvalidFreeError: the argument is not what `free` takes.
        """
        if isinstance(ids, torch.Tensor | np.ndarray):
            given = checked_ids(ids, kind, self._state.device)
            return [int(page) for page in self._distinct_pages(given, kind)]
        size = self._state.layout.page_size if kind == "slots" else 1
        return sorted({number // size for number in integers(ids, kind)})

    def _release(self, name: str, ids: Ids, kind: Kind) -> None:
        given = checked_ids(ids, kind, self._state.device)
        if self._deferred and isinstance(ids, torch.Tensor) and ids.device == self._state.device:
            if given.numel():
                self._launch(given, kind)
                self._waiting.append(f"{name} of {given.numel()} {kind}")
            return
        self.fold()
        if not given.numel():
            return
        self._launch(given.to(self._state.device), kind)
        report = self._report.tolist()
        self._count_in(report)
        if report[0] == self._calls:
            raise InvalidFreeError(self._refusal(name, given, kind))

    def _launch(self, ids: torch.Tensor, kind: Kind) -> None:
        """Judge and apply one release of at least one id; its verdict goes after the waiting."""
        state = self._state
        layout = state.layout
        self._calls += 1
        piece, order = divmod(len(self._waiting), VERDICTS)
        if piece == len(self._verdicts):
            self._verdicts.append(self._uninitialised_verdicts())
        count = ids.numel()
        limit = INTERPRETER_BLOCK if state.device.type == "cpu" else GPU_BLOCK
        block = min(triton.next_power_of_2(count), limit)
        grid = (triton.cdiv(count, block),)
        constants = {**layout_constants(layout), "STRIDE": state.stride, "BLOCK": block}
        if kind == "pages":
            constants["PAGE_SIZE"] = 1
        known = layout.num_slots if kind == "slots" else layout.num_pages
        with state.as_current():
            judge_release[grid](
                ids,
                count,
                state.flags,
                self._report,
                self._calls,
                NUM_IDS=known,
                RESERVED=layout.reserved_pages,
                **constants,
            )
            apply_release[grid](
                ids,
                count,
                self._words,
                self._report,
                self._calls,
                self._verdicts[piece],
                order,
                **constants,
            )

    def _count_in(self, report: list[int]) -> None:
        state = self._state
        state.free_counts = [
            free + now - before
            for free, now, before in zip(state.free_counts, report[1:], self._counted, strict=True)
        ]
        self._counted = report[1:]

    def _refusal(self, name: str, ids: torch.Tensor, kind: Kind) -> str:
        pages = self._distinct_pages(ids, kind)
        bad = pages[~self._state.allocated(pages)].tolist()
        more = f" and {len(bad) - PAGES_SHOWN} more" if len(bad) > PAGES_SHOWN else ""
        return (
            f"{name}: {kind}: expected ids of allocated pages, found pages {bad[:PAGES_SHOWN]}"
            f"{more}, which are free, reserved or out of range; nothing was released"
        )

    def _distinct_pages(self, ids: torch.Tensor, kind: Kind) -> Integers:
        size = self._state.layout.page_size if kind == "slots" else 1
        return np.unique(ids.cpu().numpy().astype(np.int64) // size)

    def _uninitialised_verdicts(self) -> torch.Tensor:
        return torch.empty(VERDICTS, dtype=torch.uint8, device=self._state.device)
