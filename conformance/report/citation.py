"""A Markdown citation of an obligation or clause: text, version, hash, link and evidence.

It quotes what the RFC says now; evidence from a report that was made against another text is
shown as such and never passed off as being about this one.
"""

from __future__ import annotations

from ownerlanes.conformance.report.model import Report
from ownerlanes.rfcs.obligations import Obligation, Rfc
from ownerlanes.rfcs.render import PAGE, anchor


def citation(rfc: Rfc, cited: str, report: Report | None = None, base: str = "rfcs/") -> str:
    """The citation, ending in a newline.

    Args:
        rfc: the RFC.
        cited: id of a clause or obligation, with or without the RFC's.
        report: where the evidence is taken from; none is given without it.
        base: what the link starts with, before the page's name.

    Raises:
        RfcError: there is no such id.
    """
    found = rfc.find(cited)
    clause = rfc.find(found.clause) if isinstance(found, Obligation) else found
    assert not isinstance(clause, Obligation)
    quoted = found.sentence if isinstance(found, Obligation) else clause.title
    lines = [
        f"> **{found.id}** ({rfc.id} version {rfc.version}): {quoted}",
        "",
        f"[{clause.title}, {found.id}]({base}{PAGE}#{anchor(found.id)}), "
        f"clause text SHA-256 `{clause.sha256}`.",
    ]
    if report is not None:
        lines += ["", _evidence(found.id, clause.sha256, report)]
    return "\n".join(lines) + "\n"


def _evidence(cited: str, sha256: str, report: Report) -> str:
    rows = [row for row in report.obligations if cited in (row.id, row.clause)]
    where = (
        f"{report.candidate.implementation} ({report.candidate.name}; "
        f"{report.candidate.device}), profile {report.profile}, seed {report.seed}, "
        f"{report.started}"
    )
    if not rows:
        return f"Evidence: none; the report on {where} has no row for {cited}."
    if rows[0].clause_sha256 != sha256:
        return (
            f"Evidence: none for this text; the report on {where} is about RFC "
            f"{report.rfc.version} with clause text SHA-256 `{rows[0].clause_sha256}`."
        )
    tests = {test.id: test for row in rows for test in row.tests}
    statuses = [row.status for row in rows]
    verdict = ", ".join(
        f"{statuses.count(status)} {status}" if len(rows) > 1 else status
        for status in dict.fromkeys(statuses)
    )
    examples = sum(test.examples for test in tests.values())
    names = ", ".join(f"`{name}`" for name in sorted(tests)) or "no test"
    return f"Evidence: {verdict} ({names}; {examples} examples) for {where}."
