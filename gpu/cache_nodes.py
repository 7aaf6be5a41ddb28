"""The prefix cache's trie as flat columns: a node is an integer, its fields are array entries.

This keeps a million pages in some hundred bytes each and lets a path be stamped or counted with
one numpy call. It links and unlinks nodes and knows nothing of lanes being short, of pins being
balanced or of what may be evicted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.intp]
"""Node numbers, as an index into the columns."""

ROOT = 0
"""The node above every first key: no page, never stamped, never evicted."""

GONE = -1
"""Stamp and birth tick of a node number that is not in use."""


NO_PHASE = -1
"""Phase of the root and of nodes that were inserted without one."""


class NodeTable:
    """Columns of a growing trie, and the way from keys and from pages to nodes.

    Attributes:
        page, lane, phase: what was inserted; phase NO_PHASE stands for None.
        parent, depth: the place in the trie; depth 1 is right under the root.
        same_lane: the nearest node above on the same lane, ROOT if there is none.
        born: tick of the insertion; with the node number it identifies a node for ever.
        stamp: tick of the last use; GONE for node numbers not in use.
        pins: pins counted on the node itself.
        protecting: pins at or below the node.
        node_of: page id -> node.
    """

    _COLUMNS: ClassVar = {
        "page": np.int64,
        "lane": np.int32,
        "phase": np.int32,
        "parent": np.int32,
        "depth": np.int32,
        "same_lane": np.int32,
        "born": np.int64,
        "stamp": np.int64,
        "pins": np.int32,
        "protecting": np.int32,
    }
    page: npt.NDArray[np.int64]
    lane: npt.NDArray[np.int32]
    phase: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    same_lane: npt.NDArray[np.int32]
    born: npt.NDArray[np.int64]
    stamp: npt.NDArray[np.int64]
    pins: npt.NDArray[np.int32]
    protecting: npt.NDArray[np.int32]

    def __init__(self, num_lanes: int) -> None:
        self._num_lanes = num_lanes
        self.node_of: dict[int, int] = {}
        # Below a node: nothing, its only child, or its children by key. Chains, the common case,
        # need no dict.
        self._below: list[int | dict[Hashable, int] | None] = [None]
        self._key: list[Hashable] = [None]
        self._unused: list[int] = []
        for name, kind in self._COLUMNS.items():
            setattr(self, name, np.zeros(1, dtype=kind))
        self.stamp[ROOT] = self.born[ROOT] = GONE
        self.phase[ROOT] = NO_PHASE

    def walk(self, keys: Sequence[Hashable]) -> Nodes:
        """The nodes that the keys lead to from the root, as far as there are any."""
        below, key_of = self._below, self._key
        path: list[int] = []
        node = ROOT
        for key in keys:
            under = below[node]
            if isinstance(under, int):
                only = key_of[under]
                if only is not key and only != key:
                    break
                node = under
            elif under is None or (found := under.get(key)) is None:
                break
            else:
                node = found
            path.append(node)
        return np.array(path, dtype=np.intp)

    def append_chain(
        self,
        path: Nodes,
        keys: Sequence[Hashable],
        pages: npt.NDArray[np.int64],
        lanes: npt.NDArray[np.int64],
        phase: int | None,
        tick: int,
    ) -> Nodes:
        """Extend a path by new nodes for `keys`, each below the one before; the whole path."""
        new = self._take_numbers(len(keys))
        above = int(path[-1]) if len(path) else ROOT
        self._link(above, keys[0], new[0])
        key_of, below = self._key, self._below
        for node, key, under in zip(new, keys, (*new[1:], None), strict=True):
            key_of[node] = key
            below[node] = under
        self.node_of.update(zip(pages.tolist(), new, strict=True))
        whole = np.concatenate((path, np.array(new, dtype=np.intp)))
        at = whole[len(path) :]
        self.page[at] = pages
        self.lane[at] = lanes
        self.phase[at] = NO_PHASE if phase is None else phase
        self.parent[at[1:]] = at[:-1]
        self.parent[at[0]] = above
        self.depth[at] = np.arange(len(path) + 1, len(whole) + 1)
        self.same_lane[at] = self._nearest_above(whole)[len(path) :]
        self.born[at] = self.stamp[at] = tick
        self.pins[at] = self.protecting[at] = 0
        return whole

    def deepest_by_lane(self, path: Nodes) -> dict[int, int]:
        """For each lane on a path its deepest node there."""
        deepest = np.full(self._num_lanes, ROOT)
        deepest[self.lane[path]] = path  # where a lane is repeated, numpy keeps the last
        lanes = np.flatnonzero(deepest)
        return dict(zip(lanes.tolist(), deepest[lanes].tolist(), strict=True))

    def _nearest_above(self, path: Nodes) -> Nodes:
        """For each node of a path from the root the nearest one above on its lane, or ROOT."""
        lanes = self.lane[path]
        by_lane = np.argsort(lanes, kind="stable")
        before, after = by_lane[:-1], by_lane[1:]
        above = np.full(len(path), ROOT, dtype=np.intp)
        above[after] = np.where(lanes[before] == lanes[after], path[before], ROOT)
        return above

    def unlink(self, top: int) -> tuple[Nodes, Nodes]:
        """Take a node and all below it out of the trie; their stamps are GONE at once.

        Their other columns stay readable until `discard`.

        Returns:
            All of them, and those that had the top's stamp, both from the top down.
        """
        self._unlink_from_parent(top)
        below = self._below
        subtree = [top]
        for node in subtree:  # grows as it goes
            under = below[node]
            if isinstance(under, int):
                subtree.append(under)
            elif under is not None:
                subtree.extend(under.values())
        at = np.array(subtree, dtype=np.intp)
        chain = at[self.stamp[at] == self.stamp[top]]
        self.stamp[at] = GONE
        return at, chain

    def _unlink_from_parent(self, node: int) -> None:
        above = int(self.parent[node])
        siblings = self._below[above]
        if isinstance(siblings, dict):
            del siblings[self._key[node]]
            if len(siblings) == 1:
                (self._below[above],) = siblings.values()
        else:
            self._below[above] = None

    def discard(self, nodes: Nodes) -> list[int]:
        """Forget unlinked nodes, whose numbers may be used again; their pages, ascending."""
        pages = self.page[nodes]
        self.born[nodes] = GONE
        numbers = nodes.tolist()
        node_of, key_of, below = self.node_of, self._key, self._below
        for node, page in zip(numbers, pages.tolist(), strict=True):
            del node_of[page]
            key_of[node] = below[node] = None
        self._unused += numbers
        ascending: list[int] = np.sort(pages).tolist()
        return ascending

    def _link(self, above: int, key: Hashable, node: int) -> None:
        under = self._below[above]
        if under is None:
            self._below[above] = node
        elif isinstance(under, dict):
            under[key] = node
        else:
            self._below[above] = {self._key[under]: under, key: node}

    def _take_numbers(self, count: int) -> list[int]:
        """Numbers of nodes not in use; the columns grow by half when there are too few."""
        reused = self._unused[-count:]
        del self._unused[-count:]
        first, fresh = len(self._key), count - len(reused)
        self._key.extend([None] * fresh)
        self._below.extend([None] * fresh)
        capacity = len(self.page)
        if first + fresh > capacity:
            for name in self._COLUMNS:
                column = getattr(self, name)
                longer = np.zeros(max(first + fresh, capacity * 3 // 2), dtype=column.dtype)
                longer[:capacity] = column
                setattr(self, name, longer)
        return reused + list(range(first, first + fresh))
