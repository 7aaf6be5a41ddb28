"""Adapters that put other projects' published allocators before the kit, and the report on them.

An adapter translates calls and declares what the allocator offers; it repairs nothing, hides
nothing, and is never part of a release gate.
"""
