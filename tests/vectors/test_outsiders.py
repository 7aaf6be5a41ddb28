"""The adapter of SGLang's published pool: on a double of its interface, and on the wheel itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from ownerlanes.conformance.outsiders import __main__ as outsiders
from ownerlanes.conformance.outsiders import sglang_pool
from ownerlanes.conformance.protocol import CouldNotRunError, candidate_from
from ownerlanes.conformance.report import load_report
from ownerlanes.conformance.vectors.check import Verdict, check
from ownerlanes.reference import ExtendRequest, LaneLayout, ReferenceAllocator, RoundRobinPages

INSTALLED = importlib.util.find_spec("sglang") is not None


class Double:
    """The published interface on top of the oracle, as its docstrings state it."""

    def __init__(self, size: int, physical_page_size: int, shard_size: int, **others: Any) -> None:
        self.layout = LaneLayout(shard_size, physical_page_size, size // physical_page_size + 1)
        self.oracle = ReferenceAllocator(self.layout)

    def alloc_extend(self, prefix_lens_cpu: Any, seq_lens_cpu: Any, **others: Any) -> Any:
        import torch

        bases = others["rotation_bases"]
        assert others["extend_num_tokens"] == int((seq_lens_cpu - prefix_lens_cpu).sum())
        try:
            given = self.oracle.alloc_extend(
                [
                    ExtendRequest(int(prefix), int(length), RoundRobinPages(), phase=base)
                    for prefix, length, base in zip(
                        prefix_lens_cpu, seq_lens_cpu, bases, strict=True
                    )
                ]
            )
        except Exception:
            return None
        bases[:] = given.phases
        return torch.tensor(given.out_cache_loc, dtype=torch.int64)

    def free(self, slots: Any) -> None:
        self.oracle.free(slots.tolist())

    def clear(self) -> None:
        self.oracle.clear()

    def class_free_page_counts(self) -> list[int]:
        return list(self.oracle.available_pages())

    def get_all_free_pages(self) -> Any:
        import torch

        free = self.oracle.snapshot().free
        pages = [self.layout.page(lane, local) for lane, row in enumerate(free) for local in row]
        return torch.tensor(pages[::-1], dtype=torch.int64)


class Rotated(Double):
    """A fault of that interface: rotation bases are taken one too far."""

    def alloc_extend(self, prefix_lens_cpu: Any, seq_lens_cpu: Any, **others: Any) -> Any:
        bases = list(others["rotation_bases"])
        moved = [None if b is None else (b + 1) % self.layout.num_lanes for b in bases]
        slots = super().alloc_extend(
            prefix_lens_cpu, seq_lens_cpu, **{**others, "rotation_bases": moved}
        )
        others["rotation_bases"][:] = [
            m if b is None else b for b, m in zip(bases, moved, strict=True)
        ]
        return slots


def _verdict(published: type[Double], monkeypatch: pytest.MonkeyPatch) -> Verdict:
    monkeypatch.setattr(sglang_pool, "published_class", lambda: published)
    monkeypatch.setattr(outsiders, "ROUNDS", 2)
    candidate = candidate_from(sglang_pool.PageInterleaveCandidate, "double")
    verdict = Verdict()
    check(outsiders.asked(candidate), candidate, verdict)
    return verdict


def test_adapter_puts_no_fault_of_its_own_before_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = _verdict(Double, monkeypatch)
    assert [str(difference) for _, difference in verdict.failures] == []
    assert verdict.held["RFC-0001:C-PAGE-OWNERSHIP/4"] > 10
    assert verdict.held["RFC-0001:C-PHASE-SELECTION/3"] > 10
    assert "RFC-0001:C-LANE-EVICTION/3" in verdict.unclaimed


def test_adapter_hides_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = _verdict(Rotated, monkeypatch).failures
    found = [difference.clause for _, difference in failures]
    assert found.count("RFC-0001:C-FLATTENED-ORDER/3") > 10


@pytest.mark.skipif(INSTALLED, reason="sglang is installed here")
def test_without_the_wheel_it_could_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "sglang", raising=False)
    with pytest.raises(CouldNotRunError, match="not installed"):
        sglang_pool.published_class()
    assert outsiders.main([]) == 2
    assert "could not run" in capsys.readouterr().err


@pytest.mark.skipif(not INSTALLED, reason="sglang is not installed: see `nox -s outsiders`")
def test_published_pool_is_reported_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outsiders, "ROUNDS", 2)
    assert outsiders.main([str(tmp_path)]) == 0
    rows = {row.id: row.status for row in load_report(tmp_path / "report.json").obligations}
    assert rows["RFC-0001:C-PAGE-OWNERSHIP/4"] == "passed"
    assert rows["RFC-0001:C-FLATTENED-ORDER/5"] == "not claimed"
