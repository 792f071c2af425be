"""Public names that are imported when they are first used.

Importing a package of ours must stay cheap, so its `__init__` declares where each public name
lives and nothing is loaded until somebody asks for it.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for `package`.

    `exports` maps a module (absolute name) to the public names it holds; `submodules` are
    modules of the package that can be read as its attributes.
    """
    home = {name: module for module, names in exports.items() for name in names}
    modules = frozenset(submodules)
    public = sorted(home.keys() | modules)

    def get(name: str) -> Any:
        if name in home:
            return getattr(import_module(home[name]), name)
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return public

    return get, names, public
