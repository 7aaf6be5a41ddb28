"""`ownerlanes rfc`: exit status and output of each command."""

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ownerlanes.conformance.commands import rfc as commands
from ownerlanes.rfcs import coverage, render
from ownerlanes.rfcs.tree import Tree


def run(*arguments: str, root: Path | None = None) -> tuple[int, str]:
    more = () if root is None else ("--root", str(root))
    result = CliRunner().invoke(commands.app, [*arguments, *more])
    return result.exit_code, result.output


def test_check_of_a_tree_in_order(tree: Tree) -> None:
    status, output = run("check", root=tree.root)
    assert (status, output) == (
        0,
        f"RFC-0001 0.2.0: 2 obligations, all cited by tests; checkout {tree.root} is in order\n",
    )


def test_check_with_something_to_fix(tree: Tree) -> None:
    (tree.rfcs / render.PAGE).write_text("stale")
    status, output = run("check", root=tree.root)
    assert status == 1
    assert "rfcs/RFC-0001.md:1: differs from the clauses; run `ownerlanes rfc render`\n" in output
    assert "1 problem" in output


def test_check_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = run("check", root=tmp_path)
    assert status == 2
    assert "expected the folder 'reference' of ownerlanes" in output
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    status, output = run("check")
    assert status == 2
    assert "pip install 'ownerlanes[rfc]'" in output


def test_render_and_its_check(tree: Tree) -> None:
    (tree.rfcs / render.PAGE).unlink()
    assert run("render", "--check", root=tree.root)[0] == 1
    assert run("render", root=tree.root)[0] == 0
    assert run("render", "--check", root=tree.root) == (0, "")


def test_coverage_and_its_snapshot(tree: Tree) -> None:
    (tree.rfcs / coverage.SNAPSHOT).unlink()
    status, output = run("coverage", "--write", root=tree.root)
    assert status == 0
    assert "C-ONE" in output
    assert (tree.rfcs / coverage.SNAPSHOT).read_text() == (
        "# RFC-0001 0.2.0: obligation, then its tests. Made by "
        "`ownerlanes rfc coverage --write`.\n"
        "RFC-0001:C-ONE/1\n    conformance/suite/test_one.py::test_one\n"
        "RFC-0001:C-ONE/2\n    tests/test_two.py::test_two\n"
    )


def test_a_snapshot_cannot_be_made_where_the_tests_are_not(tree: Tree) -> None:
    (tree.root / "pyproject.toml").unlink()
    status, output = run("coverage", "--write", root=tree.root)
    assert status == 2
    assert "is not a checkout" in output


def test_coverage_without_a_fault_catalogue_says_so(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "FAULTS", "ownerlanes.conformance.no_such_module")
    output = run("coverage", root=tree.root)[1]
    assert "planted faults: unknown, ownerlanes.conformance.no_such_module is not" in output


def test_cite(tree: Tree, tmp_path: Path) -> None:
    status, output = run("cite", "C-ONE/2", root=tree.root)
    assert status == 0
    assert output.startswith("> **RFC-0001:C-ONE/2** (RFC-0001 version 0.2.0): The thing MUST NOT")
    assert run("cite", "C-TWO", root=tree.root)[0] == 2
    missing = tmp_path / "none.json"
    assert run("cite", "C-ONE/2", "--report", str(missing), root=tree.root)[0] == 2
