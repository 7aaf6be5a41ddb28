"""This repository's own RFC: sound, rendered, cited, and linked as govctl reads it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from ownerlanes.conformance.commands.rfc import FAULTS, planted_faults
from ownerlanes.rfcs import coverage, render
from ownerlanes.rfcs.check import check
from ownerlanes.rfcs.citations import citations_of_tests
from ownerlanes.rfcs.obligations import load, read_toml
from ownerlanes.rfcs.tree import find_tree

TREE = find_tree()


def test_the_check_finds_nothing() -> None:
    assert [str(problem) for problem in check(TREE)] == []


def test_the_page_is_rendered_from_the_clauses() -> None:
    page = (TREE.rfcs / render.PAGE).read_text(encoding="utf-8")
    assert page == render.rendered(load()), f"stale; run `{render.COMMAND}`"


def test_the_coverage_snapshot_is_that_of_the_tests() -> None:
    tests = coverage.cited_tests(citations_of_tests(TREE))
    kept = (TREE.rfcs / coverage.SNAPSHOT).read_text(encoding="utf-8")
    assert kept == coverage.snapshot_text(load(), tests), f"run `{coverage.COMMAND}`"


def test_every_anchor_of_the_page_is_unique_and_every_link_arrives() -> None:
    page = render.rendered(load())
    anchors = Counter(re.findall(r'<a id="([^"]+)"></a>', page))
    assert set(anchors.values()) == {1}
    rfc = load()
    assert set(anchors) == {render.anchor(o.id) for o in (*rfc.clauses, *rfc.obligations)}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(anchors)


def test_govctl_finds_the_rfc_through_relative_links(root: Path) -> None:
    for link, target in (("rfc", "../rfcs"), ("schema", "../rfcs/schema")):
        assert (root / "gov" / link).readlink() == Path(target)
    assert (root / "gov" / "rfc" / "RFC-0001" / "rfc.toml").is_file()


def test_every_guard_runs_a_session_that_there_is(root: Path) -> None:
    sessions = set(re.findall(r"@nox\.session.*\ndef (\w+)", (root / "noxfile.py").read_text()))
    for path in sorted((root / "gov" / "guard").glob("*.toml")):
        command = read_toml(path)["check"]["command"]
        assert command.removeprefix("nox -s ") in sessions, f"{path.name}: {command}"


def test_every_normative_clause_has_a_planted_fault() -> None:
    faults = planted_faults()
    if faults is None:
        pytest.skip(f"{FAULTS} is not installed")
    rows = coverage.clause_table(load(), coverage.covering_tests(TREE), faults)
    assert [row.clause for row in rows if not row.faults] == []
    assert set(faults) <= {row.clause for row in rows}
