"""How many cores a process may use: its affinity, and the quota of the control groups that it is in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slop_code.execution import cores
from slop_code.execution.cores import available_cores, cpu_quota


def machine(root: Path, membership: str, quotas: dict[str, str]) -> tuple[Path, Path]:
    (root / "membership").write_text(membership)
    for name, text in quotas.items():
        path = root / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "cgroup", root / "membership"


@pytest.mark.parametrize(
    ("membership", "quotas", "expected"),
    [
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/a\n", {"b/cpu.max": "100000 100000"}, None),
        ("4:cpu,cpuacct:/x\n", {"cpu,cpuacct/x/cpu.cfs_quota_us": "300000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000"}, 3.0),
        ("4:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, None),
        ("4:memory:/x\n", {"memory/x/cpu.cfs_quota_us": "100000", "memory/x/cpu.cfs_period_us": "100000"}, None),
        ("0::/a\n", {"a/cpu.max": "nonsense"}, None),
    ],
)  # fmt: skip
def test_the_least_quota_counts(
    tmp_path: Path, membership: str, quotas: dict[str, str], expected: float | None
) -> None:
    assert cpu_quota(*machine(tmp_path, membership, quotas)) == expected


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path, tmp_path / "missing") is None


@pytest.mark.parametrize(("quota", "expected"), [(None, 8), (0.2, 1), (1.5, 2), (64.0, 8)])
def test_a_quota_is_rounded_up_and_never_more_than_the_affinity(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    assert available_cores() == expected


def test_a_process_that_is_kept_to_one_core_has_one() -> None:
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from slop_code.execution.cores import available_cores; print(available_cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
