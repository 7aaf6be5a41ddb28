"""Whether a batch fits: phase choice and the counting of pages by lane.

Everything here is arithmetic on counts by lane; no page is chosen and nothing is evicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ownerlanes.reference.contract import ExtendRequest, LaneLayout
from ownerlanes.reference.planning import new_pages

Counts = tuple[int, ...]
Plans = Sequence[dict[int, tuple[int, ...]]]
"""For each request, phase -> lane of each touched page, supported phases only, ascending."""


def count_lanes(lanes: Sequence[int], layout: LaneLayout) -> Counts:
    """How often each lane is named."""
    counts = [0] * layout.num_lanes
    for lane in lanes:
        counts[lane] += 1
    return tuple(counts)


def add(left: Sequence[int], right: Sequence[int]) -> Counts:
    """Lane by lane."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def subtract(left: Sequence[int], right: Sequence[int]) -> Counts:
    """Lane by lane; below zero is what a lane is short of."""
    return tuple(a - b for a, b in zip(left, right, strict=True))


def deficits(required: Sequence[int], available: Sequence[int]) -> Counts:
    """What each lane is short of."""
    return tuple(max(0, -left) for left in subtract(available, required))


def covers(evictable: Sequence[int], deficit: Sequence[int]) -> bool:
    """Whether what can be evicted makes up every lane's deficit."""
    return all(a >= b for a, b in zip(evictable, deficit, strict=True))


def choose_phases(
    requests: Sequence[ExtendRequest],
    plans: Plans,
    layout: LaneLayout,
    free: Counts,
    evictable: Callable[[], Counts] | None,
) -> list[int]:
    """The phase of each request, in batch order. Serves [[RFC-0001:C-PHASE-SELECTION]].

    Of the supported phases the one that leaves the lanes fullest: the pages left by lane, sorted
    ascending, as lexicographically large as can be; ties go to the smallest phase. When even that
    leaves a lane below zero and there is an evictor, the same rule over free + evictable.
    """
    phases: list[int] = []
    taken: Counts = (0,) * layout.num_lanes
    for request, choices in zip(requests, plans, strict=True):
        demand = {
            phase: count_lanes(new_pages(request, lanes), layout)
            for phase, lanes in choices.items()
        }
        phase = fullest_phase(demand, subtract(free, taken))
        left = subtract(subtract(free, taken), demand[phase])
        if len(demand) > 1 and min(left) < 0 and evictable is not None:
            phase = fullest_phase(demand, subtract(add(free, evictable()), taken))
        phases.append(phase)
        taken = add(taken, demand[phase])
    return phases


def fullest_phase(demand: dict[int, Counts], counts: Counts) -> int:
    """The phase whose demand leaves the lexicographically largest ascending list of counts."""
    return max(demand, key=lambda phase: (sorted(subtract(counts, demand[phase])), -phase))


def demand_by_lane(
    requests: Sequence[ExtendRequest], plans: Plans, phases: Sequence[int], layout: LaneLayout
) -> tuple[Counts, ...]:
    """The new pages of each request, by lane, under the phases chosen."""
    return tuple(
        count_lanes(new_pages(request, choices[phase]), layout)
        for request, choices, phase in zip(requests, plans, phases, strict=True)
    )


def infeasible_lanes(
    requests: Sequence[ExtendRequest], plans: Plans, layout: LaneLayout
) -> tuple[int, ...]:
    """The lanes short even with every page free, phases chosen anew for that empty pool.

    Serves [[RFC-0001:C-INFEASIBLE-DEMAND]].
    """
    everything = (layout.capacity,) * layout.num_lanes
    phases = choose_phases(requests, plans, layout, everything, None)
    required = total(demand_by_lane(requests, plans, phases, layout), layout)
    return short_lanes(deficits(required, everything))


def total(demand: Sequence[Counts], layout: LaneLayout) -> Counts:
    """The sum over all requests, by lane."""
    zero = (0,) * layout.num_lanes
    return tuple(sum(column) for column in zip(zero, *demand, strict=True))


def short_lanes(deficit: Counts) -> tuple[int, ...]:
    """The lanes with a deficit."""
    return tuple(lane for lane, missing in enumerate(deficit) if missing)
