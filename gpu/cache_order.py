"""Eviction order by lane, at the cost of what changes and not of what is cached.

All nodes that one tick stamped and no later tick restamped form one vertical chain, so a lane
needs one heap entry for each tick: that chain's deepest node on the lane, from which `same_lane`
leads to the next. Entries are never searched for; one that no longer holds is dropped when it
comes up, and a heap with too many of them is rebuilt. It never takes a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from ownerlanes.gpu.cache_nodes import Nodes, NodeTable

# An entry is one integer, so that a million of them stay small and compare fast: the tick, then
# the depth counted down, then the node. Node numbers and depths fit the table's int32 columns.
_BITS = 32
_MASK = (1 << _BITS) - 1
_SLACK = 64


def tick_of(entry: int) -> int:
    """The tick that stamped the entry's node."""
    return entry >> 2 * _BITS


def node_of(entry: int) -> int:
    """The entry's node."""
    return entry & _MASK


class LaneOrder:
    """For each lane a heap of entries, the first to evict on top.

    Whenever a lane has an unprotected node of some stamp, the deepest such node has an entry.
    The callers keep that true: `add_path` after stamping a path and after unprotecting one,
    `add_above` after taking part of a tick's chain.

    Args:
        num_lanes: how many heaps.
        nodes: where stamps and protection are looked up.
        evictable: unprotected nodes by lane, kept by the caller; bounds the length of a heap.
    """

    def __init__(self, num_lanes: int, nodes: NodeTable, evictable: Sequence[int]) -> None:
        self._nodes = nodes
        self._evictable = evictable
        self._heaps: list[list[int]] = [[] for _ in range(num_lanes)]

    def first(self, lane: int) -> int | None:
        """The entry of the lane's first node to evict, None if no node of it is evictable."""
        heap = self._heaps[lane]
        while heap:
            if self._holds(heap[0]):
                return heap[0]
            heappop(heap)
        return None

    def add_path(self, path: Nodes, tick: int) -> None:
        """Enter, for each lane, the deepest of some nodes of one path.

        Args:
            path: the nodes, from the root down; none is protected, all have the stamp `tick`.
            tick: their stamp.
        """
        self._add(self._nodes.deepest_by_lane(path), tick)

    def add_above(self, taken: Nodes, tick: int) -> None:
        """Enter, for each lane of the nodes taken, the next one above them of the same stamp.

        Args:
            taken: nodes of the tick's chain that have just been taken, from the top down.
            tick: the stamp that they had.
        """
        same_lane = self._nodes.same_lane.data
        stamp, protecting = self._nodes.stamp.data, self._nodes.protecting.data
        above: dict[int, int] = {}
        for lane, highest in self._nodes.deepest_by_lane(taken[::-1]).items():
            node = same_lane[highest]
            if stamp[node] == tick and not protecting[node]:
                above[lane] = node
        self._add(above, tick)

    def _add(self, node_by_lane: dict[int, int], tick: int) -> None:
        depth = self._nodes.depth
        for lane, node in node_by_lane.items():
            heap = self._heaps[lane]
            heappush(heap, tick << 2 * _BITS | _MASK - int(depth[node]) << _BITS | node)
            evictable = self._evictable[lane]
            if len(heap) > evictable + evictable // 4 + _SLACK:
                # Distinct entries that hold are at most `evictable`, so a fifth or more goes:
                # rebuilding costs each entry a constant.
                heap[:] = {entry for entry in heap if self._holds(entry)}
                heapify(heap)

    def _holds(self, entry: int) -> bool:
        node = node_of(entry)
        nodes = self._nodes
        return bool(nodes.stamp[node] == tick_of(entry) and not nodes.protecting[node])
