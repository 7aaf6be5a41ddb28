"""Compiles kernels for GPUs that this machine need not have.

The interpreter accepts more than the compiler does. Under TRITON_INTERPRET a kernel cannot be
compiled, so the work is done by this file as a program of its own, without that variable; what
comes back says which binary each target got and what it uses, never how fast it would be.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
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
    warps: int = 4


class Usage(NamedTuple):
    """What a binary uses a thread; None where no tool that ships with Triton can tell."""

    architecture: str
    registers: int | None
    spilled_bytes: int | None


def compile_everywhere(kernels: list[Kernel], folder: Path) -> list[list[Usage]]:
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
    return [[Usage(*usage) for usage in compiled] for compiled in json.loads(done.stdout)]


def _compile(kernel: Kernel) -> list[Usage]:
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(import_module(kernel.module), kernel.name)
    constants: dict[str, Any] = kernel.constants
    signature = kernel.signature | dict.fromkeys(constants, "constexpr")
    aligned = [["tt.divisibility", 16]]  # as torch's allocations are
    attributes = {
        (place,): aligned for place, kind in enumerate(signature.values()) if kind.startswith("*")
    }
    compiled = []
    for backend, architecture, warp in TARGETS:
        result = compile_kernel(
            ASTSource(function, signature, constexprs=constants, attrs=attributes),
            target=GPUTarget(backend, architecture, warp),
            options={"num_warps": kernel.warps},
        )
        use = _use_of_cubin if backend == "cuda" else _use_of_assembly
        if result.asm["cubin" if backend == "cuda" else "hsaco"]:
            compiled.append(Usage(str(architecture), *use(result.asm)))
    return compiled


def _use_of_cubin(asm: dict[str, Any]) -> tuple[int | None, int | None]:
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    if not tool.exists():
        return None, None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(asm["cubin"])
        file.flush()
        done = subprocess.run(
            [tool, "-res-usage", file.name], check=True, capture_output=True, text=True
        )
    used = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", done.stdout))
    return int(used["REG"]), int(used["STACK"]) + int(used["LOCAL"])


def _use_of_assembly(asm: dict[str, Any]) -> tuple[int | None, int | None]:
    used = dict(re.findall(r"\.(vgpr_count|vgpr_spill_count):\s+(\d+)", asm["amdgcn"]))
    return int(used["vgpr_count"]), 4 * int(used["vgpr_spill_count"])


if __name__ == "__main__":
    json.dump([_compile(Kernel(*kernel)) for kernel in json.load(sys.stdin)], sys.stdout)
