"""Who cites which clause: tests by `@clause(...)`, sources and documents by id.

Python files are parsed, never imported, so that citations are found where the tests cannot run.
Nothing here knows which ids exist.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ownerlanes.rfcs.tree import Tree

LINK = re.compile(r"\[\[(RFC-[^\]\s]*|C-[^\]\s]*)\]\]")
"""A double-bracketed reference, well spelled or not."""
BARE = re.compile(r"\bRFC-\d{4}:C-[A-Z0-9-]*[A-Z0-9](?:/\d+)?")


@dataclass(frozen=True)
class Citation:
    """One id cited at one place.

    Attributes:
        cited: the id; None where the argument of `clause` cannot be read off the source.
        path: the file, as the tree names it.
        line: from 1.
        test: id of the citing test; empty outside tests.
    """

    cited: str | None
    path: str
    line: int
    test: str = ""


def citations_of_tests(tree: Tree) -> list[Citation]:
    """Every citation by a mark, in the order of files and lines.

    A mark on what pytest does not collect is there too, with no test.
    """
    found: list[Citation] = []
    for path in tree.tests():
        module = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        citations = _Reader(tree.name(path), module).citations()
        if not path.name.startswith("test_"):
            citations = [replace(citation, test="") for citation in citations]
        found += citations
    return found


def citations_of_texts(tree: Tree) -> list[Citation]:
    """Every id in the packages' sources and in the documents, in comments and strings too."""
    found = []
    for path in (*tree.sources(), *tree.documents()):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            ids = {m[1] for m in LINK.finditer(line)} | {m[0] for m in BARE.finditer(line)}
            found += [Citation(cited, tree.name(path), number) for cited in sorted(ids)]
    return found


class _Reader:
    """The citations of one module."""

    def __init__(self, path: str, module: ast.Module) -> None:
        self._path = path
        self._module = module
        self._texts = _constants(module)

    def citations(self) -> list[Citation]:
        return list(self._block(self._module.body, self._path, []))

    def _block(self, body: list[ast.stmt], owner: str, above: list[ast.Call]) -> Iterator[Citation]:
        """Citations of the tests in a module or class body; `above` holds for all of them."""
        above = above + [call for node in body for call in _pytestmarks(node)]
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = _clause_calls(node.decorator_list)
                if node.name.startswith("test"):
                    yield from self._cite([*above, *own], f"{owner}::{node.name}")
                else:
                    yield from self._cite(own, test="")
            elif isinstance(node, ast.ClassDef):
                own = [*above, *_clause_calls(node.decorator_list)]
                name = f"{owner}::{node.name}"
                if _has_tests(node):
                    yield from self._block(node.body, name, own)
                else:
                    yield from self._cite(own, name)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                # TestHistories = clause("...")(Machine.TestCase)
                target = node.targets[0]
                if isinstance(target, ast.Name) and target.id.startswith("Test"):
                    calls = [*above, *_clause_calls([node.value.func])]
                    yield from self._cite(calls, f"{owner}::{target.id}")

    def _cite(self, calls: list[ast.Call], test: str) -> Iterator[Citation]:
        for call in calls:
            for argument in call.args:
                cited = _text(argument, self._texts)
                yield Citation(cited, self._path, argument.lineno, test)


def _clause_calls(nodes: list[ast.expr]) -> list[ast.Call]:
    """The calls of `clause`, `clauses.clause` or `pytest.mark.clause` among expressions."""
    calls = []
    for node in nodes:
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "clause":
                calls.append(node)
    return calls


def _pytestmarks(node: ast.stmt) -> list[ast.Call]:
    """The clause calls of `pytestmark = clause(...)` or of a list of marks."""
    if not isinstance(node, ast.Assign):
        return []
    if not any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
        return []
    marks = node.value
    return _clause_calls(marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks])


def _has_tests(node: ast.ClassDef) -> bool:
    functions = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return any(function.name.startswith("test") for function in functions)


def _constants(module: ast.Module) -> dict[str, str]:
    """The module's names that are bound to a text once."""
    texts: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = _text(node.value, texts)
            if value is not None:
                texts[node.targets[0].id] = value
    return texts


def _text(node: ast.expr, texts: dict[str, str]) -> str | None:
    """The text that an expression of literals and module constants stands for."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return texts.get(name)
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return _text(inner, texts)
        case ast.JoinedStr(values=parts):
            pieces = [_text(part, texts) for part in parts]
            return None if None in pieces else "".join(piece for piece in pieces if piece)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pieces = [_text(left, texts), _text(right, texts)]
            return None if None in pieces else "".join(piece for piece in pieces if piece)
    return None
