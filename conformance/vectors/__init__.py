"""Language-neutral test vectors, and the pipe by which an engine in any language is checked.

`emit` writes what the oracle answers, `check` holds an allocator to it, `pipe` reaches an engine in
another process. The format is described in docs/vectors.md and by vectors.schema.json. Nothing here
depends on Hypothesis, so that the same seed gives the same bytes anywhere.
"""
