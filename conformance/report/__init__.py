"""Evidence: what a conformance run found, obligation by obligation, as JSON, Markdown and HTML.

`model` is the data, `write` puts a report into a folder. Nothing here runs a test or looks at an
allocator.
"""

from ownerlanes.conformance.report.model import (
    Candidate,
    ObligationEvidence,
    Report,
    RfcVersion,
    TestEvidence,
    evidence,
    load_report,
)
from ownerlanes.conformance.report.write import write_report

__all__ = [
    "Candidate",
    "ObligationEvidence",
    "Report",
    "RfcVersion",
    "TestEvidence",
    "evidence",
    "load_report",
    "write_report",
]
