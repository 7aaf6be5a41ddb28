"""The tests that a candidate has to pass: one module for each clause, and the state machine."""
