"""Compiles kernels for GPUs that this machine need not have.

The interpreter accepts more than the compiler does. Under TRITON_INTERPRET a kernel cannot be
compiled, so the work is done by this file as a program of its own, without that variable; what
comes back says which binary each target got, never how fast it would be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

TARGETS = (
    ("cuda", 80, 32),
    ("cuda", 90, 32),
    ("cuda", 100, 32),
    ("cuda", 120, 32),
    ("hip", "gfx942", 64),
)


class Kernel(NamedTuple):
    """A kernel and what it is compiled for: `signature` has a Triton type for each argument."""

    module: str
    name: str
    signature: dict[str, str]
    constants: dict[str, int]


def compile_everywhere(kernels: list[Kernel], folder: Path) -> list[list[str]]:
    """The architectures that each kernel has a binary for; fails with the compiler's errors."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_")}
    environment["TRITON_CACHE_DIR"] = str(folder)
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(kernels),
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiled: list[list[str]] = json.loads(done.stdout)
    return compiled


def _compile(kernel: Kernel) -> list[str]:
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(import_module(kernel.module), kernel.name)
    constants: dict[str, Any] = kernel.constants
    signature = kernel.signature | dict.fromkeys(constants, "constexpr")
    compiled = []
    for backend, architecture, warp in TARGETS:
        source = ASTSource(function, signature, constexprs=constants)
        result = compile_kernel(source, target=GPUTarget(backend, architecture, warp))
        if result.asm["cubin" if backend == "cuda" else "hsaco"]:
            compiled.append(str(architecture))
    return compiled


if __name__ == "__main__":
    json.dump([_compile(Kernel(*kernel)) for kernel in json.load(sys.stdin)], sys.stdout)
