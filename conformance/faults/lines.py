"""Mutants of source lines: one operator or one number of one line is another.

For checking how much of a line's arithmetic the kit sees. Names, texts of messages, annotations
and docstrings are left alone; nothing here runs a mutant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "%"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Invert: ("~", ""),
    ast.Not: ("not ", ""),
    ast.USub: ("-", ""),
}
CALLS = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "any": "all"}


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Attributes:
        path: the file.
        line: its number, from 1.
        column, width: what is replaced, in characters of that line.
        new: what it becomes.
    """

    path: Path
    line: int
    column: int
    width: int
    new: str

    def lines(self) -> tuple[str, str]:
        """The line as it is and as it becomes."""
        before = self.path.read_text(encoding="utf-8").splitlines()[self.line - 1]
        after = before[: self.column] + self.new + before[self.column + self.width :]
        return before, after

    def source(self) -> str:
        """The file's text with the change."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        lines[self.line - 1] = self.lines()[1]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        before, after = (line.strip() for line in self.lines())
        return f"{self.path.name}:{self.line}: {before}  ->  {after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file's functions, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _of(statement, path, lines)


def _of(node: ast.AST, path: Path, lines: list[str]) -> Iterator[Mutant]:
    if isinstance(node, (ast.FunctionDef, ast.JoinedStr, ast.Raise)):
        return  # a function of its own, or the text of a message
    yield from _here(node, path, lines)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name != "annotation":
                yield from _of(child, path, lines)


def _here(node: ast.AST, path: Path, lines: list[str]) -> Iterator[Mutant]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from _between(left, right, op, path, lines)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from _between(left, right, op, path, lines)
        case ast.BoolOp(op=op, values=[first, second, *_]):
            yield from _between(first, second, op, path, lines)
        case ast.AugAssign(target=target, op=op, value=value):
            yield from _between(target, value, op, path, lines)
        case ast.UnaryOp(op=op, lineno=line, col_offset=column) if type(op) in OPERATORS:
            old, new = OPERATORS[type(op)]
            yield Mutant(path, line, column, len(old), new)
        case ast.Constant(value=bool()):
            yield Mutant(
                path, node.lineno, node.col_offset, len(str(node.value)), str(not node.value)
            )
        case ast.Constant(value=int(value), lineno=line, col_offset=column, end_col_offset=end):
            yield Mutant(path, line, column, (end or 0) - column, str(value + 1))
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in CALLS:
            yield from _call(node.func, name, path, lines)


def _between(
    left: ast.expr, right: ast.expr, op: ast.AST, path: Path, lines: list[str]
) -> Iterator[Mutant]:
    """The operator that stands between two operands on one line."""
    old, new = OPERATORS.get(type(op), ("", ""))
    if not old or left.end_lineno is None or left.end_col_offset is None:
        return
    if left.end_lineno == right.lineno:
        at = lines[right.lineno - 1].find(old, left.end_col_offset, right.col_offset)
        if at >= 0:
            yield Mutant(path, right.lineno, at, len(old), new)


def _call(func: ast.expr, name: str, path: Path, lines: list[str]) -> Iterator[Mutant]:
    line, end = func.end_lineno or 0, func.end_col_offset or 0
    if lines[line - 1][end - len(name) : end] == name:
        yield Mutant(path, line, end - len(name), len(name), CALLS[name])
