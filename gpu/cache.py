"""LanePrefixCache for engines: prefixes by content key, pages given up by owner lane.

match, insert, pin and unpin cost time proportional to the path, evict to the pages that go (each
amortised over rare growth and rebuilding), whatever the cache holds. It lives on the host, never
touches a device, reads no wall clock, and depends on no hash order, so that the caches of all
ranks agree. Serves [[RFC-0001:C-LANE-EVICTION]].
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ownerlanes.gpu.cache_checks import checked_deficit, checked_keys, checked_pages
from ownerlanes.gpu.cache_nodes import NO_PHASE, ROOT, Nodes, NodeTable
from ownerlanes.gpu.cache_order import LaneOrder, node_of, tick_of
from ownerlanes.reference.contract import (
    CachedPrefix,
    InsertResult,
    InvalidArgumentError,
    LaneLayout,
    PinError,
    StalePrefixError,
    as_index,
    index_in,
    shown,
)


@dataclass(frozen=True, eq=False, slots=True)
class PagePrefix:
    """The CachedPrefix of this cache.

    Attributes:
        pages: page ids from the root, one for each key.
        phase: the phase that the last page was inserted with; None for an empty prefix.
    """

    pages: tuple[int, ...]
    phase: int | None
    _cache: LanePrefixCache = field(repr=False)
    _path: Nodes = field(repr=False)
    _born: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.pages)


class LanePrefixCache:
    """A prefix cache over the pages of one layout; an Evictor for that layout's allocator.

    Content keys are hashable objects of which equal ones hash alike (tensors do not). Inserted
    pages belong to the cache: the caller frees only what `insert` returns as duplicates and what
    `evict` and `clear` give up (an allocator that evicts does so by itself). Not safe for use by
    several threads at once.

    Args:
        layout: the pool whose pages are cached.

    Raises:
        InvalidArgumentError: `layout` is not a LaneLayout.
    """

    def __init__(self, layout: LaneLayout) -> None:
        if not isinstance(layout, LaneLayout):
            raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
        self.layout = layout
        self._tick = 0  # not set back by clear, so that old prefixes stay stale
        self._forget_all()

    def match(self, keys: Sequence[Hashable]) -> CachedPrefix:
        """The longest cached prefix of `keys`, stamped as most recently used.

        Raises:
            InvalidArgumentError: `keys` is not a sequence of hashable keys.
        """
        path = self._nodes.walk(checked_keys(keys))
        self._tick += 1
        self._nodes.stamp[path] = self._tick
        self._enter(path)
        return self._prefix(path)

    def peek(self, keys: Sequence[Hashable]) -> CachedPrefix:
        """The longest cached prefix of `keys`, its stamps left as they are.

        Raises:
            InvalidArgumentError: `keys` is not a sequence of hashable keys.
        """
        return self._prefix(self._nodes.walk(checked_keys(keys)))

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        """Cache `pages` under the chain of `keys` from the root, and stamp the whole chain.

        Keys that are cached keep their page and phase; a different page given for one is a
        duplicate, and stays the caller's to release.

        Args:
            keys: content keys from the root.
            pages: page ids, as many as keys.
            phase: what new pages carry, 0 <= phase < num_lanes or None.

        Raises:
            InvalidArgumentError: keys and pages differ in number; a page occurs twice, is cached
                under another key, reserved or out of range; an argument is not what it should
                be. Nothing has changed.
        """
        keys = checked_keys(keys)
        ids, lanes = checked_pages(pages, self.layout)
        if len(keys) != len(ids):
            raise InvalidArgumentError(
                f"pages: expected one for each of the {len(keys)} keys, found {len(ids)}"
            )
        if phase is not None:
            phase = index_in(phase, "phase", 0, self.layout.num_lanes)
        path = self._nodes.walk(keys)
        duplicates = self._checked_duplicates(ids, path)

        self._tick += 1
        self._nodes.stamp[path] = self._tick
        known = len(path)
        if known < len(keys):
            path = self._nodes.append_chain(
                path, keys[known:], ids[known:], lanes[known:], phase, self._tick
            )
            self._count(lanes[known:], 1, self._cached, self._evictable)
        self._enter(path)
        return InsertResult(self._prefix(path), duplicates)

    def pin(self, prefix: CachedPrefix) -> None:
        """Protect a prefix from eviction, until as many unpins as pins; empty ones: no-op.

        Raises:
            StalePrefixError: a part of it has left the cache.
            InvalidArgumentError: it is not a prefix of this cache.
        """
        path = self._current_path(prefix, "pin")
        if not len(path):
            return
        nodes = self._nodes
        nodes.pins[path[-1]] += 1
        nodes.protecting[path] += 1
        self._count(nodes.lane[path[nodes.protecting[path] == 1]], -1, self._evictable)

    def unpin(self, prefix: CachedPrefix) -> None:
        """Take one pin back; empty prefixes: no-op.

        Raises:
            PinError: the prefix has no pin to take back.
            StalePrefixError: a part of it has left the cache.
            InvalidArgumentError: it is not a prefix of this cache.
        """
        path = self._current_path(prefix, "unpin")
        if not len(path):
            return
        nodes = self._nodes
        if not nodes.pins[path[-1]]:
            raise PinError(f"unpin: the prefix of {len(path)} pages has no pin to take back")
        nodes.pins[path[-1]] -= 1
        nodes.protecting[path] -= 1
        released = path[np.count_nonzero(nodes.protecting[path]) :]
        self._count(nodes.lane[released], 1, self._evictable)
        stamps = nodes.stamp[released]
        first = 0
        for end in (*(np.flatnonzero(stamps[1:] != stamps[:-1]) + 1).tolist(), len(released)):
            if first < end:
                self._order.add_path(released[first:end], int(stamps[first]))
            first = end

    def evictable_pages(self) -> tuple[int, ...]:
        """The pages that `evict` could give up, by lane."""
        return tuple(self._evictable)

    def evict(self, deficit: Sequence[int], /) -> tuple[int, ...]:
        """Give up at least `deficit[lane]` pages of every lane, or all that are evictable.

        Least recently used first; of one path the deepest first; a page goes with all below it.

        Returns:
            The page ids, ascending. The cache has forgotten them.

        Raises:
            InvalidArgumentError: not one count >= 0 for each lane. Nothing has changed.
        """
        short = checked_deficit(deficit, self.layout)
        heads: dict[int, int] = {}
        self._look_up(range(len(short)), short, heads)
        subtrees = [np.array([], dtype=np.intp)]
        while heads:
            tick = tick_of(min(heads.values()))
            here = [lane for lane, entry in heads.items() if tick_of(entry) == tick]
            # Lanes do not interfere: what goes along with a page was passed over before it, when
            # its own lane was no longer short.
            lasts = [self._climb(node_of(heads[lane]), tick, lane, short) for lane in here]
            subtree, chain = self._nodes.unlink(min(lasts, key=self._nodes.depth.item))
            subtrees.append(subtree)
            self._order.add_above(chain, tick)
            self._look_up(here, short, heads)
        going = np.concatenate(subtrees)
        self._count(self._nodes.lane[going], -1, self._cached, self._evictable)
        return tuple(self._nodes.discard(going))

    def owns(self, page: int) -> bool:
        """Whether a page is cached; False for an id that no page has.

        Raises:
            InvalidArgumentError: `page` is not an integer.
        """
        return as_index(page, "page") in self._nodes.node_of

    def pages_by_lane(self) -> tuple[int, ...]:
        """The cached pages, by lane."""
        return tuple(self._cached)

    def clear(self) -> tuple[int, ...]:
        """Forget everything, pins included; the page ids given up, ascending."""
        pages = tuple(sorted(self._nodes.node_of))
        self._forget_all()
        return pages

    def _forget_all(self) -> None:
        self._nodes = NodeTable(self.layout.num_lanes)
        self._cached = [0] * self.layout.num_lanes
        self._evictable = [0] * self.layout.num_lanes
        self._order = LaneOrder(self.layout.num_lanes, self._nodes, self._evictable)

    def _prefix(self, path: Nodes) -> PagePrefix:
        nodes = self._nodes
        last = path[-1] if len(path) else ROOT
        phase = int(nodes.phase[last])
        return PagePrefix(
            pages=tuple(nodes.page[path].tolist()),
            phase=None if phase == NO_PHASE else phase,
            _cache=self,
            _path=path,
            _born=int(nodes.born[last]),
        )

    def _enter(self, path: Nodes) -> None:
        """Give the unprotected part of a path that has just been stamped its place in the order.

        Protection only decreases on the way down, so that part is a tail.
        """
        protected = np.count_nonzero(self._nodes.protecting[path])
        if protected < len(path):
            self._order.add_path(path[protected:], self._tick)

    def _look_up(self, lanes: Iterable[int], short: list[int], heads: dict[int, int]) -> None:
        """Keep in `heads` the first entry of each of the lanes that is short and has one."""
        for lane in lanes:
            entry = self._order.first(lane) if short[lane] else None
            if entry is None:
                heads.pop(lane, None)
            else:
                heads[lane] = entry

    def _climb(self, node: int, tick: int, lane: int, short: list[int]) -> int:
        """Take what the lane is short of from one tick's chain, upwards; the last one taken.

        Args:
            node: the lane's deepest node on the chain.
            tick: the chain's stamp; it ends where that does, or where nodes are protected.
            lane: one that is short.
            short: what each lane is short of; brought down.
        """
        nodes = self._nodes
        same_lane, stamp, protecting = nodes.same_lane.data, nodes.stamp.data, nodes.protecting.data
        left, last = short[lane], node
        while left and stamp[node] == tick and not protecting[node]:
            left -= 1
            last, node = node, same_lane[node]
        short[lane] = left
        return last

    def _count(self, lanes: npt.NDArray[np.integer], sign: int, *counts_by_lane: list[int]) -> None:
        for lane, number in enumerate(np.bincount(lanes, minlength=1).tolist()):
            for counts in counts_by_lane:
                counts[lane] += sign * number

    def _current_path(self, prefix: CachedPrefix, doing: str) -> Nodes:
        if not isinstance(prefix, PagePrefix) or prefix._cache is not self:
            raise InvalidArgumentError(f"prefix: expected one of this cache, found {shown(prefix)}")
        path, born = prefix._path, self._nodes.born
        # A node never leaves before what is below it: the last one speaks for the path.
        if len(path) and (path[-1] >= len(born) or born[path[-1]] != prefix._born):
            raise StalePrefixError(
                f"{doing}: a part of the prefix of {len(path)} pages has left the cache"
            )
        return path

    def _checked_duplicates(self, ids: npt.NDArray[np.int64], path: Nodes) -> tuple[int, ...]:
        """The given pages whose key has another page; none may be cached elsewhere."""
        known = len(path)
        different: list[int] = ids[:known][ids[:known] != self._nodes.page[path]].tolist()
        strangers = different + ids[known:].tolist()
        if not self._nodes.node_of.keys().isdisjoint(strangers):
            page = next(filter(self.owns, strangers))
            raise InvalidArgumentError(f"pages: page {page} is cached under another key")
        return tuple(different)
