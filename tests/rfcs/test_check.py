"""Every way in which the RFC or its citations can go wrong, and what the check says then."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ownerlanes.rfcs.check import check
from ownerlanes.rfcs.obligations import RfcError
from ownerlanes.rfcs.tree import Tree, find_tree

ONE = "rfcs/RFC-0001/clauses/C-ONE.toml"
RFC = "rfcs/RFC-0001/rfc.toml"
WORK = "gov/work/2026-11-30-work.toml"
Change = Callable[[Path], None]


def said(tree: Tree) -> list[str]:
    return [str(problem) for problem in check(tree)]


def replace(name: str, old: str, new: str) -> Change:
    def change(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def rename(old: str, new: str) -> Change:
    return lambda root: (root / old).rename(root / new) and None


def remove(name: str) -> Change:
    return lambda root: (root / name).unlink()


def test_a_tree_in_order_has_no_problems(tree: Tree) -> None:
    assert said(tree) == []


BREAKS: dict[str, tuple[Change, str]] = {
    "misspelled id in a test": (
        replace("tests/test_two.py", "C-ONE", "C-ON"),
        "tests/test_two.py:5: RFC-0001 0.2.0 has no clause 'RFC-0001:C-ON/2'; nearest: "
        "RFC-0001:C-ONE; correct the id",
    ),
    "number that is not there": (
        replace("tests/test_two.py", "/2", "/9"),
        "tests/test_two.py:5: RFC-0001:C-ONE has obligations 1 to 2, no 9; correct the id",
    ),
    "misspelled id in a source": (
        replace("reference/pool.py", "C-ONE", "C-one"),
        "reference/pool.py:1: RFC-0001 0.2.0 has no clause 'RFC-0001:C-one'",
    ),
    "misspelled id in a document": (
        replace("README.md", "C-ONE", "C-ONES"),
        "README.md:1: RFC-0001 0.2.0 has no clause 'RFC-0001:C-ONES'",
    ),
    "misspelled id in a clause": (
        replace("rfcs/RFC-0001/clauses/C-TERMS.toml", "RFC-0001:C-TERMS", "RFC-0001:C-TERM"),
        "rfcs/RFC-0001/clauses/C-TERMS.toml:1: RFC-0001 0.2.0 has no clause 'RFC-0001:C-TERM'",
    ),
    "superseded id": (
        replace("tests/test_two.py", "C-ONE", "C-OLD"),
        "tests/test_two.py:5: RFC-0001:C-OLD is superseded; cite C-ONE",
    ),
    "id that cannot be read off": (
        replace("tests/test_two.py", 'f"{ONE}/2"', "make_id()"),
        "tests/test_two.py:5: the argument of clause() must be a text",
    ),
    "mark on a function that is no test": (
        replace("tests/test_two.py", "def test_two", "def check_two"),
        "tests/test_two.py:5: clause() marks what pytest does not collect; call function and",
    ),
    "mark in a file that is no test": (
        rename("tests/test_two.py", "tests/two.py"),
        "tests/two.py:5: clause() marks what pytest does not collect; call function and",
    ),
    "removed test": (
        remove("conformance/suite/test_one.py"),
        f"{ONE}:14: no test cites RFC-0001:C-ONE/1; mark the one that fails when it is broken "
        'with @clause("RFC-0001:C-ONE/1")',
    ),
    "removed test in the snapshot": (
        remove("conformance/suite/test_one.py"),
        "rfcs/coverage.txt:2: RFC-0001:C-ONE/1 is not cited by "
        "conformance/suite/test_one.py::test_one any more; if that is meant, run",
    ),
    "new test": (
        replace("tests/test_two.py", '@clause(f"{ONE}/2")', '@clause(f"{ONE}/2", f"{ONE}/1")'),
        "rfcs/coverage.txt:2: RFC-0001:C-ONE/1 is cited by tests/test_two.py::test_two, not "
        "listed here; if that is meant, run `ownerlanes rfc coverage --write`",
    ),
    "snapshot of another form": (
        replace("rfcs/coverage.txt", "0.2.0", "0.1.0"),
        "rfcs/coverage.txt:1: not in the form that",
    ),
    "missing snapshot": (remove("rfcs/coverage.txt"), "rfcs/coverage.txt:1: the file is missing"),
    "sentence edited without rendering": (
        replace(ONE, "The thing MUST be one.", "The thing MUST be just one."),
        "rfcs/RFC-0001.md:1: differs from the clauses; run `ownerlanes rfc render`",
    ),
    "missing page": (remove("rfcs/RFC-0001.md"), "rfcs/RFC-0001.md:1: differs"),
    "wrong file name": (
        rename(ONE, "rfcs/RFC-0001/clauses/C-UNO.toml"),
        "rfcs/RFC-0001/clauses/C-UNO.toml:4: id 'C-ONE' does not match the name 'C-UNO'; rename",
    ),
    "wrong folder name": (
        rename("rfcs/RFC-0001", "rfcs/RFC-0002"),
        f"{RFC}:1: missing; the folder is named as the RFC's id",
    ),
    "wrong id of the RFC": (
        replace(RFC, 'id = "RFC-0001"', 'id = "RFC-0002"'),
        f"{RFC}:4: id 'RFC-0002' does not match the name 'RFC-0001'; rename one of them",
    ),
    "listed but missing": (
        remove("rfcs/RFC-0001/clauses/C-OLD.toml"),
        f"{RFC}:17: lists 'clauses/C-OLD.toml', which is missing; add the file or remove",
    ),
    "present but unlisted": (
        replace(RFC, '    "clauses/C-OLD.toml",\n', ""),
        "rfcs/RFC-0001/clauses/C-OLD.toml:1: the clause is in no section; list",
    ),
    "listed twice": (
        replace(RFC, '    "clauses/C-OLD.toml",\n', '    "clauses/C-OLD.toml",\n' * 2),
        f"{RFC}:17: lists 'clauses/C-OLD.toml' twice; remove one entry",
    ),
    "no changelog for the version": (
        replace(RFC, 'version = "0.2.0"\nstatus', 'version = "0.3.0"\nstatus'),
        f"{RFC}:6: expected one [[changelog]] entry for the current version 0.3.0, found 0; add",
    ),
    "schema: missing field": (
        replace(ONE, 'title = "C-ONE title"\n', ""),
        f"{ONE}:3: govctl: 'title' is a required property (clause.schema.json)",
    ),
    "schema: wrong value": (
        replace(ONE, 'kind = "normative"', 'kind = "normal"'),
        f"{ONE}:6: govctl.kind: 'normal' is not one of ['normative', 'informative']",
    ),
    "schema: unknown field": (
        replace(ONE, 'since = "0.1.0"', 'since = "0.1.0"\nuntil = "0.2.0"'),
        f"{ONE}:9: govctl: Additional properties are not allowed ('until' was unexpected)",
    ),
    "schema: not TOML": (replace(ONE, "[govctl]", "[govctl"), f"{ONE}:1: "),
    "schema: wrong header": (
        replace(ONE, "../../schema", "../schema"),
        f"{ONE}:1: the first line must name its schema, from here: #:schema "
        "../../schema/clause.schema.json",
    ),
    "numbers that skip": (
        replace(ONE, "2. The thing", "3. The thing"),
        f"{ONE}:15: obligation 3 comes 2. in the clause; number from 1",
    ),
    "two key words": (
        replace(ONE, "MUST be one.", "MUST be one and SHOULD be small."),
        f"{ONE}:14: obligation 1 has 2 key words of RFC 2119; write one obligation an item",
    ),
    "no key word": (
        replace(ONE, "The thing MUST be one.", "The thing is one."),
        f"{ONE}:14: obligation 1 has 0 key words of RFC 2119",
    ),
    "key word outside": (
        replace(ONE, "Let x be", "There MUST be"),
        f"{ONE}:12: a key word of RFC 2119 outside the numbered obligations",
    ),
    "key word in an informative clause": (
        replace("rfcs/RFC-0001/clauses/C-TERMS.toml", "**thing**: x", "**thing**: MAY be x"),
        "rfcs/RFC-0001/clauses/C-TERMS.toml:12: a key word of RFC 2119 outside",
    ),
    "no rationale": (
        replace(ONE, "**Rationale:**", "Reason:"),
        f"{ONE}:19: the text must end in a paragraph that starts with **Rationale:**",
    ),
    "no obligation": (
        replace(ONE, "1. The thing MUST be one.\n2. The thing MUST NOT be", "It is"),
        f"{ONE}:12: a normative clause without a numbered obligation",
    ),
    "no since": (replace(ONE, 'since = "0.1.0"\n', ""), f"{ONE}:3: add since"),
    "superseded by nothing": (
        replace(ONE, 'status = "active"', 'status = "superseded"'),
        f"{ONE}:7: a superseded clause, and no other, names its successor",
    ),
    "work item in the RFC": (
        replace(ONE, "Let x be a thing", "Let x be WI-2026-11-30-001"),
        f"{ONE}:11: refers to a work item; the RFC must not",
    ),
    "unknown clause of a work item": (
        replace(WORK, "C-ONE", "C-TWO"),
        f"{WORK}:8: RFC-0001 0.2.0 has no clause 'RFC-0001:C-TWO'",
    ),
    "unknown guard of a work item": (
        replace(WORK, "GUARD-TESTS", "GUARD-TEST"),
        f"{WORK}:18: no guard 'GUARD-TEST' in gov/guard",
    ),
    "unknown default guard": (
        replace("gov/config.toml", "GUARD-TESTS", "GUARD-LINT"),
        "gov/config.toml:2: no guard 'GUARD-LINT' in gov/guard",
    ),
    "done with a pending criterion": (
        replace(WORK, 'status = "active"', 'status = "done"'),
        f"{WORK}:14: the work item is done but this criterion is pending; settle one of them",
    ),
    "schema of a guard": (
        replace("gov/guard/tests.toml", 'command = "nox -s tests"', 'command = ""'),
        "gov/guard/tests.toml:8: check.command: ''",
    ),
    "no schemas where the header says": (
        remove("gov/schema"),
        f"{WORK}:1: there is no file at ../schema/work.schema.json",
    ),
    "no link for govctl": (
        remove("gov/rfc"),
        "gov/config.toml:1: gov/rfc must be a link to ../rfcs; add it",
    ),
}


@pytest.mark.parametrize(("change", "expected"), BREAKS.values(), ids=BREAKS)
def test_what_is_broken_is_told_with_file_line_and_remedy(
    tree: Tree, change: Change, expected: str
) -> None:
    change(tree.root)
    problems = said(tree)
    assert [line for line in problems if line.startswith(expected)], problems


def installed(tree: Tree) -> Tree:
    """The tree as a wheel installs it: no tests of the repository, no governance."""
    for path in (tree.root / "tests").glob("*.py"):
        path.unlink()
    (tree.root / "tests").rmdir()
    (tree.root / "pyproject.toml").unlink()
    return find_tree(tree.root)


def test_an_installed_distribution_is_in_order_without_the_repositorys_tests(tree: Tree) -> None:
    assert said(installed(tree)) == []


def test_an_installed_suite_that_lost_a_test_is_told(tree: Tree) -> None:
    distribution = installed(tree)
    (tree.root / "conformance" / "suite" / "test_one.py").unlink()
    problems = said(distribution)
    assert [line for line in problems if "no test cites RFC-0001:C-ONE/1" in line]
    assert [line for line in problems if line.startswith("rfcs/coverage.txt:2:")]


def test_an_installed_distribution_without_evidence_for_an_obligation(tree: Tree) -> None:
    distribution = installed(tree)
    replace("rfcs/coverage.txt", "    tests/test_two.py::test_two\n", "")(tree.root)
    assert [line for line in said(distribution) if "no test cites RFC-0001:C-ONE/2" in line]


def test_a_folder_that_is_not_ownerlanes(tmp_path: Path) -> None:
    with pytest.raises(RfcError, match="expected the folder 'reference'"):
        find_tree(tmp_path)
