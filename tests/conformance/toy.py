"""A toy allocator that claims little: what the kit asks of a stranger, and no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Toy:
    capabilities = {  # noqa: RUF012
        "splits": {"RoundRobinPages"},
        "partial_pages": False,
        "open_phase": False,
        "eviction": False,
        "plan_extend": False,
        "alloc_pages": False,
        "clear": False,
        "exact_pages": False,
        "snapshot": False,
        "digest": False,
        "typed_errors": False,
        "argument_checks": False,
        "release_checks": False,
    }

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        self.free_by_lane = [
            [layout.page(lane, p) for p in range(layout.reserved_pages, layout.pages_per_lane)]
            for lane in range(layout.num_lanes)
        ]

    def alloc_extend(self, requests: Any) -> Any:
        free = [list(pages) for pages in self.free_by_lane]
        size = self.layout.page_size
        slots: list[int] = []
        offsets, rows = [0], []
        for request in requests:
            positions = range(request.prefix_len // size, -(-request.seq_len // size))
            if request.prefix_len == request.seq_len:
                positions = range(0)
            lanes = [(p // request.split.run + request.phase) % len(free) for p in positions]
            if any(lanes.count(lane) > len(pages) for lane, pages in enumerate(free)):
                return None
            pages = [free[lane].pop() for lane in lanes]
            own = [page * size + offset for page in pages for offset in range(size)]
            slots += own[: request.seq_len - request.prefix_len]
            offsets.append(len(slots))
            rows.append(pages)
        self.free_by_lane = free
        return SimpleNamespace(
            out_cache_loc=slots,
            extend_offsets=offsets,
            pages=rows,
            phases=[request.phase for request in requests],
        )

    def free_pages(self, pages: Any) -> None:
        for page in set(pages):
            self.free_by_lane[self.layout.lane_of_page(page)].append(page)

    def free(self, slots: Any) -> None:
        self.free_pages(slot // self.layout.page_size for slot in slots)

    def available_pages(self) -> Any:
        return [len(pages) for pages in self.free_by_lane]
