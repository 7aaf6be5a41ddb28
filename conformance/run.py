"""The hooks of a run of the suite under pytest.

In a distributed run there is one of these in every process; workers run tests, and the findings
travel to the controller with pytest's own reports. What they amount to is for `check` to say.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ownerlanes.conformance.check import Check, Options
from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.evidence import write_evidence
from ownerlanes.conformance.failure import failure_text
from ownerlanes.conformance.findings import Finding
from ownerlanes.conformance.session import last_history
from ownerlanes.conformance.verdict import verdict_lines

PROPERTY = "ownerlanes"


class Run:
    """The hooks; `check` has the candidate and what was found.

    Raises:
        CouldNotRunError: as Check.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.check = Check(Options.of(config.getoption), with_preflight=not self.is_worker)
        config.option.ownerlanes_seed = self.check.seed  # the same one in every worker
        self._before = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Clause ids are keywords, so that -k selects by them; examples are kept by node id."""
        for item in items:
            item.extra_keyword_matches.update(cited(item))
            handle = getattr(getattr(item, "obj", None), "hypothesis", None)
            if handle is not None:  # HypoFuzz keeps its finds so; they are to be tried here
                handle.inner_test._hypothesis_internal_add_digest = item.nodeid.encode()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What is not claimed does not run; nor does anything once time is up."""
        lacking = self.check.candidate.capabilities.lacks(*needed(item))
        if lacking:
            pytest.skip(f"not claimed: {', '.join(lacking)}")
        if self.check.out_of_time:
            pytest.skip("not run: the time limit was reached")
        self._before = self.check.candidate.examples

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
            fault = call.excinfo.value
            message = f"{type(fault).__name__}: {fault}"
            if isinstance(fault, Difference):
                fault.history = fault.history or last_history()
                message, broken, history = str(fault), fault.clause, fault.history
                report.longrepr = failure_text(fault, self.check.candidate.name, self.check.rfc)
        elif report.skipped:
            reason: Any = report.longrepr
            message = str(reason[2]).removeprefix("Skipped: ")
        examples = self.check.candidate.examples - self._before
        finding = Finding.of(report, cited(item), message, broken, examples, history)
        report.user_properties.append((PROPERTY, finding.as_json()))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather; in a distributed run this is called on the controller too."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.check.findings.add(Finding.from_json(value))  # type: ignore[arg-type]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report and settle the exit status."""
        if self.is_worker:
            return
        session.exitstatus = self.check.exit_status(int(session.exitstatus))
        directory: Path | None = self.config.getoption("ownerlanes_report")
        if directory is not None:
            write_evidence(self.check, directory)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The verdict, clause by clause."""
        terminalreporter.section(f"conformance of {self.check.candidate.name}")
        for line in verdict_lines(self.check):
            terminalreporter.write_line(line)


def cited(item: pytest.Item) -> list[str]:
    """The obligations that a test cites."""
    return [str(one) for mark in item.iter_markers("clause") for one in mark.args]


def needed(item: pytest.Item) -> list[str]:
    """What a candidate must claim for a test."""
    return [str(one) for mark in item.iter_markers("needs") for one in mark.args]
