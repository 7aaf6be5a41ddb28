"""RFC-0001, the normative text of the contract, and the tools that keep it true."""
