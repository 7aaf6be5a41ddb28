"""Checks TOML artifacts against the JSON schemas that govctl uses, vendored under `schema/`.

No network and no govctl is needed. The first line of each artifact names its schema for editors;
that the name is right for where the file lies is checked too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from ownerlanes.rfcs.obligations import RfcError, read_toml
from ownerlanes.rfcs.problems import Problem, line_of
from ownerlanes.rfcs.tree import Tree

HEADER = "#:schema "


def check_artifact(tree: Tree, path: Path, kind: str) -> Iterator[Problem]:
    """Problems of one file of a kind that has a schema: "rfc", "clause", "work" or "guard"."""
    name = tree.name(path)
    schema = tree.rfcs / "schema" / f"{kind}.schema.json"
    try:
        document = read_toml(path)
    except RfcError as fault:
        yield Problem(name, 1, f"{fault}")
        return
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    named = (path.parent / first.removeprefix(HEADER).strip()).resolve()
    if not first.startswith(HEADER) or named != schema.resolve():
        expected = Path(*[".."] * len(path.parent.relative_to(tree.root).parts))
        yield Problem(
            name,
            1,
            f"the first line must name its schema: {HEADER}"
            f"{_shortest(tree, path, expected / tree.name(schema))}",
        )
    validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    for error in sorted(validator.iter_errors(document), key=str):
        yield Problem(name, _line(text, error), f"{_where(error)}: {error.message} ({schema.name})")


def _shortest(tree: Tree, path: Path, fallback: Path) -> str:
    """How the schema is named from beside `path`; files under rfcs stay inside rfcs."""
    if path.is_relative_to(tree.rfcs):
        up = len(path.parent.relative_to(tree.rfcs).parts)
        return Path(*[".."] * up, "schema", fallback.name).as_posix()
    return fallback.as_posix()


def _where(error: Any) -> str:
    return ".".join(str(part) for part in error.absolute_path) or "document"


def _line(text: str, error: Any) -> int:
    """The line of the innermost named field at fault, or of the first that is unknown."""
    names = [part for part in error.absolute_path if isinstance(part, str)]
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        names += [key for key in error.instance if key not in known][:1]
    for name in reversed(names):
        line = line_of(text, f"{name} =")
        if line > 1:
            return line
    return line_of(text, f"[{names[0]}]") if names else 1
