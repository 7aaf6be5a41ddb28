"""Where the Triton kernels run: on a GPU, or in Triton's interpreter on this machine's CPU.

`TRITON_INTERPRET` is read when triton is imported, so prepare_triton() must run before that; it
never overrides what the user has set.
"""

from __future__ import annotations

import os


def prepare_triton() -> str:
    """Set TRITON_INTERPRET=1 where no GPU is found; return the device, "cuda" or "cpu"."""
    import torch

    if torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET", "0") != "1":
        return "cuda"
    os.environ.setdefault("TRITON_INTERPRET", "1")
    return "cpu"
