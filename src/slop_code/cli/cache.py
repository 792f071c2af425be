"""`slop-code cache`: what prepared submissions take, and getting rid of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from slop_code.cli.console import note, table

app = typer.Typer(help="Show and clear the cache of prepared submissions.", no_args_is_help=True)


@app.command("ls")
def list_images() -> None:
    """List the prepared submissions, the one used longest ago first."""
    from slop_code.execution.cache import cache_folder, cached_images

    images = cached_images(cache_folder())
    rows = [
        [
            image.folder.name,
            _size(image.size),
            f"{datetime.fromtimestamp(image.used):%Y-%m-%d %H:%M}" if image.complete else "half-made",
        ]
        for image in images
    ]
    if rows:
        typer.echo(table(["image", "size", "last used"], rows))
    note(f"{len(images)} {'image' if len(images) == 1 else 'images'}, {_size(sum(image.size for image in images))}")


@app.command("clear")
def clear(
    keep_mb: Annotated[int, typer.Option(help="Keep as much as this, what was used last.", min=0)] = 0,
) -> None:
    """Remove prepared submissions that nobody uses at the moment; they are made again when they are needed."""
    from slop_code.execution.cache import cache_folder, clear_cache

    removed = clear_cache(cache_folder(), keep_bytes=keep_mb << 20)
    freed = _size(sum(image.size for image in removed))
    note(f"removed {len(removed)} {'image' if len(removed) == 1 else 'images'}, {freed}")


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MB"
