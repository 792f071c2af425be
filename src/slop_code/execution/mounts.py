"""What a sandboxed program sees, as mounts for bubblewrap.

/workspace                  its files, writable
/home/submission, /tmp      private and writable
/tools, /assets             prepared tools and the problem's assets, read-only
/usr, /bin, /lib*, /opt     this machine's system, read-only; of /etc only what programs need
/proc, /dev                 its own; /dev/shm in memory, no larger than its memory may be
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from slop_code.execution.bubblewrap import takes_size
from slop_code.execution.session import Layout
from slop_code.execution.system_etc import system_etc
from slop_code.execution.workspace import Template

# The words of one mount, or of what it is mounted on; the last one is the place.
Mount = tuple[str, ...]

LAYOUT = Layout(workspace="/workspace", home="/home/submission", tmp="/tmp", tools="/tools", assets="/assets")  # noqa: S108
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt")
# bubblewrap's words for what programs can write to, or keep something in.
_WRITABLE = {"--bind", "--proc", "--dev", "--tmpfs"}
_GIVEN = (Path("/"), Path("/etc"), Path("/home"))


def arguments(mounts: Iterable[Mount], root: str = "") -> list[str]:
    """The arguments of bubblewrap that make the mounts below `root`."""
    return [word for mount in mounts for word in (*mount[:-1], f"{root}{mount[-1]}")]


def whole(mounts: Sequence[Mount]) -> list[str]:
    """The arguments that make all the mounts and nothing else to write to."""
    return arguments([*mounts, _READ_ONLY_DEV, _READ_ONLY_ROOT])


def prepared_once(mounts: Sequence[Mount], root: Path) -> tuple[list[str], list[str]]:
    """The arguments that mount what programs cannot write to on `root`, and those that make a sandbox from there.

    Both together do what `whole` does; but to mount one folder with everything that is mounted in it takes far less
    time than to mount everything, and the rest need not be done for each command.
    """
    lasting: list[Mount] = []
    fresh: list[Mount] = []
    for mount in mounts:
        place = mount[-1]
        meets_fresh = any(_is_within(place, other[-1]) or _is_within(other[-1], place) for other in fresh)
        (fresh if meets_fresh or not _WRITABLE.isdisjoint(mount) else lasting).append(mount)
    points = folders(*(mount[-1] for mount in fresh if not _WRITABLE.isdisjoint(mount)))
    outside = ["--dev-bind", "/", "/", "--tmpfs", str(root)]
    outside += arguments([*lasting, *points, _READ_ONLY_ROOT], str(root))
    return outside, ["--ro-bind", str(root), "/", *arguments([*fresh, _READ_ONLY_DEV])]


def system_mounts(folder: Path, tools_folder: Path, assets: Path | None, *, network: bool) -> list[Mount]:
    """What every sandbox over a session's folder has."""
    mounts = folders("/home")
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            mounts.append(("--symlink", os.readlink(path), str(path)))  # noqa: PTH115
        elif path.is_dir():
            mounts.append(("--ro-bind", str(path), str(path)))
    if network:
        mounts.append(("--ro-bind", "/etc", "/etc"))
    else:
        mounts.append(("--ro-bind", str(system_etc()), "/etc"))
        for name, text in _account_files(folder).items():
            (folder / name).write_text(text)
            mounts.append(("--ro-bind", str(folder / name), f"/etc/{name}"))
    mounts += [("--proc", "/proc"), ("--dev", "/dev")]
    mounts += [("--bind", str(folder / "tmp"), LAYOUT.tmp), ("--bind", str(folder / "home"), LAYOUT.home)]
    mounts.append(("--bind", str(folder / "workspace"), LAYOUT.workspace))
    mounts.append(("--bind" if network else "--ro-bind", str(tools_folder), LAYOUT.tools))
    if assets is not None:
        mounts.append(("--ro-bind", str(assets), LAYOUT.assets))
    return mounts


def read_only(paths: Sequence[Path]) -> list[Mount]:
    """Mounts that show `paths` inside, read-only, where they are; what is missing or visible anyway is left out."""
    mounts: list[Mount] = []
    for path in dict.fromkeys(paths):
        visible = any(path.is_relative_to(root) for root in SYSTEM)
        if path.exists() and not visible:
            # bubblewrap makes missing parents for root's eyes only.
            mounts += folders(*(str(parent) for parent in reversed(path.parents) if parent not in _GIVEN))
            mounts.append(("--ro-bind", str(path), str(path)))
    return mounts


def uv_mount(uv: Path | None) -> list[Mount]:
    """uv among the prepared tools, where preparation has left a place for it."""
    return [("--ro-bind", str(uv), f"{LAYOUT.tools}/bin/uv")] if uv is not None else []


def shared_folders(template: Template) -> list[Mount]:
    """The folders of the workspace that are the same for all cases, and that nobody can change."""
    return [
        ("--ro-bind", str(template.folder / name), f"{LAYOUT.workspace}/{name}") for name in sorted(template.shared)
    ]


def shared_memory(limit: int | None) -> Mount:
    """A /dev/shm that takes no more than the program's memory may; by itself it could be half of this machine's."""
    size = ("--size", str(limit)) if limit is not None and takes_size() else ()
    return ("--perms", "1777", *size, "--tmpfs", "/dev/shm")  # noqa: S108


def folders(*paths: str) -> list[Mount]:
    """Folders that everybody can enter, to mount things on."""
    return [("--perms", "0755", "--dir", path) for path in paths]


# What bubblewrap made in memory to mount things on; without this, a program that owns it could fill it.
_READ_ONLY_DEV: Mount = ("--remount-ro", "/dev")
_READ_ONLY_ROOT: Mount = ("--remount-ro", "/")


def _is_within(place: str, upper: str) -> bool:
    return PurePosixPath(place).is_relative_to(upper)


def _account_files(folder: Path) -> dict[str, str]:
    status = (folder / "workspace").stat()
    return {
        "passwd": f"user:x:{status.st_uid}:{status.st_gid}::{LAYOUT.home}:/bin/sh\n",
        "group": f"user:x:{status.st_gid}:\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    }
