"""All kernels compile for every GPU family that we name, and none spills registers."""

from __future__ import annotations

from pathlib import Path

from compile_ahead import TARGETS, Kernel, compile_everywhere

from ownerlanes.gpu.kernels_launch import FLAGS_PER_WARP, GPU_SHAPES, TOKENS_PER_WARP
from ownerlanes.gpu.slot_math import layout_constants
from ownerlanes.gpu.state import FLAG_BLOCK
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
        words = {"words_ptr": "*i32", "verdicts_ptr": "*u8", "order": "i64"}
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
        judging = {"NUM_SLOTS": layout.num_slots, "BLOCK": 1024}
        kernels += [
            Kernel(module, "judge_rows", given | {"faults_ptr": "*i64"}, constants | judging),
            Kernel(
                module, "write_rows", given | rows | pool, constants | {"ROWS": 4, "COLUMNS": 1024}
            ),
        ]
    return kernels


def allocation_kernels() -> list[Kernel]:
    module = "ownerlanes.gpu.kernels"
    counts = dict.fromkeys(
        ("num_requests", "num_lanes", "stride", "pages_per_lane", "search_steps"), "i32"
    )
    select = {"flags": "*u8", "pages": "*i64", "parameters": "*i64"} | counts
    sizes = {"LANES": GPU_SHAPES.lanes, "BLOCK": FLAG_BLOCK}
    kernels = [
        Kernel(
            module,
            "select_kernel",
            select,
            {"INTERLEAVED": interleaved, "HAS_LISTED": listed} | sizes,
            FLAG_BLOCK // FLAGS_PER_WARP,
        )
        for interleaved, listed in ((True, True), (False, False))
    ]
    flatten = {"slots": "*i64", "pages": "*i64", "columns": "*i64", "num_requests": "i32"}
    flatten |= {"num_tokens": "i32", "search_steps": "i32"}
    for size, tails, wide in ((64, True, False), (2**40, False, True)):
        constants = {"PAGE_SIZE": size, "HAS_TAILS": tails, "WIDE": wide, "BLOCK": GPU_SHAPES.most}
        warps = GPU_SHAPES.most // TOKENS_PER_WARP
        kernels.append(Kernel(module, "flatten_kernel", flatten, constants, warps))
    asked = {"flags": "*u8", "places": "*i64", "first": "*i64", "count": "i32"}
    kernels.append(Kernel(module, "first_free_kernel", asked, {"BLOCK": GPU_SHAPES.most}))
    return kernels


def test_kernels_compile_for_gpus(tmp_path: Path) -> None:
    kernels = [*allocation_kernels(), *release_kernels(), *direct_write_kernels()]
    used = compile_everywhere(kernels, tmp_path)
    for kernel, usages in zip(kernels, used, strict=True):
        print(kernel.name, kernel.constants)
        for usage in usages:
            print("   ", usage)
    every = [str(architecture) for _, architecture, _ in TARGETS]
    assert [[usage.architecture for usage in usages] for usages in used] == [every] * len(kernels)
    spilling = [
        (kernel.name, usage)
        for kernel, usages in zip(kernels, used, strict=True)
        for usage in usages
        if usage.spilled_bytes
    ]
    assert not spilling
