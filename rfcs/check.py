"""All checks of the RFC and of what cites it, each problem with file, line and what to do.

The RFC's files come first; only when they are sound are citations, coverage and the rendered page
looked at, for those need the RFC as a whole. Nothing is changed and no test is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ownerlanes.rfcs import coverage, render
from ownerlanes.rfcs.citations import Citation, citations_of_tests, citations_of_texts
from ownerlanes.rfcs.governance import check_governance
from ownerlanes.rfcs.obligations import Clause, Rfc, RfcError, load
from ownerlanes.rfcs.problems import Problem, line_of
from ownerlanes.rfcs.structure import check_files
from ownerlanes.rfcs.tree import Tree


def check(tree: Tree) -> list[Problem]:
    """Every problem of the tree; an empty list when it is in order."""
    problems = check_files(tree)
    if problems:
        return problems
    rfc = load(tree.rfcs)
    tests = citations_of_tests(tree)
    problems += _check_marked(tests)
    problems += _check_cited(rfc, [*tests, *citations_of_texts(tree), *_clause_references(rfc)])
    problems += _check_covered(tree, rfc)
    problems += _check_snapshot(tree, rfc, tests)
    problems += _check_page(tree)
    problems += check_governance(tree, rfc)
    return sorted(set(problems), key=lambda p: (p.path, p.line, p.message))


def _clause_references(rfc: Rfc) -> Iterator[Citation]:
    for clause in rfc.clauses:
        for match in render.REFERENCE.finditer(clause.text):
            yield Citation(f"{rfc.id}:{match[2]}", f"rfcs/{clause.path}", 1)


def _check_marked(citations: Iterable[Citation]) -> Iterator[Problem]:
    for citation in citations:
        if not citation.test:
            yield Problem(
                citation.path,
                citation.line,
                "clause() marks what pytest does not collect; call function and file test_...",
            )


def _check_cited(rfc: Rfc, citations: Iterable[Citation]) -> Iterator[Problem]:
    for citation in citations:
        if citation.cited is None:
            yield Problem(
                citation.path,
                citation.line,
                "the argument of clause() must be a text, or a module constant that is one",
            )
            continue
        try:
            found = None if citation.cited == rfc.id else rfc.find(citation.cited)
        except RfcError as fault:
            yield Problem(citation.path, citation.line, f"{fault}; correct the id")
            continue
        if found is not None:
            yield from _check_in_force(rfc, found.id, citation)


def _check_in_force(rfc: Rfc, cited: str, citation: Citation) -> Iterator[Problem]:
    clause = rfc.find(cited.partition("/")[0])
    assert isinstance(clause, Clause)
    if clause.status != "active":
        instead = clause.superseded_by or "a clause in force"
        yield Problem(
            citation.path, citation.line, f"{clause.id} is {clause.status}; cite {instead}"
        )


def _check_covered(tree: Tree, rfc: Rfc) -> Iterator[Problem]:
    tests = coverage.covering_tests(tree)
    paths = {clause.id: clause.path for clause in rfc.clauses}
    for obligation in rfc.obligations:
        if obligation.id not in tests:
            yield Problem(
                f"rfcs/{paths[obligation.clause]}",
                obligation.line,
                f"no test cites {obligation.id}; mark the one that fails when it is broken "
                f'with @clause("{obligation.id}")',
            )


def _check_snapshot(tree: Tree, rfc: Rfc, citations: list[Citation]) -> Iterator[Problem]:
    """The snapshot must say what the tests cite, as far as those are in the tree to be read."""
    path = tree.rfcs / coverage.SNAPSHOT
    name, advice = tree.name(path), f"if that is meant, run `{coverage.COMMAND}`"
    if not path.exists():
        yield Problem(name, 1, f"the file is missing; run `{coverage.COMMAND}`")
        return
    text = path.read_text(encoding="utf-8")
    found, kept = coverage.cited_tests(citations), coverage.read_snapshot(tree)
    for cited in sorted({*found, *kept}):
        expected, listed = set(found.get(cited, ())), set(kept.get(cited, ()))
        if not tree.is_checkout:
            listed = {test for test in listed if not test.startswith("tests/")}
        line = line_of(text, cited)
        for test in sorted(expected - listed):
            yield Problem(name, line, f"{cited} is cited by {test}, not listed here; {advice}")
        for test in sorted(listed - expected):
            yield Problem(name, line, f"{cited} is not cited by {test} any more; {advice}")
    same = all(found.get(cited, ()) == kept.get(cited, ()) for cited in {*found, *kept})
    if tree.is_checkout and same and text != coverage.snapshot_text(rfc, found):
        yield Problem(name, 1, f"not in the form that `{coverage.COMMAND}` writes; run it")


def _check_page(tree: Tree) -> Iterator[Problem]:
    if render.is_stale(tree.rfcs):
        yield Problem(f"rfcs/{render.PAGE}", 1, f"differs from the clauses; run `{render.COMMAND}`")
