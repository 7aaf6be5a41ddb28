"""Checks the RFC's own files: names, lists, changelog and the form of each clause's text.

Only TOML and text are looked at, file by file, so that a broken RFC still gets a full list of
problems. Citations from elsewhere are `check`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ownerlanes.rfcs.obligations import KEYWORDS, RFC_ID, items, read_toml
from ownerlanes.rfcs.problems import Problem, line_of
from ownerlanes.rfcs.schemas import check_header, check_schema
from ownerlanes.rfcs.tree import Tree

RATIONALE = "**Rationale:**"


def check_files(tree: Tree) -> list[Problem]:
    """Everything that can be said of the RFC's files without loading it as a whole."""
    rfc_file = tree.rfcs / RFC_ID / "rfc.toml"
    if not rfc_file.is_file():
        return [Problem(tree.name(rfc_file), 1, "missing; the folder is named as the RFC's id")]
    problems = [*check_header(tree, rfc_file, "rfc"), *check_schema(tree, rfc_file, "rfc")]
    clause_files = sorted((tree.rfcs / RFC_ID / "clauses").glob("*.toml"))
    for path in clause_files:
        problems += check_header(tree, path, "clause")
        problems += list(check_schema(tree, path, "clause")) or _check_clause(tree, path)
    if not problems:
        document = read_toml(rfc_file)
        problems += _check_id(tree, rfc_file, document["govctl"]["id"], rfc_file.parent.name)
        problems += _check_list(tree, rfc_file, document, clause_files)
        problems += _check_changelog(tree, rfc_file, document)
    return problems


def _check_id(tree: Tree, path: Path, found: str, expected: str) -> Iterator[Problem]:
    if found != expected:
        yield Problem(
            tree.name(path),
            line_of(path.read_text(encoding="utf-8"), "id ="),
            f"id {found!r} does not match the name {expected!r}; rename one of them",
        )


def _check_list(
    tree: Tree, rfc_file: Path, document: dict[str, Any], clause_files: list[Path]
) -> Iterator[Problem]:
    text = rfc_file.read_text(encoding="utf-8")
    listed = [entry for section in document["sections"] for entry in section.get("clauses", ())]
    present = {path.relative_to(rfc_file.parent).as_posix() for path in clause_files}
    for entry in sorted(set(listed)):
        line = line_of(text, f'"{entry}"')
        if entry not in present:
            yield Problem(
                tree.name(rfc_file),
                line,
                f"lists {entry!r}, which is missing; add the file or remove the entry",
            )
        if listed.count(entry) > 1:
            yield Problem(tree.name(rfc_file), line, f"lists {entry!r} twice; remove one entry")
    for entry in sorted(present - set(listed)):
        yield Problem(
            tree.name(rfc_file.parent / entry),
            1,
            f"the clause is in no section; list {entry!r} in {tree.name(rfc_file)} or delete it",
        )


def _check_changelog(tree: Tree, rfc_file: Path, document: dict[str, Any]) -> Iterator[Problem]:
    version = document["govctl"]["version"]
    found = [entry["version"] for entry in document.get("changelog", ())]
    if found.count(version) != 1:
        yield Problem(
            tree.name(rfc_file),
            line_of(rfc_file.read_text(encoding="utf-8"), "version ="),
            f"expected one [[changelog]] entry for the current version {version}, found "
            f"{found.count(version)}; add it with its date and notes",
        )


def _check_clause(tree: Tree, path: Path) -> list[Problem]:
    document = read_toml(path)
    about, text = document["govctl"], document["content"]["text"].strip()
    source = path.read_text(encoding="utf-8")
    name = tree.name(path)
    problems = list(_check_id(tree, path, about["id"], path.stem))
    if "since" not in about:
        problems.append(Problem(name, line_of(source, "[govctl]"), "add since = the RFC's version"))
    superseded = about.get("status") == "superseded"
    if superseded != ("superseded_by" in about):
        problems.append(
            Problem(
                name,
                line_of(source, "status ="),
                "a superseded clause, and no other, names its successor in superseded_by",
            )
        )
    if "WI-" in text:
        problems.append(
            Problem(name, line_of(source, "text ="), "refers to a work item; the RFC must not")
        )
    if not text.splitlines()[-1].startswith(RATIONALE):
        problems.append(
            Problem(
                name,
                len(source.splitlines()),
                f"the text must end in a paragraph that starts with {RATIONALE}",
            )
        )
    problems += _check_wording(name, source, text, normative=about["kind"] == "normative")
    return problems


def _check_wording(name: str, source: str, text: str, *, normative: bool) -> Iterator[Problem]:
    """Numbers run from 1; key words are in numbered items of normative clauses, one in each."""
    lines = text.splitlines()
    start = source.splitlines().index(lines[0]) + 1 if lines[0] in source.splitlines() else 1
    numbered = {index: (number, sentence) for number, sentence, index in items(text)}
    for place, (index, (number, sentence)) in enumerate(numbered.items(), start=1):
        line = start + index
        if number != place:
            yield Problem(
                name, line, f"obligation {number} comes {place}. in the clause; number from 1"
            )
        if normative and len(KEYWORDS.findall(sentence)) != 1:
            yield Problem(
                name,
                line,
                f"obligation {number} has {len(KEYWORDS.findall(sentence))} key words of RFC 2119; "
                "write one obligation an item",
            )
    inside = False
    for index, text_line in enumerate(lines):
        inside = index in numbered or (inside and text_line.startswith(" "))
        if KEYWORDS.search(text_line) and not (inside and normative):
            yield Problem(
                name,
                start + index,
                "a key word of RFC 2119 outside the numbered obligations of a normative clause; "
                "number the sentence or use another word",
            )
    if normative and not numbered:
        yield Problem(name, start, "a normative clause without a numbered obligation")
