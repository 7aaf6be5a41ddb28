"""A history as a Python script that needs nothing but the candidate's factory.

The script makes the same calls in the same order and prints what comes of each, so that a failure
can be stepped through in a debugger, without Hypothesis and without the kit's lock-step.
"""

from __future__ import annotations

from collections.abc import Iterator

from ownerlanes.conformance.operations import (
    NAMES,
    Clear,
    Free,
    FreePages,
    History,
    Step,
)
from ownerlanes.reference.contract import ExtendRequest

_CALL = """

def call(name, *arguments):
    try:
        result = getattr(allocator, name)(*arguments)
    except Exception as error:
        result = f"raised {type(error).__name__}: {error}"
    if hasattr(result, "out_cache_loc"):
        call.own_slots = result.out_cache_loc
    print(f"{name} -> {result}")
    print(f"    free pages by lane: {allocator.available_pages()}")
    return result

"""


def script(history: History, factory: str) -> str:
    """The script.

    Args:
        history: what to do.
        factory: "pkg.module:make".
    """
    return "\n".join([*_imports(history, factory), _CALL, *_calls(history)]) + "\n"


def _imports(history: History, factory: str) -> Iterator[str]:
    module, _, attribute = factory.partition(":")
    yield "from ownerlanes.reference import *"
    if history.evictor:
        yield "from ownerlanes.conformance.evictors import ScriptedEvictor"
        yield "from ownerlanes.conformance.operations import EvictorScript"
    if _uses_index(history):
        yield "from ownerlanes.conformance.operations import Index"
    if any(getattr(step, "carried", None) == "own" for step in history.steps):
        yield "from ownerlanes.conformance.player import like"
    yield f"import {module}"
    yield ""
    yield f"layout = {history.layout!r}"
    if history.evictor:
        yield "evictor = ScriptedEvictor(layout)"
        yield f"allocator = {module}.{attribute}(layout, evictor=evictor)"
        yield "evictor.allocator = allocator"
    else:
        yield f"allocator = {module}.{attribute}(layout)"


def _uses_index(history: History) -> bool:
    return any("Index(" in repr(step) for step in history.steps)


def _calls(history: History) -> Iterator[str]:
    for step in history.steps:
        if history.evictor:
            yield f"evictor.begin({getattr(step, 'evictor', None)!r})"
        yield _call(step)


def _call(step: Step) -> str:
    name = NAMES[type(step)]
    match step:
        case Clear():
            return f"call({name!r})"
        case Free() | FreePages():
            ids = step.slots if isinstance(step, Free) else step.pages
            if step.carried == "own":  # in the type of the allocator's own slots
                return f"call({name!r}, like(getattr(call, 'own_slots', None), {_listed(ids)}))"
            return f"call({name!r}, {_listed(ids)})"
        case _:
            given = step.owners if name == "alloc_pages" else step.requests  # type: ignore[union-attr]
            return f"call({name!r}, {_listed(given)})"


def _listed(value: object) -> str:
    """A sequence as a list, one request a line where there are several."""
    if not isinstance(value, (tuple, list)):
        return repr(value)
    if any(isinstance(item, ExtendRequest) for item in value):
        rows = "".join(f"    {item!r},\n" for item in value)
        return f"[\n{rows}]"
    return repr(list(value))
