"""How a fault is planted: one function of the reference is another one, for one allocator only.

A fault is a factory like any other, so that the kit can be pointed at it by name. Its allocator is
a ReferenceAllocator that finds the faulty function in place while one of its own methods runs;
nothing stays changed between calls, and the oracle beside it never sees the fault.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any

from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.contract import Evictor, LaneLayout

RFC = "RFC-0001"
REFERENCE = "ownerlanes.reference"

Function = Callable[..., Any]


class Fault:
    """A factory of allocators with one thing wrong.

    Attributes:
        name: its name in `ownerlanes.conformance.faults`.
        clause: the obligation that it breaks, such as "RFC-0001:C-FLATTENED-ORDER/2".
        line: what is wrong, in one line.
        capabilities: what its allocators claim; None for everything.
        __name__, __module__, __doc__: those of the faulty function.
    """

    def __init__(
        self,
        clause: str,
        targets: tuple[str, ...],
        faulty: Function,
        capabilities: Mapping[str, object] | None,
    ) -> None:
        self.name = self.__name__ = faulty.__name__
        self.__module__ = faulty.__module__
        self.__doc__ = faulty.__doc__
        self.clause = f"{RFC}:{clause}"
        self.line = (inspect.getdoc(faulty) or "").splitlines()[0]
        self.capabilities = capabilities
        self._swaps = [_swap(target, faulty) for target in targets]

    def __call__(self, layout: LaneLayout, evictor: Evictor | None = None) -> FaultyAllocator:
        """An allocator with every page free and this fault."""
        return FaultyAllocator(self, layout, evictor)

    def __repr__(self) -> str:
        return f"<fault {self.name} of {self.clause}>"

    @contextmanager
    def planted(self) -> Iterator[None]:
        """While it lasts, the reference works with the faulty function."""
        before = [(owner, name, vars(owner)[name]) for owner, name, _ in self._swaps]
        for owner, name, faulty in self._swaps:
            setattr(owner, name, faulty)
        try:
            yield
        finally:
            for owner, name, was in before:
                setattr(owner, name, was)


class FaultyAllocator:
    """A ReferenceAllocator, each call of which meets the fault.

    Args:
        fault: what is wrong.
        layout, evictor: as ReferenceAllocator.
    """

    def __init__(self, fault: Fault, layout: LaneLayout, evictor: Evictor | None) -> None:
        self._fault = fault
        with fault.planted():
            self._allocator = ReferenceAllocator(layout, evictor)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(self._allocator, name)):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            with self._fault.planted():
                return getattr(self._allocator, name)(*arguments)

        return call


def plant(
    clause: str, *targets: str, capabilities: Mapping[str, object] | None = None
) -> Callable[[Function], Fault]:
    """The decorated function takes the place of each target: a fault.

    Args:
        clause: the obligation that breaks, such as "C-FLATTENED-ORDER/2".
        targets: functions, methods or properties of the reference, such as "planning.blocks".
        capabilities: what the candidate claims; None for everything.

    Returns:
        A decorator for a function of the target it replaces and that one's arguments; the first
        line of its docstring says what is wrong.
    """
    return lambda faulty: Fault(clause, targets, faulty, capabilities)


def _swap(target: str, faulty: Function) -> tuple[Any, str, Any]:
    """Whose attribute is to be replaced, its name, and what by.

    Raises:
        KeyError: the reference has no such function.
    """
    module, *path, name = target.split(".")
    owner: Any = import_module(f"{REFERENCE}.{module}")
    for part in path:
        owner = getattr(owner, part)
    original = vars(owner)[name]
    if isinstance(original, property):
        return owner, name, property(lambda self: faulty(original.fget, self))

    @wraps(original)
    def swapped(*arguments: Any, **named: Any) -> Any:
        return faulty(original, *arguments, **named)

    return owner, name, swapped
