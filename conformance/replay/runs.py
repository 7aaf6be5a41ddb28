"""One replay from prompts to counts, and the same prompts through pools to compare it with.

`run` is what the command, the benchmarks and the tests call. It prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ownerlanes.conformance.replay.pools import (
    AggregateCountCache,
    MakeCache,
    oracle_side,
    without_lanes,
)
from ownerlanes.conformance.replay.scheduler import Listener, Scheduler, ignore
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import LockStep, Side
from ownerlanes.conformance.replay.tally import Tally
from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference import LanePrefixCache


@dataclass(frozen=True)
class Outcome:
    """A replay that ended without a difference.

    Attributes:
        name: the pool's name in a comparison.
        settings: what it was run with.
        tally: what happened.
        sides: what was driven, the oracle first, with the seconds that each took.
        compared: calls whose answers and states were compared.
    """

    name: str
    settings: ReplaySettings
    tally: Tally
    sides: tuple[Side, ...]
    compared: int


def run(
    settings: ReplaySettings,
    prompts: Sequence[Prompt],
    sides: Sequence[Side],
    *,
    name: str = "owner lanes",
    left: Listener = ignore,
) -> Outcome:
    """Drive the sides, the oracle first, through all prompts.

    Args:
        settings: pool, plan and scheduler.
        prompts: the workload.
        sides: one or more pools of that layout, with every page free.
        name: what to call it.
        left: called with the number of requests that have left, whenever one has.

    Raises:
        DivergedError: two sides differ.
        OwnerLaneError: the settings do not suit the split.
    """
    tally = Tally(settings.layout)
    lock_step = LockStep(settings.layout, sides)
    Scheduler(lock_step, settings, prompts, tally, left).run()
    return Outcome(name, settings, tally, lock_step.sides, lock_step.compared)


def lane_blind(
    settings: ReplaySettings, prompts: Sequence[Prompt], left: Listener = ignore
) -> Outcome:
    """The limit: the same pool without lanes, so that any free page will do."""
    blind = replace(settings, layout=without_lanes(settings.layout), phase=None)
    return _oracle_alone("no lanes (limit)", blind, prompts, LanePrefixCache, left)


def aggregate_count(
    settings: ReplaySettings, prompts: Sequence[Prompt], left: Listener = ignore
) -> Outcome:
    """Lanes, but an evictor that counts pages whatever lane they are on."""
    return _oracle_alone("aggregate count", settings, prompts, AggregateCountCache, left)


def _oracle_alone(
    name: str,
    settings: ReplaySettings,
    prompts: Sequence[Prompt],
    make_cache: MakeCache,
    left: Listener,
) -> Outcome:
    side = oracle_side(settings.layout, reuse=True, make_cache=make_cache)
    return run(settings, prompts, [side], name=name, left=left)
