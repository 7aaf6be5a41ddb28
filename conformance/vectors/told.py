"""Tells a verdict to a reader: the table by clause, and failures with what reproduces them.

It formats; it neither plays nor judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.table import Table

from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.operations import History, layout_to_json, step_to_json
from ownerlanes.conformance.vectors.check import Verdict
from ownerlanes.conformance.vectors.record import plain
from ownerlanes.conformance.vectors.recorded import RecordedHistory
from ownerlanes.conformance.vectors.store import line
from ownerlanes.rfcs.obligations import Obligation, Rfc, RfcError

SHOWN = 3
"""Failures told in full; the rest are counted."""


def failure_text(vector: RecordedHistory, difference: Difference, rfc: Rfc) -> str:
    """One failure: clause and sentence, where, expected, actual, and the lines that lead there."""
    history: History = difference.history
    lines = [
        f"vector {vector.name}: {vector.about}",
        str(difference),
        *_sentence(difference.clause, rfc),
        f"the shortest prefix of that history, {len(history.steps)} steps; the last one fails:",
        *replay_lines(history),
    ]
    return "\n".join(lines)


def replay_lines(history: History) -> Iterator[str]:
    """What is written to an engine to play a history."""
    layout = layout_to_json(history.layout)
    yield line({"op": "new", "layout": layout, "evictor": history.evictor})
    for step in history.steps:
        yield line(step_to_json(plain(step)))


def _sentence(cited: str, rfc: Rfc) -> list[str]:
    try:
        found = rfc.find(cited)
    except RfcError as unknown:
        return [f"  ({unknown})"]
    return [f"  {found.sentence if isinstance(found, Obligation) else found.title}"]


def clause_table(verdict: Verdict, rfc: Rfc) -> Table:
    """Clause by clause: obligations with evidence, vectors that hold, vectors that fail."""
    table = Table("clause", "obligations with evidence", "vectors that hold", "that fail")
    table.columns[0].no_wrap = True
    failed = Counter(difference.clause for _, difference in verdict.failures)
    for clause in rfc.clauses:
        numbers = [o.number for o in clause.obligations if verdict.held[o.id] or failed[o.id]]
        if not numbers and not failed[clause.id]:
            continue
        broken = failed[clause.id] + sum(failed[o.id] for o in clause.obligations)
        table.add_row(
            clause.name,
            ", ".join(map(str, numbers)),
            str(max((verdict.held[o.id] for o in clause.obligations), default=0)),
            f"[red]{broken}[/red]" if broken else "0",
        )
    return table


def not_claimed_text(verdict: Verdict) -> str:
    """What was left out, by capability."""
    left_out = ", ".join(f"{name} ({steps})" for name, steps in sorted(verdict.not_claimed.items()))
    return f"not claimed, with the steps left out: {left_out or 'nothing'}"
