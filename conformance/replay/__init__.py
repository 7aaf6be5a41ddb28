"""Replays a workload through oracle and candidate in lock-step, as an engine would drive them."""
