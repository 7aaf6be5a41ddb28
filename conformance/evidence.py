"""Puts a run's findings into the report folder: report.*, and a vector for every failure.

Versions and the device are read here; nothing is run again.
"""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from ownerlanes.conformance.check import Check
from ownerlanes.conformance.operations import history_from_json
from ownerlanes.conformance.preflight import probe_layout, probe_request
from ownerlanes.conformance.protocol import Candidate
from ownerlanes.conformance.report import model
from ownerlanes.conformance.report.write import write_report
from ownerlanes.conformance.vectors.record import record
from ownerlanes.conformance.vectors.store import write_file

PACKAGES = ("ownerlanes", "torch", "triton", "numpy", "hypothesis", "pytest")


def write_evidence(check: Check, directory: Path) -> None:
    """Write report.json, report.md, report.html and failures/*.jsonl for `vectors check`."""
    write_report(report(check), directory, check.rfc)
    failed = [finding for finding in check.findings.failed if finding.history is not None]
    for number, finding in enumerate(failed, 1):
        assert finding.history is not None
        cited = finding.broken or finding.cited[0]
        name = f"{number:02d}-{cited.partition(':')[2].replace('/', '-')}"
        vector = record(history_from_json(finding.history), name, f"found by {finding.test}")
        folder = directory / "failures"
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / f"{name}.jsonl", [vector])


def report(check: Check) -> model.Report:
    """The run as a report."""
    rows = check.findings.evidence(check.rfc)
    return model.Report(
        rfc=model.RfcVersion(check.rfc.id, check.rfc.version, check.rfc.sha256),
        versions=versions(),
        seed=check.seed,
        profile=check.profile.name,
        candidate=candidate(check.candidate),
        obligations=rows,
        verdict=model.verdict(rows),
        started=check.started,
        seconds=round(check.seconds, 1),
        message=message(check),
    )


def message(check: Check) -> str:
    """What the rows do not say: known failures, and time that was over."""
    lines = [
        f"known failure: {entry.id} ({entry.reason}; {entry.reference})" for entry in check.ledger
    ]
    lines += check.complaints[1]
    if check.findings.ran_out_of_time:
        lines.append("the time limit was reached before every test had run")
    return "\n".join(lines)


def versions() -> dict[str, str]:
    """Of everything that matters and is installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def candidate(checked: Candidate) -> model.Candidate:
    """Who was checked, and where it ran."""
    allocator = checked.make(probe_layout(checked.capabilities))
    given = allocator.alloc_extend([probe_request(checked.capabilities)])
    kind = type(allocator)
    return model.Candidate(
        checked.name,
        f"{kind.__module__}.{kind.__qualname__}",
        device_of(given.out_cache_loc),
        checked.capabilities.as_json(),
    )


def device_of(slots: Any) -> str:
    """Where an allocator's slots live."""
    device = getattr(slots, "device", None)
    kind = getattr(device, "type", None)
    if kind is None:
        return "not a device allocator"
    if kind == "cuda":
        import torch

        return f"cuda: {torch.cuda.get_device_name(device)}"
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return f"{kind}, Triton interpreter" if interpreted else str(kind)
