"""The subcommands of `ownerlanes`, one module each; nothing here decides what conforms."""
