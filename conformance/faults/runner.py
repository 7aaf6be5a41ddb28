"""Hunts the whole catalogue in a few processes, and an allocator without a fault with many seeds.

A process collects the suite once for all the faults that it gets, and once for each seed, as
settings are read when tests are imported. It prints nothing.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from itertools import repeat

from ownerlanes.conformance.faults import FAULTS, hunt
from ownerlanes.conformance.faults.planting import Fault
from ownerlanes.conformance.faults.table import Row, Table

FAULTS_MODULE = "ownerlanes.conformance.faults"
SPAWN = multiprocessing.get_context("spawn")
_tests: tuple[hunt.SuiteTest, ...] = ()


def run(
    faults: Sequence[Fault],
    *,
    profile: str,
    seeds: Iterable[int],
    seeds_profile: str,
    workers: int,
    whole: bool = False,
    told: Callable[[str, bool], None],
) -> Table:
    """The table of these faults.

    Args:
        faults: those to hunt.
        profile: of the kit.
        seeds, seeds_profile: with which the allocator without a fault has to pass the whole suite.
        workers: processes.
        whole: run the whole suite in its order, not the tests that cite a fault's obligation.
        told: called with a name and whether all is well, as each fault or seed is done.
    """
    rows: list[Row] = []
    with _pool(workers, profile) as pool:
        for row in pool.map(_row, (fault.name for fault in faults), repeat(whole)):
            rows.append(row)
            told(f"{row.fault}: {row.caught_by}", row.is_caught)
    alarms: dict[int, hunt.Catch] = {}
    with ProcessPoolExecutor(workers, SPAWN, max_tasks_per_child=1) as pool:
        for seed, catch in pool.map(_unfaulted, seeds, repeat(seeds_profile)):
            alarms[seed] = catch
            told(f"no fault, seed {seed}: {catch.test or 'passes'}", catch.test is None)
    return Table(profile, tuple(rows), alarms)


def _pool(workers: int, profile: str) -> AbstractContextManager[ProcessPoolExecutor]:
    return ProcessPoolExecutor(workers, SPAWN, initializer=_collect, initargs=(profile,))


def _collect(profile: str) -> None:
    global _tests
    _tests = hunt.collect(profile)


def _row(name: str, whole: bool) -> Row:
    fault = next(fault for fault in FAULTS if fault.name == name)
    candidate = f"{FAULTS_MODULE}:{name}"
    own = hunt.citing(_tests, fault.clause)
    catch = hunt.first_failure(candidate, _tests if whole else own)
    elsewhere = None
    if catch.test is None and not whole:
        rest = [test for test in _tests if test not in own]
        elsewhere = hunt.first_failure(candidate, rest).test
    return Row(name, fault.clause, fault.line, catch, elsewhere)


def _unfaulted(seed: int, profile: str) -> tuple[int, hunt.Catch]:
    return seed, hunt.first_failure(hunt.UNFAULTED, hunt.collect(profile, seed))
