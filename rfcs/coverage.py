"""Which tests look at which obligation, as a snapshot that a review can read.

`rfcs/coverage.txt` is that snapshot, committed: a change that drops a citation shows in its diff.
It also carries the citations of the repository's own tests into an installed distribution, where
those tests are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ownerlanes.rfcs.citations import Citation, citations_of_tests
from ownerlanes.rfcs.obligations import Rfc
from ownerlanes.rfcs.tree import Tree, find_tree

SNAPSHOT = "coverage.txt"
COMMAND = "ownerlanes rfc coverage --write"
Tests = Mapping[str, tuple[str, ...]]
"""Id of an obligation or a whole clause -> ids of the tests that cite it, sorted."""


def cited_tests(citations: Iterable[Citation]) -> dict[str, tuple[str, ...]]:
    """The tests that cite each id."""
    found: dict[str, set[str]] = {}
    for citation in citations:
        if citation.cited is not None and citation.test:
            found.setdefault(citation.cited, set()).add(citation.test)
    return {cited: tuple(sorted(tests)) for cited, tests in found.items()}


def covering_tests(tree: Tree) -> dict[str, tuple[str, ...]]:
    """The tests of every cited id: those found, and in a distribution those of the snapshot.

    A test of the snapshot counts only where its file is not in the tree to be read.
    """
    found = cited_tests(citations_of_tests(tree))
    if not tree.is_checkout:
        for cited, tests in repository_tests(tree).items():
            found[cited] = tuple(sorted({*found.get(cited, ()), *tests}))
    return found


def repository_tests(tree: Tree | None = None) -> dict[str, tuple[str, ...]]:
    """The snapshot's tests that are the repository's own, not the kit's, by the id they cite."""
    own = {
        cited: tuple(test for test in tests if test.startswith("tests/"))
        for cited, tests in read_snapshot(tree or find_tree()).items()
    }
    return {cited: tests for cited, tests in own.items() if tests}


def snapshot_text(rfc: Rfc, tests: Tests) -> str:
    """The snapshot: every obligation in the RFC's order, then whole clauses that are cited."""
    ids = [obligation.id for obligation in rfc.obligations]
    ids += [clause.id for clause in rfc.clauses if clause.id in tests]
    lines = [f"# {rfc.id} {rfc.version}: obligation, then its tests. Made by `{COMMAND}`."]
    for cited in ids:
        lines += [cited, *(f"    {test}" for test in tests.get(cited, ()))]
    return "\n".join(lines) + "\n"


def read_snapshot(tree: Tree) -> dict[str, tuple[str, ...]]:
    """The committed snapshot; empty when there is none."""
    path = tree.rfcs / SNAPSHOT
    found: dict[str, list[str]] = {}
    tests: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("    "):
            tests.append(line.strip())
        elif not line.startswith("#"):
            tests = found.setdefault(line, [])
    return {cited: tuple(tests) for cited, tests in found.items()}


@dataclass(frozen=True)
class ClauseCoverage:
    """One row of the coverage table.

    Attributes:
        clause: its id.
        obligations: how many it has in force.
        covered: how many of them some test cites by number.
        tests: the distinct tests that cite it or one of its obligations.
        faults: planted faults that break it; None where there is no catalogue.
    """

    clause: str
    obligations: int
    covered: int
    tests: int
    faults: int | None


def clause_table(
    rfc: Rfc, tests: Tests, faults: Mapping[str, int] | None
) -> tuple[ClauseCoverage, ...]:
    """A row for every normative clause; `faults` counts planted faults by clause id."""
    rows = []
    for clause in rfc.clauses:
        own = [o.id for o in rfc.obligations if o.clause == clause.id]
        if own:
            citing = {test for cited in (clause.id, *own) for test in tests.get(cited, ())}
            rows.append(
                ClauseCoverage(
                    clause=clause.id,
                    obligations=len(own),
                    covered=sum(cited in tests for cited in own),
                    tests=len(citing),
                    faults=None if faults is None else faults.get(clause.id, 0),
                )
            )
    return tuple(rows)
