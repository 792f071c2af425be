"""From a problem's configuration to a loader that can be called."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.loaders.case_files import CaseFileLoader
from slop_code.evaluation.loaders.loader_protocol import BaseLoader, GroupLoader, LoaderError
from slop_code.evaluation.scripts import ScriptError, ScriptFolder, script_folder
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig

BUILTIN_FILES = "builtin:files"
_DEFAULT_NAMES = ("GroupLoader", "Loader")
_NOT_LOADERS: tuple[object, ...] = (GroupLoader, BaseLoader)


def initialize_loader(
    problem: ProblemConfig, checkpoint: CheckpointConfig, *, use_placeholders: bool = False
) -> GroupLoader:
    """Make the problem's loader for one checkpoint.

    Raises:
        LoaderError: the script is missing or broken, has no loader class, or its constructor raises.
    """
    script = loader_script(problem, checkpoint)
    if script is None:
        return CaseFileLoader(problem, checkpoint, use_placeholders=use_placeholders)
    folder = script_folder(script.parent)
    folder.refresh()
    with author_code(folder):
        try:
            module = folder.load(script.name)
        except ScriptError as error:
            raise LoaderError(f"the loader cannot be imported: {error}") from error
        loader_class = _find_class(module, script, problem, checkpoint)
        try:
            loader: GroupLoader = _construct(loader_class, problem, checkpoint, use_placeholders)
        except (Exception, SystemExit) as error:
            raise LoaderError(f"the loader cannot be made: {folder.place_of(error)}") from error
    return loader


def loader_script(problem: ProblemConfig, checkpoint: CheckpointConfig) -> Path | None:
    """The loader's script, or None for the ready loader of case files."""
    name = problem.loader_script
    if name.startswith("builtin:"):
        if name != BUILTIN_FILES:
            raise LoaderError(
                f'problem "{problem.name}": unknown loader "{name}"{did_you_mean(name, [BUILTIN_FILES])}: '
                f'the ready loader is "{BUILTIN_FILES}"'
            )
        return None
    if "loader_script" not in problem.model_fields_set:
        for legacy in (checkpoint.loader, problem.loader):
            if legacy is not None and legacy.path:
                own = Path(checkpoint.path) / legacy.path
                return own if legacy is checkpoint.loader and own.is_file() else problem.path / legacy.path
    path = problem.path / name
    if not path.is_file():
        hint = ""
        if "loader_script" not in problem.model_fields_set:
            hint = f'; write it, or set "loader_script" to another script, or to {BUILTIN_FILES} for case files'
        raise LoaderError(f"{shown_path(path)}: the loader script is missing{hint}")
    return path


def author_folder(problem: ProblemConfig, checkpoint: CheckpointConfig) -> ScriptFolder | None:
    """The folder whose code the loader is, or None for the ready loader."""
    script = loader_script(problem, checkpoint)
    return None if script is None else script_folder(script.parent)


def _find_class(module: ModuleType, script: Path, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Any:
    if problem.loader_entrypoint:
        return _named_class(module, script, problem.loader_entrypoint)
    legacy = checkpoint.loader or problem.loader
    named = getattr(module, legacy.entrypoint, None) if legacy is not None and legacy.entrypoint else None
    if inspect.isclass(named) and named not in _NOT_LOADERS:
        return named
    candidates = [found for name in _DEFAULT_NAMES if _is_loader(found := getattr(module, name, None))]
    # A class that the script defines comes before one that it imports.
    candidates.sort(key=lambda found: found.__module__ != module.__name__)
    if candidates:
        return candidates[0]
    if inspect.isfunction(named) or inspect.isfunction(getattr(module, "load_cases", None)):
        name = named.__name__ if inspect.isfunction(named) else "load_cases"
        raise LoaderError(_function_advice(script, name))
    raise LoaderError(
        f"{shown_path(script)}: no loader class: define GroupLoader or Loader, or name yours with "
        f'"loader_entrypoint" (the script defines {_defined_classes(module)})'
    )


def _named_class(module: ModuleType, script: Path, name: str) -> Any:
    found = getattr(module, name, None)
    if inspect.isclass(found):
        return found
    if callable(found):
        raise LoaderError(_function_advice(script, name))
    classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
    raise LoaderError(
        f'{shown_path(script)}: "loader_entrypoint" names "{name}"{did_you_mean(name, classes)}, '
        f"which the script does not have (it defines {_defined_classes(module)})"
    )


def _is_loader(found: object) -> bool:
    return inspect.isclass(found) and found not in _NOT_LOADERS


def _defined_classes(module: ModuleType) -> str:
    return listed(
        name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
    )


def _function_advice(script: Path, name: str) -> str:
    return (
        f'{shown_path(script)}: the loader "{name}" is a function, but loaders are classes now. Put it into one:\n'
        "    class Loader(BaseLoader):\n"
        "        def __call__(self, group, store):\n"
        "            ...  # yield (case, expected) for the cases of this group\n"
        "with `from slop_code.evaluation.loaders import BaseLoader`; self.problem and self.checkpoint are there."
    )


def _construct(loader_class: Any, problem: ProblemConfig, checkpoint: CheckpointConfig, use_placeholders: bool) -> Any:
    """Call the constructor in whichever of the two documented forms it is written."""
    offered = {"problem": problem, "checkpoint": checkpoint, "use_placeholders": use_placeholders}
    parameters = inspect.signature(loader_class).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return loader_class(**offered)
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    keywords = {name: value for name, value in offered.items() if name in named}
    needed = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.name not in keywords
    ]
    # Other names for the same two things, in the documented order.
    by_position = [problem, checkpoint] if len(needed) == 2 else [checkpoint][: len(needed)]
    return loader_class(*by_position, **keywords)
