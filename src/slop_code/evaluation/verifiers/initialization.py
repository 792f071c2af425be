"""From a problem's configuration to a verifier that can be called."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.loaders.initialization import place_of_class
from slop_code.evaluation.scripts import ScriptError, ScriptFolder, is_ctrl_c, script_folder
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.models import VerifierProtocol
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig

DEFAULT_SCRIPT = "verifier.py"
_DEFAULT_NAME = "Verifier"
_KEYWORDS = ("group_name", "case_name", "actual", "expected")


def initialize_verifier(problem: ProblemConfig, checkpoint: CheckpointConfig) -> VerifierProtocol:
    """Make the problem's verifier for one checkpoint; without a `verifier.py`, the ready one.

    Raises:
        VerifierError: the script is missing or broken, has no verifier class, or its constructor raises.
    """
    script = verifier_script(problem)
    if script is None:
        return ReadyVerifier(checkpoint)
    folder = script_folder(script.parent)
    folder.refresh()
    with author_code(folder):
        try:
            module = folder.load(script.name)
        except ScriptError as error:
            raise VerifierError(f"the verifier cannot be imported: {error}") from error
        verifier_class = _find_class(module, script, problem.verifier_entrypoint)
        verifier: VerifierProtocol = _construct(verifier_class, checkpoint, folder)
        _check_call(verifier)
    return verifier


def verifier_script(problem: ProblemConfig) -> Path | None:
    """The verifier's script, or None for the ready verifier."""
    path = problem.path / (problem.verifier_script or DEFAULT_SCRIPT)
    if path.is_file():
        return path
    if problem.verifier_script:
        raise VerifierError(f'{shown_path(path)}: the script that "verifier_script" names is missing')
    if problem.verifier_entrypoint:
        raise VerifierError(
            f'{shown_path(path)}: the verifier script is missing, and "verifier_entrypoint" names a class of it; '
            "write it, or remove that key to use the ready verifier"
        )
    return None


def verifier_folder(problem: ProblemConfig) -> ScriptFolder | None:
    """The folder whose code the verifier is, or None for the ready verifier."""
    script = verifier_script(problem)
    return None if script is None else script_folder(script.parent)


def _find_class(module: ModuleType, script: Path, entrypoint: str | None) -> Any:
    name = entrypoint or _DEFAULT_NAME
    found = getattr(module, name, None)
    if inspect.isclass(found):
        return found
    if callable(found):
        raise VerifierError(
            f'{shown_path(script)}: the verifier "{name}" is a function, but verifiers are classes. Put it into one:\n'
            "    class Verifier:\n"
            "        def __init__(self, checkpoint_config): ...\n"
            f"        def __call__(self, {', '.join(_KEYWORDS)}): ..."
        )
    defined = _defined_classes(module)
    if entrypoint:
        raise VerifierError(
            f'{shown_path(script)}: "verifier_entrypoint" names "{name}"{did_you_mean(name, defined)}, '
            f"which the script does not have (it defines {listed(defined)})"
        )
    suited = [cls for cls in dict.fromkeys(defined.values()) if _satisfies_protocol(cls)]
    if len(suited) == 1:
        return suited[0]
    if suited:
        raise VerifierError(
            f"{shown_path(script)}: {listed(cls.__name__ for cls in suited)} could each be the verifier: "
            'name one of them Verifier, or set "verifier_entrypoint"'
        )
    raise VerifierError(
        f"{shown_path(script)}: no verifier class: define Verifier, or name yours with "
        f'"verifier_entrypoint" (the script defines {listed(defined)})'
    )


def _defined_classes(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    }


def _satisfies_protocol(cls: Any) -> bool:
    """Whether it can be made with a checkpoint, and then called with our four keywords."""
    call = inspect.getattr_static(cls, "__call__", None)
    if not inspect.isfunction(call) or inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
        return False
    return _accepts(cls, None) and _accepts(call, None, **dict.fromkeys(_KEYWORDS))


def _construct(verifier_class: Any, checkpoint: CheckpointConfig, folder: ScriptFolder) -> Any:
    try:
        return verifier_class(checkpoint)
    except BaseException as error:  # SystemExit and its like must not end the run
        if is_ctrl_c(error):
            raise
        place = folder.place_of(error)
        # Without a line of the author's, the call itself does not fit: then the place is the class.
        where = "" if "\n" in place else place_of_class(verifier_class, "__init__")
        raise VerifierError(f"the verifier cannot be made: {where}{place}") from error


def _check_call(verifier: Any) -> None:
    name = type(verifier).__name__
    keywords = ", ".join(_KEYWORDS)
    if not callable(verifier):
        raise VerifierError(
            f'{place_of_class(type(verifier))}the verifier "{name}" has no __call__: it is called with {keywords}'
        )
    if not _accepts(verifier, **dict.fromkeys(_KEYWORDS)):
        raise VerifierError(
            f'{place_of_class(type(verifier), "__call__")}the verifier "{name}" cannot be called: it is given the '
            f"keywords {keywords}, and its __call__ takes {inspect.signature(verifier)}"
        )


def _accepts(function: Any, *args: Any, **keywords: Any) -> bool:
    try:
        # A decorator's own signature is the one that is called.
        inspect.signature(function, follow_wrapped=False).bind(*args, **keywords)
    except TypeError:
        return False
    except ValueError:  # nothing is known about it, so trying is the only way
        return True
    return True
