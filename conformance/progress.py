"""What a person sees of a run: a bar on a terminal, plain lines in a pipe, then the verdict.

It stands in for pytest's own terminal report, which speaks of tests where this speaks of clauses.
It decides nothing.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ownerlanes.conformance.verdict import verdict_lines


class Progress:
    """A pytest plugin.

    Args:
        run_name: under which name the run is registered.

    Attributes:
        any_test: whether there was any test to run.
    """

    def __init__(self, run_name: str) -> None:
        self._run_name = run_name
        self.any_test = False
        self._told: set[str] = set()
        self._console = Console(highlight=False, markup=False, soft_wrap=True)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("checking", total=None)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """How many tests there are."""
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """The same, where workers run them."""
        del node
        self._begin(len(ids))

    def _begin(self, total: int) -> None:
        self.any_test = self.any_test or total > 0
        if total:
            self._bar.update(self._task, total=total)
            self._bar.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One step on; a failure is told at once."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self._bar.advance(self._task)
        if report.failed:
            self._tell(report.nodeid, str(report.longrepr))

    def _tell(self, test: str, text: str) -> None:
        """A failure in full, unless its obligation was told before."""
        about, _, rest = text.partition("\n")
        self._console.print(f"--- {test}")
        if about in self._told:
            first = next((line for line in rest.splitlines() if line.startswith("First")), "")
            self._console.print(f"{about.rstrip(':')} here too. {first}\n")
        else:
            self._told.add(about)
            self._console.print(f"{text}\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be imported."""
        if report.failed:
            self._console.print(f"could not run: {report.longrepr}")

    def pytest_internalerror(self, excrepr: object) -> None:
        """A fault of the kit."""
        self._console.print(f"could not run: {excrepr}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The verdict, once everything is in."""
        self._bar.stop()
        run: Any = session.config.pluginmanager.get_plugin(self._run_name)
        if run is not None and run.check.findings.tests:
            for line in verdict_lines(run.check):
                self._console.print(line)
