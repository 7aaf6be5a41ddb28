"""Checks the work items and guards of a checkout, so far as `govctl check` would.

Schemas, names, and that every clause, guard and work item referred to exists. It runs no guard and
changes no status.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ownerlanes.rfcs.obligations import Rfc, RfcError, read_toml
from ownerlanes.rfcs.problems import Problem, line_of
from ownerlanes.rfcs.schemas import check_header, check_schema
from ownerlanes.rfcs.tree import Tree


def check_governance(tree: Tree, rfc: Rfc) -> list[Problem]:
    """Problems of gov/; none in an installed distribution, which has no such folder."""
    if tree.gov is None or not tree.gov.is_dir():
        return []
    problems: list[Problem] = []
    documents: dict[Path, dict[str, Any]] = {}
    for kind in ("guard", "work"):
        for path in sorted((tree.gov / kind).glob("*.toml")):
            problems += check_header(tree, path, kind)
            found = list(check_schema(tree, path, kind))
            problems += found
            if not found:
                documents[path] = read_toml(path)
    guards = {d["govctl"]["id"] for path, d in documents.items() if path.parent.name == "guard"}
    works = {d["govctl"]["id"] for path, d in documents.items() if path.parent.name == "work"}
    for path, document in documents.items():
        problems += _check_refs(tree, path, document, rfc, works)
        problems += _check_guards(tree, path, document, guards)
        problems += _check_status(tree, path, document)
    config = tree.gov / "config.toml"
    problems += [
        _problem(tree, config, "default_guards", f"no guard {guard!r} in gov/guard")
        for guard in read_toml(config).get("verification", {}).get("default_guards", ())
        if guard not in guards
    ]
    if not (tree.gov / "rfc" / rfc.id / "rfc.toml").is_file():
        problems.append(
            _problem(tree, config, "[paths]", "gov/rfc must be a link to ../rfcs; add it")
        )
    return problems


def _check_refs(
    tree: Tree, path: Path, document: dict[str, Any], rfc: Rfc, works: set[str]
) -> Iterator[Problem]:
    about = document["govctl"]
    for ref in (*about.get("refs", ()), *about.get("depends_on", ())):
        if ref.startswith("WI-"):
            if ref not in works:
                yield _problem(tree, path, f'"{ref}"', f"no work item {ref!r} in gov/work")
        elif ref != rfc.id:
            try:
                rfc.find(ref)
            except RfcError as fault:
                yield _problem(tree, path, f'"{ref}"', f"{fault}; correct the reference")


def _check_guards(
    tree: Tree, path: Path, document: dict[str, Any], guards: set[str]
) -> Iterator[Problem]:
    for guard in document.get("verification", {}).get("required_guards", ()):
        if guard not in guards:
            yield _problem(tree, path, "required_guards", f"no guard {guard!r} in gov/guard")


def _check_status(tree: Tree, path: Path, document: dict[str, Any]) -> Iterator[Problem]:
    if document["govctl"].get("status") == "done":
        for criterion in document["content"].get("acceptance_criteria", ()):
            if criterion.get("status", "pending") == "pending":
                yield _problem(
                    tree,
                    path,
                    f'text = "{criterion["text"]}"',
                    "the work item is done but this criterion is pending; settle one of them",
                )


def _problem(tree: Tree, path: Path, start: str, message: str) -> Problem:
    return Problem(tree.name(path), line_of(path.read_text(encoding="utf-8"), start), message)
