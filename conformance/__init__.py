"""The conformance kit: checks any owner-lane allocator against the reference, clause by clause."""
