"""One run of the suite under pytest: the candidate, what each test found, and the verdict.

In a distributed run there is one of these in every process; workers run tests, and the results
travel to the controller with pytest's own reports. It judges nothing that a test has not found.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import core

from ownerlanes.conformance import session as current
from ownerlanes.conformance import settings
from ownerlanes.conformance.device import prepare_triton
from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.failure import failure_text
from ownerlanes.conformance.findings import Finding, Findings
from ownerlanes.conformance.ledger import load_ledger
from ownerlanes.conformance.preflight import preflight
from ownerlanes.conformance.protocol import Candidate, load_candidate
from ownerlanes.rfcs.obligations import load

DEFAULT = "ownerlanes.gpu:TritonAllocator"
PROPERTY = "ownerlanes"


class Run:
    """The hooks and the state of one run.

    Raises:
        CouldNotRunError: the candidate, the ledger or the database is not there, or preflight
            failed.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.began = time.monotonic()
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.rfc = load()
        option = config.getoption
        known = option("ownerlanes_known_failures")
        self.ledger = load_ledger(known, self.rfc) if known else ()
        self.profile = self._profile(option("ownerlanes_profile"), option("ownerlanes_seed"))
        prepare_triton()
        self.candidate: Candidate = load_candidate(option("ownerlanes_allocator") or DEFAULT)
        if not self.is_worker:
            preflight(self.candidate)
        current.use(self.candidate)
        self.findings = Findings()
        self._before = 0

    def _profile(self, name: str, seed: int | None) -> settings.Profile:
        where = self.config.getoption("ownerlanes_example_database")
        database = settings.open_database(where) if where else None
        profile = settings.activate(name, seeded=seed is not None, database=database)
        if not profile.derandomize and seed is None:
            seed = secrets.randbelow(2**32)
            self.config.option.ownerlanes_seed = seed  # the same one in every worker
        self.seed: int | None = None if profile.derandomize else seed
        core.global_force_seed = self.seed
        return profile

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.began

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Clause ids are keywords, so that -k selects by them."""
        for item in items:
            item.extra_keyword_matches.update(cited(item))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What is not claimed does not run; nor does anything once time is up."""
        lacking = self.candidate.capabilities.lacks(*needed(item))
        if lacking:
            pytest.skip(f"not claimed: {', '.join(lacking)}")
        limit = self.config.getoption("ownerlanes_max_seconds")
        if limit is not None and self.seconds > limit:
            pytest.skip(f"not run: the {limit:g} seconds were over")
        self._before = self.candidate.examples

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what was found to the report, and tell a violation in the kit's own words."""
        report = yield
        if not cited(item) or (report.passed and report.when != "call"):
            return report
        message, broken, history = "", None, None
        if report.failed and call.excinfo is not None:
            difference = call.excinfo.value
            message = f"{type(difference).__name__}: {difference}"
            if isinstance(difference, Difference):
                message, broken = str(difference), difference.clause
                history = difference.history
                report.longrepr = failure_text(difference, self.candidate.name, self.rfc)
        elif report.skipped:
            reason: Any = report.longrepr
            message = str(reason[2]).removeprefix("Skipped: ")
        finding = Finding.of(
            report, cited(item), message, broken, self.candidate.examples - self._before, history
        )
        report.user_properties.append((PROPERTY, finding.as_json()))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather; in a distributed run this is called on the controller too."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.findings.add(Finding.from_json(value))  # type: ignore[arg-type]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report and settle the exit status."""
        if self.is_worker:
            return
        session.exitstatus = self.exit_status(int(session.exitstatus))
        directory: Path | None = self.config.getoption("ownerlanes_report")
        if directory is not None:
            from ownerlanes.conformance.evidence import write_evidence

            write_evidence(self, directory)

    def exit_status(self, found: int) -> int:
        """0 conforms, 1 violates, 2 could not run."""
        if found not in (0, 1):
            return 2
        unknown, wrong = self.findings.complaints(self.rfc, self.ledger)
        if unknown or wrong:
            return 1
        if found == 1 and not self.findings.any_failed:
            return 2  # a test of the kit failed that cites nothing
        return 2 if self.findings.ran_out_of_time else 0

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The verdict, clause by clause."""
        from ownerlanes.conformance.verdict import verdict_lines

        terminalreporter.section(f"conformance of {self.candidate.name}")
        for line in verdict_lines(self):
            terminalreporter.write_line(line)


def cited(item: pytest.Item) -> list[str]:
    """The obligations that a test cites."""
    return [str(one) for mark in item.iter_markers("clause") for one in mark.args]


def needed(item: pytest.Item) -> list[str]:
    """What a candidate must claim for a test."""
    return [str(one) for mark in item.iter_markers("needs") for one in mark.args]
