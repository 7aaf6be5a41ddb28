"""One rank of a group that compares its state with the others; prints what each check said.

Run as `replica_worker.py RANK WORLD_SIZE FILE`: all ranks name the same new file, by which they
meet. The outcomes are one JSON list, in the order of the checks below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import torch.distributed as dist

from ownerlanes.conformance.device import prepare_triton

prepare_triton()

from ownerlanes.gpu.replica import ReplicaGuard  # noqa: E402
from ownerlanes.gpu.state import DeviceState  # noqa: E402
from ownerlanes.reference.contract import LaneLayout, OwnerLaneError, ReplicaDivergedError  # noqa: E402


class Broken:
    """An allocator that cannot say what its state is."""

    def digest(self) -> str:
        raise ArithmeticError("no digest")


def outcome(check: Callable[[], None]) -> object:
    """The ranks of ReplicaDivergedError, or the name of another error, or "equal"."""
    try:
        check()
    except ReplicaDivergedError as error:
        return list(error.ranks)
    except (OwnerLaneError, ArithmeticError) as error:
        return type(error).__name__
    return "equal"


def main(rank: int, world_size: int, file: str) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"file://{file}",
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=60),
    )
    last_two = dist.new_group([1, 2])
    state = DeviceState(LaneLayout(2, 4, 9), "cpu")
    everyone = ReplicaGuard(state)
    outcomes = [outcome(everyone.check)]
    for astray in (2, 0):
        state.flags[1, 5] = rank != astray  # this rank alone has taken the page
        outcomes.append(outcome(everyone.check))
    state.flags[1, 5] = rank != 2
    outcomes.append(outcome(ReplicaGuard(state, last_two).check))
    state.release_host(np.array([11] if rank == 2 else [], dtype=np.int64))
    outcomes.append(outcome(everyone.check))
    outcomes.append(outcome(ReplicaGuard(Broken() if rank == 1 else state).check))
    print(json.dumps(outcomes))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
