"""Which package may import what, and what works without the heavy dependencies."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest


def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports, at any depth; `from a import b` counts as a.b and a."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found.add(node.module)
    return found


def files(root: Path, package: str) -> list[Path]:
    found = sorted((root / package).rglob("*.py"))
    assert found
    return found


def test_reference_imports_the_standard_library_only(root: Path) -> None:
    for path in files(root, "reference"):
        for module in imported_modules(path):
            top = module.partition(".")[0]
            assert top in sys.stdlib_module_names or module.startswith("ownerlanes.reference"), (
                f"{path} imports {module}"
            )


def test_gpu_imports_the_nouns_of_the_reference_and_nothing_else(root: Path) -> None:
    for path in files(root, "gpu"):
        for module in imported_modules(path):
            if module.startswith("ownerlanes.") and not module.startswith("ownerlanes.gpu"):
                assert module == "ownerlanes.reference.contract", f"{path} imports {module}"


def test_reference_knows_no_other_package(root: Path) -> None:
    for path in files(root, "rfcs"):
        for module in imported_modules(path):
            assert not module.startswith(("ownerlanes.gpu", "ownerlanes.conformance", "torch")), (
                f"{path} imports {module}"
            )


@pytest.mark.parametrize("absent", ["torch", "triton", "numpy", "hypothesis"])
def test_reference_works_without(absent: str, root: Path) -> None:
    """Isolated interpreter, no site-packages: none of the dependencies can be imported."""
    program = f"""
import sys
sys.path.insert(0, {str(root / "src")!r})
try:
    import {absent}
except ImportError:
    pass
else:
    raise SystemExit("{absent} is importable: this test shows nothing")
from ownerlanes.reference import ExtendRequest, LaneLayout, ReferenceAllocator, ZigzagPages
allocator = ReferenceAllocator(LaneLayout(num_lanes=2, page_size=4, pages_per_lane=5))
print(allocator.alloc_extend([ExtendRequest(0, 6, ZigzagPages())]).out_cache_loc)
"""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "(8, 9, 10, 11, 12, 13)\n", "")


def test_typed_packages_say_so(root: Path) -> None:
    for package in ("reference", "gpu", "conformance", "rfcs"):
        assert (root / package / "py.typed").is_file()
        assert (root / "src" / "ownerlanes" / package).resolve() == root / package
