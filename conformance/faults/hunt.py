"""Runs the suite on one fault after the other, in one process, up to the first failing example.

The suite is collected once, by pytest and through the kit's own plugin; its tests are then called
as the plain functions they are. Nothing is shrunk: what counts is how soon a fault is noticed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, is_hypothesis_test
from hypothesis.errors import FlakyFailure

from ownerlanes.conformance import session, settings
from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.plugin import SUITE
from ownerlanes.conformance.protocol import Candidate, load_candidate
from ownerlanes.conformance.run import cited, needed

PLUGIN = "ownerlanes.conformance.plugin"
NOT_REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"  # it is imported here already
UNFAULTED = "ownerlanes.reference:ReferenceAllocator"


@dataclass(frozen=True)
class SuiteTest:
    """One test of the suite.

    Attributes:
        name: its file and function, parameters included.
        cites: the obligations that it gives evidence for.
        needs: what a candidate must claim for it.
        is_property: whether it tries many examples, and not one.
        call: runs it on the session's candidate.
    """

    name: str
    cites: frozenset[str]
    needs: tuple[str, ...]
    is_property: bool
    call: Callable[[], Any]


@dataclass(frozen=True)
class Catch:
    """What one candidate came to.

    Attributes:
        test: the first test that failed, or None.
        why: what it saw, in one line; "" where nothing failed.
        examples: histories that were started on the candidate until then.
        seconds: until then.
        is_difference: whether the kit told a difference. An error of its own is none, nor is a
            candidate that crashes: a fault has to work, and work wrongly.
    """

    test: str | None
    why: str
    examples: int
    seconds: float
    is_difference: bool


class Collector:
    """A pytest plugin that takes the tests and runs none."""

    def __init__(self) -> None:
        self.tests: list[SuiteTest] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Everything is collected and in its order."""
        for item in session.items:
            assert isinstance(item, pytest.Function)
            self.tests.append(
                SuiteTest(
                    item.nodeid.rpartition("/")[2],
                    frozenset(cited(item)),
                    tuple(needed(item)),
                    item.cls is not None or is_hypothesis_test(item.obj),
                    _call_of(item),
                )
            )


def _call_of(item: pytest.Function) -> Callable[[], Any]:
    case: Any = item.cls
    if case is not None:  # the state machine, a unittest.TestCase
        return lambda: getattr(case(item.originalname), item.originalname)()
    arguments = item.callspec.params if hasattr(item, "callspec") else {}
    return lambda: item.obj(**arguments)


def collect(profile: str, seed: int | None = None) -> tuple[SuiteTest, ...]:
    """The suite's tests, with a profile's settings; once a process, which imports them.

    Raises:
        RuntimeError: pytest could not collect them.
    """
    vars(settings).update(PHASES=(Phase.explicit, Phase.generate))
    collector = Collector()
    arguments = ["--ownerlanes-allocator", UNFAULTED, "--ownerlanes-profile", profile]
    if seed is not None:
        arguments += ["--ownerlanes-seed", str(seed)]
    status = pytest.main(
        [
            f"--config-file={os.devnull}", f"--rootdir={SUITE.parent}", "--noconftest",
            "--import-mode=importlib", "--override-ini=consider_namespace_packages=true",
            "-p", "no:cacheprovider", "-p", "no:terminal", "-p", PLUGIN,
            "-W", NOT_REWRITTEN, "--collect-only", *arguments, str(SUITE),
        ],
        plugins=[collector],
    )  # fmt: skip
    if status != pytest.ExitCode.OK or not collector.tests:
        raise RuntimeError(f"the suite was not collected: pytest ended with {status!r}")
    return tuple(collector.tests)


def first_failure(name: str, tests: Iterable[SuiteTest]) -> Catch:
    """Run tests on the candidate of that name, in order, until one fails."""
    candidate = load_candidate(name)
    session.use(candidate)
    began = time.perf_counter()
    try:
        for test in tests:
            if candidate.capabilities.lacks(*test.needs):
                continue
            try:
                test.call()
            except Exception as fault:
                return _catch(test, fault, candidate, began)
        return Catch(None, "", candidate.examples, time.perf_counter() - began, False)
    finally:
        session.use(None)


def _catch(test: SuiteTest, fault: Exception, candidate: Candidate, began: float) -> Catch:
    seconds = time.perf_counter() - began
    if isinstance(fault, FlakyFailure):  # the candidate is: another answer to the same calls
        fault = next((one for one in fault.exceptions if isinstance(one, Difference)), fault)
    if isinstance(fault, Difference):
        lines = [line.strip() for line in str(fault).splitlines()[:3]]
        return Catch(test.name, "; ".join(lines), candidate.examples, seconds, not _is_crash(fault))
    why = f"{type(fault).__name__}: {fault}".splitlines()[0]
    return Catch(test.name, why, candidate.examples, seconds, False)


def _is_crash(difference: Difference) -> bool:
    """Whether the candidate raised what Python raises by itself."""
    kind = type(difference.actual)
    is_own = issubclass(kind, Exception) and kind.__module__ == "builtins"
    return is_own and kind is not MemoryError


def citing(tests: Sequence[SuiteTest], obligation: str) -> list[SuiteTest]:
    """The tests that cite an obligation, or its clause as a whole."""
    clause = obligation.partition("/")[0]
    return [test for test in tests if test.cites & {obligation, clause}]
