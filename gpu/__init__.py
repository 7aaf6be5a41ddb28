"""The Triton allocator and what engines call."""
