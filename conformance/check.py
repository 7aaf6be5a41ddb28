"""One check of one candidate: what is asked, what was found, and what that amounts to.

Loading, preflight and the choice of examples happen when it is made; findings are added by
whoever runs the tests. It runs none itself.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import core

from ownerlanes.conformance import session, settings
from ownerlanes.conformance.device import prepare_triton
from ownerlanes.conformance.findings import Findings
from ownerlanes.conformance.ledger import load_ledger
from ownerlanes.conformance.preflight import preflight
from ownerlanes.conformance.protocol import CouldNotRunError, load_candidate
from ownerlanes.rfcs.obligations import load

DEFAULT = "ownerlanes.gpu:TritonAllocator"


@dataclass(frozen=True)
class Options:
    """What is asked; see `ownerlanes conformance --help`."""

    allocator: str | None = None
    profile: str = "quick"
    seed: int | None = None
    max_seconds: float | None = None
    known_failures: Path | None = None
    example_database: str | None = None

    @classmethod
    def of(cls, option: Callable[[str], Any]) -> Options:
        """From pytest's options."""
        return cls(**{name: option(f"ownerlanes_{name}") for name in cls.__dataclass_fields__})


class Check:
    """A check under way.

    Args:
        options: what is asked.
        with_preflight: whether to try a few calls first.

    Raises:
        CouldNotRunError: the candidate, the ledger or the database is not there, or preflight
            failed.
    """

    def __init__(self, options: Options, *, with_preflight: bool) -> None:
        self.options = options
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self._began = time.monotonic()
        self.rfc = load()
        known = options.known_failures
        self.ledger = load_ledger(known, self.rfc) if known is not None else ()
        where = options.example_database
        if where is not None and options.seed is not None:
            raise CouldNotRunError(
                "--seed and --example-database exclude each other: with a fixed seed no examples "
                "are read or kept"
            )
        self.profile = settings.activate(
            options.profile,
            seeded=options.seed is not None,
            database=settings.open_database(where) if where is not None else None,
        )
        self.seed = None if self.profile.derandomize else options.seed
        if self.seed is None and where is None and not self.profile.derandomize:
            self.seed = secrets.randbelow(2**32)
        core.global_force_seed = self.seed  # type: ignore[assignment]
        prepare_triton()
        self.candidate = load_candidate(options.allocator or DEFAULT)
        if with_preflight:
            preflight(self.candidate)
        session.use(self.candidate)
        self.findings = Findings()

    @property
    def seconds(self) -> float:
        """Since the check began."""
        return time.monotonic() - self._began

    @property
    def out_of_time(self) -> bool:
        """Whether no further test may start."""
        limit = self.options.max_seconds
        return limit is not None and self.seconds > limit

    @property
    def complaints(self) -> tuple[list[str], list[str]]:
        """Failed obligations that the ledger does not cover, and what is wrong with the ledger."""
        return self.findings.complaints(self.rfc, self.ledger)

    def exit_status(self, of_tests: int) -> int:
        """0 conforms, 1 violates, 2 could not run.

        Args:
            of_tests: the exit status of pytest: 0 all passed, 1 some failed, else it did not run.
        """
        if of_tests not in (0, 1):
            return 2
        if any(self.complaints):
            return 1
        if of_tests == 1 and not self.findings.failed:
            return 2  # something failed that is no finding
        return 2 if self.findings.ran_out_of_time else 0
