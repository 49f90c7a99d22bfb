"""``gradsift playground``: the page to play with, in a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .results import require_place

__all__ = ["playground"]


def playground(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the page to this .html file instead of serving it.")] = None,
) -> None:
    """Play with units, gradients and candidates in the plane; served to this machine only, until Ctrl-C.

    Example: gradsift playground
    """
    from ..playground import make_server, page

    if out is not None:
        from ..files import atomic_writer

        require_place(out, (".html",))
        with atomic_writer(out) as stream:
            stream.write(page())
        typer.echo(f"Written: {out}")
        return
    with make_server(port) as server:
        address = f"http://{server.server_address[0]!s}:{server.server_address[1]}/"
        typer.echo(f"Playground at {address} (Ctrl-C ends it)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("Closed.")
