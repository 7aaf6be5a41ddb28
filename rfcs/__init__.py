"""RFC-0001, the normative text of the contract, and the tools that keep it true.

`obligations` reads it as data, `check` finds what is wrong with it and with what cites it, and
`render`, `coverage` and `cite` write it down for readers. Nothing here imports an allocator or runs
a test.
"""
