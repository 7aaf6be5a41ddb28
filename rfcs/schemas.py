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

HEADERS = {
    "rfc": "#:schema ../schema/rfc.schema.json",
    "clause": "#:schema ../../schema/clause.schema.json",
    "work": "#:schema ../schema/work.schema.json",
    "guard": "#:schema ../schema/guard.schema.json",
}
"""The first line of each kind of artifact; `gov/schema` is a link to `rfcs/schema`."""


def check_header(tree: Tree, path: Path, kind: str) -> Iterator[Problem]:
    """Problems of the line that names the schema."""
    expected = HEADERS[kind]
    if path.read_text(encoding="utf-8").partition("\n")[0] != expected:
        yield Problem(
            tree.name(path), 1, f"the first line must name its schema, from here: {expected}"
        )
    elif not (path.parent / expected.partition(" ")[2]).is_file():
        yield Problem(tree.name(path), 1, f"there is no file at {expected.partition(' ')[2]}")


def check_schema(tree: Tree, path: Path, kind: str) -> Iterator[Problem]:
    """Problems of one file of a kind that has a schema: "rfc", "clause", "work" or "guard"."""
    name = tree.name(path)
    schema = tree.rfcs / "schema" / f"{kind}.schema.json"
    try:
        document = read_toml(path)
    except RfcError as fault:
        yield Problem(name, 1, f"{fault}")
        return
    text = path.read_text(encoding="utf-8")
    validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    for error in sorted(validator.iter_errors(document), key=str):
        yield Problem(name, _line(text, error), f"{_where(error)}: {error.message} ({schema.name})")


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
