"""Triton's interpreter under stress: other program orders, bounds checks, counts of launches.

The stock interpreter runs the programs of a launch one after another and lets them write
anywhere; a GPU does neither. These context managers make a race or a stray store show on a CPU.
They change the interpreter for the length of a `with` and never a result that is well defined.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton.runtime.interpreter as interpreter
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

BUILDER = interpreter.interpreter_builder
MEMORY_OPERATIONS = (
    "create_masked_load",
    "create_masked_store",
    "create_atomic_rmw",
    "create_atomic_cas",
)


@contextlib.contextmanager
def replaced(owner: object, **attributes: Any) -> Iterator[None]:
    """Set attributes of an object and put the old ones back."""
    before = {name: vars(owner)[name] for name in attributes if name in vars(owner)}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name in attributes:
            if name in before:
                setattr(owner, name, before[name])
            else:
                delattr(owner, name)


@contextlib.contextmanager
def permuted(seed: int) -> Iterator[None]:
    """Run the programs of every launch one after another, in an order drawn from `seed`."""
    set_dim, set_index = BUILDER.set_grid_dim, BUILDER.set_grid_idx
    order: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    def set_grid_dim(*grid: int) -> None:
        set_dim(*grid)
        programs = list(itertools.product(*map(range, grid)))
        shuffled = random.Random(seed).sample(programs, len(programs))
        order.clear()
        order.update(zip(programs, shuffled, strict=True))

    with replaced(
        BUILDER,
        set_grid_dim=set_grid_dim,
        set_grid_idx=lambda x, y, z: set_index(*order[x, y, z]),
    ):
        yield


class Interleaving:
    """The programs of one launch as threads that hand over before each memory operation."""

    current = threading.local()

    def __init__(self, program: Callable[..., None], choice: random.Random) -> None:
        self._program = program
        self._choice = choice
        self._indices: list[Any] = []
        self._arguments: list[dict[str, Any]] = []
        self._handed_back = threading.Semaphore(0)
        self._failures: list[BaseException] = []
        # What GridExecutor reads of the function that it thinks it runs.
        self.__globals__ = program.__globals__
        self.__name__ = program.__name__
        self.__signature__ = inspect.signature(program)

    def __call__(self, **arguments: Any) -> None:
        """Collect one program; the last one of the grid starts them all."""
        self._indices.append(BUILDER.grid_idx)
        self._arguments.append(arguments)
        if len(self._indices) == int(np.prod(BUILDER.grid_dim)):
            self._run_all()

    def _run_all(self) -> None:
        self._turns = [threading.Semaphore(0) for _ in self._indices]
        threads = [
            threading.Thread(target=self._run, args=(i,), daemon=True)
            for i in range(len(self._turns))
        ]
        self._live = set(range(len(threads)))
        for thread in threads:
            thread.start()
        while self._live:
            chosen = self._choice.choice(sorted(self._live))
            BUILDER.grid_idx = self._indices[chosen]
            self._turns[chosen].release()
            self._handed_back.acquire()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _run(self, number: int) -> None:
        self._turns[number].acquire()
        self.current.launch, self.current.number = self, number
        try:
            if not self._failures:
                self._program(**self._arguments[number])
        except BaseException as failure:
            self._failures.append(failure)
        finally:
            self._live.discard(number)
            self._handed_back.release()

    @classmethod
    def hand_over(cls) -> None:
        """Let another program go on; outside of an interleaved launch this does nothing."""
        launch = getattr(cls.current, "launch", None)
        if launch is not None:
            launch._handed_back.release()
            launch._turns[cls.current.number].acquire()
            if launch._failures:
                raise RuntimeError("another program of the launch failed")


@contextlib.contextmanager
def interleaved(seed: int) -> Iterator[None]:
    """Switch between the programs of every launch before each memory operation, by `seed`."""
    choice = random.Random(seed)
    stock = interpreter.GridExecutor.__call__

    def call(self: Any, *arguments: Any, **keywords: Any) -> None:
        real, self.fn = self.fn, Interleaving(self.fn, choice)
        try:
            stock(self, *arguments, **keywords)
        finally:
            self.fn = real

    def handing_over(operation: Callable[..., Any]) -> Callable[..., Any]:
        def switched(*arguments: Any, **keywords: Any) -> Any:
            Interleaving.hand_over()
            return operation(*arguments, **keywords)

        return switched

    operations = {name: handing_over(getattr(BUILDER, name)) for name in MEMORY_OPERATIONS}
    with replaced(BUILDER, **operations), replaced(interpreter.GridExecutor, __call__=call):
        yield


@contextlib.contextmanager
def bounds_checked(*tensors: torch.Tensor) -> Iterator[None]:
    """Every element that a mask leaves on must lie within one of these tensors' storage slices."""
    spans = [(t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors]

    def check(name: str, pointer: Any, mask: Any) -> None:
        addresses = np.asarray(pointer.data)
        live = np.ones(addresses.shape, bool) if mask is None else np.asarray(mask.data, bool)
        addresses = addresses[np.broadcast_to(live, addresses.shape)].astype(np.uint64)
        width = max(pointer.get_element_ty().primitive_bitwidth // 8, 1)
        good = np.zeros(addresses.shape, bool)
        for low, high in spans:
            good |= (addresses >= low) & (addresses + np.uint64(width) <= high)
        if not good.all():
            raise IndexError(f"{name}: {np.count_nonzero(~good)} elements out of bounds")

    load, store, atomic = (getattr(BUILDER, name) for name in MEMORY_OPERATIONS[:3])

    def checked_load(pointer: Any, mask: Any, *rest: Any) -> Any:
        check("load", pointer, mask)
        return load(pointer, mask, *rest)

    def checked_store(pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
        check("store", pointer, mask)
        return store(pointer, value, mask, *rest)

    def checked_atomic(operation: Any, pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
        check("atomic", pointer, mask)
        return atomic(operation, pointer, value, mask, *rest)

    with replaced(
        BUILDER,
        create_masked_load=checked_load,
        create_masked_store=checked_store,
        create_atomic_rmw=checked_atomic,
    ):
        yield


class Counted(TorchDispatchMode):
    """What happened meanwhile: kernel launches, torch operations, and read-backs to the host.

    Read-backs are methods that would wait for a GPU; what the interpreter itself does to run a
    launch is not counted.
    """

    READ_BACKS = ("item", "tolist", "cpu", "numpy", "nonzero", "unique", "masked_select")
    WAITING_OPERATIONS = ("_local_scalar_dense", "nonzero", "masked_select", "unique")

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[str] = []
        self.operations: list[str] = []
        self.read_backs: list[str] = []
        self._patches = contextlib.ExitStack()
        self._launching = False

    def __enter__(self) -> Counted:
        stock = interpreter.GridExecutor.__call__

        def call(executor: Any, *arguments: Any, **keywords: Any) -> None:
            self.launches.append(executor.fn.__name__)
            self._launching = True
            try:
                with _disable_current_modes():
                    stock(executor, *arguments, **keywords)
            finally:
                self._launching = False

        self._patches.enter_context(replaced(interpreter.GridExecutor, __call__=call))
        methods = {name: self._noting(name) for name in self.READ_BACKS}
        self._patches.enter_context(replaced(torch.Tensor, **methods))
        super().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        super().__exit__(*failure)
        self._patches.close()

    def _noting(self, name: str) -> Callable[..., Any]:
        stock = getattr(torch.Tensor, name)

        def noted(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
            if not self._launching:
                self.read_backs.append(name)
            return stock(tensor, *arguments, **keywords)

        return noted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.operations.append(name)
        mask = name.startswith("index") and any(
            isinstance(part, torch.Tensor) and part.dtype == torch.bool
            for part in (args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else ())
        )
        if mask or name.startswith(self.WAITING_OPERATIONS):
            self.read_backs.append(name)
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def arguments_checked() -> Iterator[None]:
    """Every element that a launch touches must lie within one of its own tensor arguments."""
    stock = interpreter.GridExecutor.__call__

    def call(self: Any, *arguments: Any, **keywords: Any) -> None:
        given = [x for x in (*arguments, *keywords.values()) if isinstance(x, torch.Tensor)]
        with bounds_checked(*given):
            stock(self, *arguments, **keywords)

    with replaced(interpreter.GridExecutor, __call__=call):
        yield


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """Fresh tensors hold the largest integer instead of what the memory held."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
