"""Every block of the loader guide works as printed, once what it leaves out is filled in.

The guide stands beside the checkout; where it does not, these tests are skipped and `tests/docs` covers our own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from tests import warm
from tests.conftest import MINIMAL, MakeProblem
from tests.markdown import Block, blocks

GUIDE = Path(__file__).parents[3] / "shared" / "seeds" / "loaders.md"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="the seed guides are not beside this checkout")
BLOCKS = blocks(GUIDE) if GUIDE.exists() else []

# The imports that neighbouring blocks of the guide show, and the helpers that it leaves undefined.
PRELUDE = """
import csv, itertools, json, random, yaml
from collections.abc import Generator
from pathlib import Path
from typing import Protocol, runtime_checkable
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.config import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.loaders.helpers import get_files_from_globs
from slop_code.evaluation.loaders.loader_protocol import BaseLoader, CaseStore, LoaderYieldType, NoOpStore

def _pairs(prefix, count=3):
    for n in range(count):
        yield BaseCase(name=f"{prefix}_{n}", tags=["even"] if n % 2 == 0 else ["odd"], priority=n), CaseResult(output=str(n))

def generate_smoke_tests(): return _pairs("smoke", 1)
def generate_all_tests(): return _pairs("all", 5)
def generate_standard_tests(): return _pairs("standard", 2)
def generate_all_cases(): return _pairs("case", 4)
def generate_all_possible_cases(): return _pairs("possible", 200)
def generate_cases(): return _pairs("made", 3)
def generate_raw_cases(): return [case for case, _ in _pairs("raw", 2)]
def generate_expected(case): return CaseResult(output="x")
def get_fallback_cases(): return []
username, role, i = "ann", "admin", 0
cases = list(_pairs("migrated", 2))
"""

CASE_FILES = {
    "checkpoint_1/core/one.yaml": "name: one\narguments: [a]\nexpected: {output: x, status_code: 0}\n",
    "checkpoint_1/core/two.yml": "name: two\ndescription: d\nexpected: {output: y, status_code: 1}\n",
    "checkpoint_1/core/deep/three.yaml": "name: three\nexpected: {status_code: 0}\n",
}

# The first line of what distinguishes each loader block -> the ids that it gives on the small problem.
LOADERS: dict[str, tuple[str, Any]] = {
    "BaseLoader Class": ("initialize_store", []),
    "Basic Custom Loader": ("Generate simple test cases", [f"test_multiply_{n}" for n in range(10)]),
    "Example 1: Data-Driven Tests": (
        "Load test cases from CSV",
        ["test_add_positive", "test_add_negative", "test_multiply"],
    ),
    "Example 2: Combinatorial Testing": ("combinatorial", 75),
    "Example 3: JSON Test Data": ("Load test cases from JSON", ["test_simple", "test_complex"]),
    "Example 4: File-Based Discovery Loader": ("Discover and load YAML", ["one", "two"]),
    "Example 5: Parametrized Tests": ("parametrized", ["create_user_alice", "create_user_bob", "create_user_charlie"]),
    "Example 6: Random/Fuzz Testing": ("fuzz", 100),
    "Pattern 1: Conditional Case Generation": ("test_mode", ["smoke_0"]),
    "Pattern 2: Case Store for State Management": (
        "StatefulStore",
        [f"create_resource_{n}" for n in range(5)] + ["cleanup_resources"],
    ),
    "Pattern 3: Filtering Cases": ("filters", ["case_2"]),
    "Pattern 4: Hierarchical Case Organization": ("hierarchical", ["three", "one", "two"]),
    "Pitfall 1: Large Number of Cases": ("num_cases", 7),
    "Pitfall 2: Non-Deterministic Generation": ("random.seed", []),
    "Pitfall 3: Missing Case Validation": ("CaseSchema", ["raw_0", "raw_1"]),
    "Pitfall 4: Incorrect Store Usage": ("generate_cases", ["made_0", "made_1", "made_2"]),
    "Function-based to Class-based Loaders": ("for case, expected in cases", ["migrated_0", "migrated_1"]),
}


def is_loader(block: Block) -> bool:
    return block.language == "python" and "class GroupLoader(BaseLoader)" in block.text


def load(folder: Path) -> list[tuple[Any, Any]]:
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = problem.checkpoints["checkpoint_1"]
    loader = initialize_loader(problem, checkpoint)
    store = make_store(loader, problem, checkpoint)
    pairs = []
    for case, expected in iterate_cases(loader, problem, checkpoint, checkpoint.groups["core"], store):
        store.update(case, expected.model_copy(update={"output": f"resource_id {case.id}"}), expected)
        pairs.append((case, expected))
    return pairs


@pytest.mark.parametrize("block", [pytest.param(b, id=f"line {b.line}") for b in BLOCKS if is_loader(b)])
def test_every_loader_of_the_guide_yields_its_cases(block: Block, make_problem: MakeProblem) -> None:
    mark, expected = LOADERS[block.heading]
    assert mark in block.text
    csv_text = next(b.text for b in BLOCKS if b.language == "csv")
    json_text = next(b.text for b in BLOCKS if b.language == "json")
    script = block.text.replace("        # Your loader implementation\n        ...", "        yield from ()")
    if block.heading == "Pitfall 2: Non-Deterministic Generation":
        script += "        yield from ()\n"
    body = {"groups": {"core": {"type": "Core", "filters": {"tags": ["even"], "priority": 1}, "num_cases": 7}}}
    folder = make_problem(
        {
            "loader_script": "group_loader.py",
            "checkpoints": {"checkpoint_1": {**body, "test_mode": "smoke", "seed": 1}},
        },
        {
            "group_loader.py": PRELUDE + script,
            "checkpoint_1/test_data.csv": csv_text,
            "checkpoint_1/test_cases.json": json_text,
            **CASE_FILES,
        },
    )
    pairs = load(folder)
    ids = [case.id for case, _ in pairs]
    assert ids == expected if isinstance(expected, list) else len(ids) == expected
    assert all(case.group == "core" and case.group_type == "Core" for case, _ in pairs)
    if block.heading.startswith("Pattern 2"):
        assert pairs[-1][0].arguments == ["cleanup", *(f"resource_id {name}" for name in ids[:-1])]


def test_every_loader_block_is_covered() -> None:
    assert {block.heading for block in BLOCKS if is_loader(block)} == LOADERS.keys()


@pytest.mark.parametrize(
    "block", [pytest.param(b, id=f"line {b.line}") for b in BLOCKS if b.language == "python" and not is_loader(b)]
)
def test_every_other_python_block_runs(block: Block, make_problem: MakeProblem) -> None:
    config = {"loader_script": "group_loader.py", "checkpoints": {"checkpoint_1": {"groups": {"core": {}}}}}
    loader = next(b for b in BLOCKS if b.heading == "Example 4: File-Based Discovery Loader" and is_loader(b))
    given = loader.text.replace('name=case_data["name"],', 'name=case_data["name"], group=group.name,')
    folder = make_problem(config, {"group_loader.py": given, **CASE_FILES}, name="problems/my_problem")
    root = folder.parents[1]
    (root / "test_cases").mkdir()
    before = (
        "from unittest.mock import Mock\nproblem_config = Mock(); group_config = Mock(group_files=[]); checkpoint_dir = Path()\n"
        "group_config.name = 'core'\ncheckpoint_config = Mock(path=Path('problems/my_problem/checkpoint_1'))\n"
    )
    if "from group_loader import" in block.text:
        (folder / "test_loader.py").write_text(block.text)
        command = [sys.executable, str(folder / "test_loader.py")]
    else:
        command = [*warm.python(), PRELUDE + before + block.text]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [pytest.param(b, id=f"line {b.line}") for b in BLOCKS if b.language == "yaml"])
def test_every_yaml_block_is_a_configuration_or_a_case(block: Block, make_problem: MakeProblem) -> None:
    data = yaml.safe_load(block.text)
    if "expected" in data:
        folder = make_problem(
            {"loader_script": "builtin:files", "checkpoints": {"checkpoint_1": {"groups": {"core": {}}}}},
            {"checkpoint_1/core/case_1.yaml": block.text},
        )
        ((case, expected),) = load(folder)
        assert (case.id, case.arguments) == (data["name"], data["arguments"])
        assert expected.output == data["expected"]["output"]
        return
    head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in MINIMAL.items())
    problem = ProblemConfig.from_yaml(make_problem(head + block.text))
    assert problem.get("loader_script") == data.get("loader_script", "loader.py")
    assert list(problem.checkpoints) == list(data.get("checkpoints", {}))
