"""The subcommands of `ownerlanes`, put together; each one lives in its own module of `commands`.

Nothing here imports triton: a command decides first whether the kernels are interpreted.
"""

from __future__ import annotations

import typer

from ownerlanes.conformance.commands import conformance, plan, replay, rfc, vectors

app = typer.Typer(
    name="ownerlanes",
    help="Check owner-lane KV-page allocators against RFC-0001.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("conformance")(conformance.conformance)
app.command("replay")(replay.replay)
app.command("plan")(plan.plan)
app.add_typer(rfc.app, name="rfc")
app.add_typer(vectors.app, name="vectors")
