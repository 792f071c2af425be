"""A group of commands whose modules are imported when one of them is used, so that `--help` need not wait for them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group


class LazyCommand(NamedTuple):
    """A command, or a group of them: `module:name` of a function or of a `typer.Typer`, and its line in the help."""

    target: str
    help: str


class LazyGroup(TyperGroup):
    """Lists the commands of `lazy` by their lines alone, and loads the one that is called."""

    lazy: ClassVar[Mapping[str, LazyCommand]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in self.lazy.items():
            self.commands[name] = TyperCommand(name=name, callback=None, help=command.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.lazy:
            command = load_command(name, self.lazy[name])
        return name, command, rest


def load_command(name: str, command: LazyCommand) -> Any:
    """The command itself."""
    module, _, attribute = command.target.partition(":")
    target = getattr(import_module(module), attribute)
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    holder.callback()(lambda: None)
    if isinstance(target, typer.Typer):
        holder.add_typer(target, name=name)
    else:
        holder.command(name)(target)
    return get_group(holder).commands[name]
