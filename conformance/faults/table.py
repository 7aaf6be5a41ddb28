"""The fault table: which test caught which fault, for a terminal, as Markdown and as JSON.

It formats what the hunt found and counts what is missing; it runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from ownerlanes.conformance.faults.hunt import Catch


@dataclass(frozen=True)
class Row:
    """One fault of the table.

    Attributes:
        fault: its name.
        clause: the obligation that it breaks.
        line: what is wrong.
        catch: what the tests that cite the obligation saw.
        elsewhere: a test that saw it although it cites another one; looked for only where
            those that cite it saw nothing.
    """

    fault: str
    clause: str
    line: str
    catch: Catch
    elsewhere: str | None = None

    @property
    def is_caught(self) -> bool:
        """Whether a test that cites the obligation told a difference."""
        return self.catch.test is not None and self.catch.is_difference

    @property
    def caught_by(self) -> str:
        """The test, or what there is instead."""
        if self.is_caught:
            return self.catch.test or ""
        if self.catch.test is not None:
            return f"CRASH, OR THE KIT'S OWN ERROR: {self.catch.test}: {self.catch.why}"
        return "MISSED" if self.elsewhere is None else f"ONLY ELSEWHERE: {self.elsewhere}"


@dataclass(frozen=True)
class Table:
    """What the kit made of the catalogue.

    Attributes:
        profile: of the kit.
        rows: the faults.
        false_alarms: for each seed, what the kit found wrong with an allocator without a fault.
    """

    profile: str
    rows: tuple[Row, ...]
    false_alarms: dict[int, Catch]

    @property
    def missed(self) -> list[Row]:
        """Faults that no test of their obligation caught."""
        return [row for row in self.rows if not row.is_caught]

    @property
    def alarms(self) -> list[int]:
        """Seeds with which the kit found fault with an allocator that has none."""
        return [seed for seed, catch in self.false_alarms.items() if catch.test is not None]

    @property
    def is_complete(self) -> bool:
        """Whether every fault is caught and nothing else."""
        return not self.missed and not self.alarms

    def summary(self) -> str:
        """One line of figures."""
        caught = [row.catch.seconds for row in self.rows if row.is_caught]
        figures = f"{len(caught)} of {len(self.rows)} faults caught, profile {self.profile}"
        if caught:
            figures += (
                f"; first failing example after {median(caught):.2f} s (median), "
                f"{max(caught):.1f} s (longest)"
            )
        seeds = len(self.false_alarms)
        return f"{figures}; {len(self.alarms)} false alarms in {seeds} seeds"

    def markdown(self) -> str:
        """The table as a Markdown document."""
        lines = ["# Fault table", "", self.summary(), ""]
        lines += ["| fault | what is wrong | breaks | caught by | histories | seconds |"]
        lines += ["| --- | --- | --- | --- | ---: | ---: |"]
        lines += [f"| {' | '.join(map(_escaped, cells(row)))} |" for row in self.rows]
        lines += [
            f"- seed {seed}: {_escaped(catch.test or '')}: {_escaped(catch.why)}"
            for seed, catch in self.false_alarms.items()
            if catch.test is not None
        ]
        return "\n".join(lines) + "\n"

    def write(self, directory: Path) -> Sequence[Path]:
        """Write faults.md and faults.json to a folder; their paths."""
        directory.mkdir(parents=True, exist_ok=True)
        texts = {
            "faults.md": self.markdown(),
            "faults.json": json.dumps(asdict(self) | {"summary": self.summary()}, indent=1) + "\n",
        }
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
        return [directory / name for name in texts]


def cells(row: Row) -> tuple[str, ...]:
    """The row's columns: fault, what is wrong, clause, caught by, histories, seconds."""
    clause = row.clause.partition(":")[2]
    counts = (f"{row.catch.examples}", f"{row.catch.seconds:.2f}")
    return (row.fault, row.line, clause, row.caught_by, *counts)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
