"""The kernels of releases and direct writes compile for every GPU family that we name."""

from __future__ import annotations

from pathlib import Path

from compile_ahead import TARGETS, Kernel, compile_everywhere

from ownerlanes.gpu.slot_math import layout_constants
from ownerlanes.reference.contract import LaneLayout

LAYOUTS = (LaneLayout(8, 64, 1000), LaneLayout(3, 2**54, 99, "blocked"))
IDS = ("*i64", "*u8")


def release_kernels() -> list[Kernel]:
    module = "ownerlanes.gpu.release_kernels"
    kernels = []
    for layout, ids in zip(LAYOUTS, IDS, strict=True):
        constants = {**layout_constants(layout), "STRIDE": 1024, "BLOCK": 1024}
        judging = {"NUM_IDS": layout.num_slots, "RESERVED": 1}
        given = {"ids_ptr": ids, "count": "i64", "report_ptr": "*i64", "call": "i64"}
        words = {"words_ptr": "*i32", "verdicts_ptr": "*i64", "order": "i64"}
        kernels += [
            Kernel(module, "judge_release", given | {"flags_ptr": "*u8"}, constants | judging),
            Kernel(module, "apply_release", given | words, constants),
        ]
    return kernels


def direct_write_kernels() -> list[Kernel]:
    module = "ownerlanes.gpu.direct_write_kernels"
    kernels = []
    for layout, ids, element in zip(LAYOUTS, IDS, ("*i16", "*i64"), strict=True):
        constants = dict(layout_constants(layout))
        given = {"slots_ptr": ids, "count": "i64", "lane": "i64"}
        rows = {"rows_ptr": element, "row_stride": "i32", "width": "i32"}
        pool = {"pool_ptr": element, "pool_stride": "i64"}
        judging = {"NUM_SLOTS": layout.num_slots, "BLOCK": 4096}
        kernels += [
            Kernel(module, "judge_rows", given | {"faults_ptr": "*i64"}, constants | judging),
            Kernel(
                module, "write_rows", given | rows | pool, constants | {"ROWS": 4, "COLUMNS": 1024}
            ),
        ]
    return kernels


def test_kernels_compile_for_gpus(tmp_path: Path) -> None:
    kernels = [*release_kernels(), *direct_write_kernels()]
    every = [str(architecture) for _, architecture, _ in TARGETS]
    assert compile_everywhere(kernels, tmp_path) == [every] * len(kernels)
