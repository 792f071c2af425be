"""What a command or an author's script does when it first needs something, done before anything is forked.

Each fork would do it again: import a module, or complete a model that waits for its first use. Together that is what many
of the tests' processes would be busy with.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import pkgutil
import sys
from collections.abc import Iterator

from pydantic import BaseModel

import slop_code
from slop_code.evaluation.verifiers import deepdiff_verify

_SCRIPTS_OF_THEIR_OWN = ("warden", "__main__")
# Of other packages: what commands and scripts import when they need it, and most tests' do.
_OTHERS = (
    "difflib",
    "encodings.idna",
    "encodings.utf_8_sig",
    "http.client",
    "importlib.readers",
    "numpy.random",
    "pyarrow.parquet",
    "rich.console",
    "rich.live",
    "structlog",
    "typer._click.decorators",
    "unittest.mock",
    "xml.etree.ElementTree",
)


def import_everything() -> None:
    """Import all of slop-code and what it uses, and leave the garbage collector with nothing to look through."""
    for module in pkgutil.walk_packages(slop_code.__path__, "slop_code."):
        if not module.name.endswith(_SCRIPTS_OF_THEIR_OWN):
            importlib.import_module(module.name)
    for name in _OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    deepdiff_verify(1, 2)  # imports DeepDiff, and not the large packages that it would like to have
    _convert_a_list()
    for model in _models(BaseModel):
        model.model_rebuild()
    keep_what_is_there()


def _convert_a_list() -> None:
    """Have pyarrow convert its first list, for which it imports pandas if it can: the larger part of writing a report.

    Whoever asks it for something of pandas later has it imported then.
    """
    sys.meta_path.insert(0, _WithoutPandas)
    try:
        importlib.import_module("pyarrow").array([1])
    finally:
        sys.meta_path.remove(_WithoutPandas)


class _WithoutPandas:
    """Has nobody import it."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def keep_what_is_there() -> None:
    """What was made by now stays: looking through it again and again takes time, and in forks memory of their own."""
    gc.collect()
    gc.freeze()


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("slop_code."):
            yield model
        yield from _models(model)
