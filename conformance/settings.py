"""How many examples the suite runs: the profiles quick, ci and deep.

A profile is the same for every candidate. Only the suite's own tests use it; the settings of other
Hypothesis tests in the same process are never touched.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from ownerlanes.conformance.protocol import CouldNotRunError

Test = TypeVar("Test", bound=Callable[..., Any])

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
"""Without `explain`: a failure is told by the lock-step, not by lines of the kit."""


@dataclass(frozen=True)
class Profile:
    """How much is tried.

    Attributes:
        name: "quick", "ci" or "deep".
        examples: of each property.
        histories: runs of the state machine.
        steps: calls of such a run, at most.
        derandomize: the same examples in every run, unless a seed is given.
        database: where found examples are kept; None for nowhere.
    """

    name: str
    examples: int
    histories: int
    steps: int
    derandomize: bool = False
    database: ExampleDatabase | None = None


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("quick", examples=20, histories=20, steps=15),
        Profile("ci", examples=100, histories=150, steps=25, derandomize=True),
        Profile("deep", examples=2000, histories=3000, steps=50),
    )
}

_active = PROFILES["quick"]


def activate(
    name: str, *, seeded: bool = False, database: ExampleDatabase | None = None
) -> Profile:
    """Use a profile for the suite's tests, which are imported from now on.

    Args:
        name: of the profile.
        seeded: whether a seed was given, which a derandomised profile would ignore.
        database: where to keep and look for examples; this too rules derandomising out.
    """
    global _active
    _forget_the_suite()
    profile = PROFILES[name]
    derandomize = profile.derandomize and not seeded and database is None
    _active = replace(profile, derandomize=derandomize, database=database)
    return _active


def _forget_the_suite() -> None:
    """Have its modules imported anew: Hypothesis fixes settings when a test is defined."""
    suite = (Path(__file__).parent / "suite").resolve()
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None)
        if where is not None and suite in Path(where).resolve().parents:
            del sys.modules[name]


def active() -> Profile:
    """The profile in use."""
    return _active


def examples(share: float = 1.0) -> Callable[[Test], Test]:
    """Settings of one property test: the profile's number of examples, or a share of it."""
    return _settings(max_examples=max(1, round(_active.examples * share)))


def machine_settings() -> settings:
    """Settings of the state machine."""
    return _settings(max_examples=_active.histories, stateful_step_count=_active.steps)


def _settings(**given: Any) -> settings:
    return settings(
        deadline=None,
        derandomize=_active.derandomize,
        database=_active.database,
        phases=PHASES,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow],
        **given,
    )


def open_database(where: str) -> ExampleDatabase:
    """The database of examples at a directory, or at a redis:// URL.

    Raises:
        CouldNotRunError: the redis package is missing, or the server does not answer.
    """
    if not where.startswith(("redis://", "rediss://")):
        return DirectoryBasedExampleDatabase(os.fspath(Path(where)))
    try:
        redis = importlib.import_module("redis")
    except ImportError:
        raise CouldNotRunError(
            "--example-database: a redis:// URL needs the package redis: pip install redis"
        ) from None
    from hypothesis.extra.redis import RedisExampleDatabase

    server = redis.Redis.from_url(where)
    try:
        server.ping()
    except redis.RedisError as fault:
        raise CouldNotRunError(f"--example-database: {where} does not answer: {fault}") from fault
    return RedisExampleDatabase(server, key_prefix=b"ownerlanes:")
