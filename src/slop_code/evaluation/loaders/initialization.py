"""From a problem's configuration to a loader that can be called."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.author_code import RandomState, author_code, remember_state
from slop_code.evaluation.loaders.case_files import CaseFileLoader
from slop_code.evaluation.loaders.loader_protocol import BaseLoader, GroupLoader, LoaderError
from slop_code.evaluation.scripts import ScriptError, ScriptFolder, is_ctrl_c, script_folder
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
    importing = RandomState(f"{problem.name}/{script.name}")
    with author_code(folder, importing):
        try:
            module = folder.load(script.name)
        except ScriptError as error:
            raise LoaderError(f"the loader cannot be imported: {error}") from error
        loader_class = _find_class(module, script, problem, checkpoint)
    # A numpy that the script was the first to import cannot be told from one that it seeded.
    importing.forget_numpy()
    making = RandomState(f"{problem.name}/{checkpoint.name}", after=remember_state(module, importing))
    try:
        with author_code(folder, making):
            loader: GroupLoader = _construct(loader_class, problem, checkpoint, use_placeholders)
    except BaseException as error:  # pytest.skip and asyncio's cancellation are no Exception
        if is_ctrl_c(error):
            raise
        raise LoaderError(f"the loader cannot be made: {_placed(error, folder, loader_class)}") from error
    remember_state(loader, making)
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
    path = problem.path / name
    if "loader_script" in problem.model_fields_set:
        if not path.is_file():
            raise LoaderError(f"{shown_path(path)}: the loader script is missing")
        return path
    legacy = [block.path for block in (checkpoint.loader, problem.loader) if block is not None and block.path]
    candidates = [folder / old for old in legacy for folder in (problem.path, Path(checkpoint.path))]
    for candidate in (*candidates, path):
        if candidate.is_file():
            return candidate
    named = f' (and so is {listed(dict.fromkeys(legacy))}, which the "loader" block names)' if legacy else ""
    raise LoaderError(
        f'{shown_path(path)}: the loader script is missing{named}; write it, or set "loader_script" to another '
        f"script, or to {BUILTIN_FILES} for case files"
    )


def author_folder(problem: ProblemConfig, checkpoint: CheckpointConfig) -> ScriptFolder | None:
    """The folder whose code the loader is, or None for the ready loader."""
    script = loader_script(problem, checkpoint)
    return None if script is None else script_folder(script.parent)


def place_of_class(loader_class: Any, method: str = "") -> str:
    """The file and line of a class, or of its `method` if it has one that is written in Python; else nothing."""
    try:
        code = getattr(inspect.unwrap(getattr(loader_class, method)), "__code__", None) if method else None
        if code is not None:
            return f"{shown_path(code.co_filename)}:{code.co_firstlineno}: "
        return f"{shown_path(inspect.getfile(loader_class))}:{inspect.getsourcelines(loader_class)[1]}: "
    except (OSError, TypeError, ValueError, AttributeError):
        return ""


def _placed(error: BaseException, folder: ScriptFolder, loader_class: Any) -> str:
    place = folder.place_of(error)
    # Without a line of the author's, the call itself does not fit: then the place is the class.
    return place if "\n" in place else place_of_class(loader_class, "__init__") + place


def _find_class(module: ModuleType, script: Path, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Any:
    found = _choose_class(module, script, problem, checkpoint)
    if inspect.isabstract(found):
        place = place_of_class(found) or f"{shown_path(script)}: "
        missing = listed(sorted(found.__abstractmethods__))
        raise LoaderError(f'{place}the loader class "{found.__name__}" is abstract: it does not define {missing}')
    return found


def _choose_class(module: ModuleType, script: Path, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Any:
    if problem.loader_entrypoint:
        return _named_class(module, script, problem.loader_entrypoint)
    legacy = checkpoint.loader or problem.loader
    named = _attribute(module, legacy.entrypoint) if legacy is not None and legacy.entrypoint else None
    if _is_loader(named):
        return named
    candidates: list[Any] = [found for name in _DEFAULT_NAMES if _is_loader(found := _attribute(module, name))]
    # A class that the script defines comes before one that it imports.
    candidates.sort(key=lambda found: found.__module__ != module.__name__)
    if candidates:
        return candidates[0]
    function = next((f for f in (named, _attribute(module, "load_cases")) if inspect.isfunction(f)), None)
    if function is not None:
        raise LoaderError(_function_advice(script, function.__name__))
    raise LoaderError(
        f"{shown_path(script)}: no loader class: define GroupLoader or Loader, or name yours with "
        f'"loader_entrypoint" (the script defines {_defined_classes(module)})'
    )


def _named_class(module: ModuleType, script: Path, name: str) -> Any:
    found = _attribute(module, name)
    if inspect.isclass(found):
        return found
    if callable(found):
        raise LoaderError(_function_advice(script, name))
    classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
    raise LoaderError(
        f'{shown_path(script)}: "loader_entrypoint" names "{name}"{did_you_mean(name, classes)}, '
        f"which the script does not have (it defines {_defined_classes(module)})"
    )


def _attribute(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name, None)
    except Exception:  # noqa: BLE001  # the script's own __getattr__
        return None


def _is_loader(found: object) -> bool:
    return inspect.isclass(found) and found not in _NOT_LOADERS and not getattr(found, "_is_protocol", False)


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
    """Call the constructor in whichever form it is written.

    What it takes by our names it is given by name. Its other required parameters are `problem` and `checkpoint` under
    names of the author's, in this order; a single one is the checkpoint, as in the printed protocol.
    """
    offered: dict[str, Any] = {"problem": problem, "checkpoint": checkpoint, "use_placeholders": use_placeholders}
    parameters = _constructor_parameters(loader_class)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    values = {p.name: offered.pop(p.name) for p in parameters if p.name in offered}
    renamed = [p.name for p in positional if p.default is p.empty and p.name not in values]
    left = [name for name in ("problem", "checkpoint") if name in offered]
    values.update((name, offered.pop(ours)) for name, ours in zip(renamed, left[-len(renamed) :], strict=False))
    kinds = {p.kind for p in parameters}
    args = [values.pop(p.name) for p in positional if p.kind is p.POSITIONAL_ONLY and p.name in values]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        values |= offered
    elif inspect.Parameter.VAR_POSITIONAL in kinds and not positional:
        args = [offered[name] for name in left]
    return loader_class(*args, **values)


def _constructor_parameters(loader_class: Any) -> list[inspect.Parameter]:
    if type(loader_class).__call__ is type.__call__:
        return list(inspect.signature(loader_class).parameters.values())
    # A metaclass that passes its arguments on tells nothing about them.
    return list(inspect.signature(loader_class.__init__).parameters.values())[1:]
