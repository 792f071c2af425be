"""Every Python block of the verification guide works with our models, and our functions do what its own do.

The guide stands beside the checkout; where it does not, these tests are skipped.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.verifiers import AttributeResult, VerificationResult, VerifierReport, diffs, matching
from tests.markdown import Block, blocks

GUIDE = Path(__file__).parents[3] / "shared" / "seeds" / "verification.md"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="the seed guides are not beside this checkout")
BLOCKS = blocks(GUIDE, "python") if GUIDE.exists() else []

# The imports that neighbouring blocks show.
PRELUDE = """
import json, re, deepdiff
from collections.abc import Generator
from datetime import datetime
from typing import Protocol, runtime_checkable
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from slop_code.evaluation.adapters.models import BaseCase, CaseResult, GroupType
from slop_code.evaluation.config import CheckpointConfig
from slop_code.evaluation.verifiers.models import *
from slop_code.evaluation.verifiers.models import VerificationResult
"""


class Config:
    """A checkpoint without settings of its own."""

    def get(self, name: str, default: Any) -> Any:
        return default


def run(block: Block) -> dict[str, Any]:
    """Execute a block with its `...` filled in, and give what it defined."""
    text = block.text.replace("VerificationResult.create(..., weight", "VerificationResult.create('', True, weight")
    text = text.replace("create(..., is_correct", "create('', is_correct").replace(
        "VerificationResult(..., weight", "VerificationResult(diff='', is_correct=True, weight"
    )
    scope: dict[str, Any] = {"__name__": "__main__" if "unittest.mock" in text else "verifier"}
    exec(compile(f"{PRELUDE}\n", "prelude", "exec"), scope)
    exec(compile("from __future__ import annotations\n" + HELPERS + text, f"{GUIDE.name}:{block.line}", "exec"), scope)
    return scope


HELPERS = """
def calculate_score(results): return sum(r.weight for r in results.values() if r.is_correct)
"""


def defined(name: str) -> Any:
    (block,) = [block for block in BLOCKS if f"def {name}(" in block.text and f"\n    def {name}(" not in block.text]
    return run(block)[name]


def verifier(name: str) -> Any:
    (block,) = [block for block in BLOCKS if f"class {name}:" in block.text]
    return run(block)[name](Config())


def report(judge: Any, actual: CLIResult, expected: CLIResult) -> VerifierReport:
    case = CLICase(id="c", group="g", group_type="Core")
    returned = judge(group_name="g", case_name="c", actual=actual, expected=expected)
    made = VerifierReport.from_verifier_result(case, 0.1, actual, expected, returned)
    assert VerifierReport.from_parquet_row(made.to_parquet_row()) == made
    assert made.warnings == []
    return made


@pytest.mark.parametrize("block", BLOCKS, ids=[f"line {block.line}" for block in BLOCKS])
def test_every_block_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    basic = types.ModuleType("verifier")
    basic.__dict__.update(run(next(block for block in BLOCKS if block.text.startswith("# verifier.py"))))
    monkeypatch.setitem(sys.modules, "verifier", basic)
    assert run(block)


@pytest.mark.parametrize("ours", [VerificationResult, AttributeResult, VerifierReport])
def test_our_models_have_every_field_and_method_of_the_guides(ours: Any) -> None:
    (block,) = [block for block in BLOCKS if block.text.startswith(f"class {ours.__name__}(")]
    guides = run(block)[ours.__name__]
    for name, field in guides.model_fields.items():
        assert (name, ours.model_fields[name].is_required()) == (name, field.is_required())
        assert ours.model_fields[name].get_default() == field.get_default()
    methods = {
        name for name in vars(guides) if not name.startswith("_") and name not in {"model_config", "model_fields"}
    }
    assert {name for name in methods if callable(getattr(guides, name))} <= set(dir(ours))
    if "extra" in guides.model_config:
        assert ours.model_config["extra"] == guides.model_config["extra"] == "forbid"


def test_the_basic_verifier() -> None:
    judge = verifier("Verifier")
    assert report(judge, CLIResult(output="a\nb"), CLIResult(output="a\nb")).did_pass()
    made = report(judge, CLIResult(output="a\nb", status_code=0), CLIResult(output="a\nc", status_code=0))
    assert made.format_result() == {"output": "F", "status_code": "P"}
    assert made.calculate_score() == pytest.approx(1 / 3)


def test_the_json_verifier() -> None:
    judge = verifier("JSONVerifier")
    expected = CLIResult(output={"user": {}}, fields={"user.name": "Ann"})
    made = report(judge, CLIResult(output='{"user": {"name": "Ann"}}'), expected)
    assert made.format_result() == {"structure": "P", "field_user.name": "P", "status_code": "P"}
    assert report(judge, CLIResult(output="{"), expected).format_result() == {"json_parse": "F"}


def test_the_file_verifier() -> None:
    specs = [{"path": "a", "content": "x\n"}, {"path": "b", "contains": "ell"}, {"path": "c"}, {"path": "d"}]
    made = report(
        verifier("FileVerifier"), CLIResult(files={"a": "y\n", "b": "hello", "c": ""}), CLIResult(files=specs)
    )
    assert made.format_result() == {
        "status_code": "P",
        "files-a": "F",
        "files-b": "P",
        "files-c": "P",
        "files-d": "F",
    }


def test_the_numeric_verifier() -> None:
    expected = CLIResult(numbers=[1.5, 2, 4], tolerance=0.1)
    made = report(verifier("NumericVerifier"), CLIResult(output="1.5 and 2.05 and 3"), expected)
    assert made.format_result() == {"number_count": "P", "number_0": "P", "number_1": "P", "number_2": "F"}


def test_the_weighted_verifier() -> None:
    expected = CLIResult(output="[1]", max_execution_time=2)
    made = report(verifier("WeightedVerifier"), CLIResult(output="[1]", elapsed=3), expected)
    assert made.calculate_score() == pytest.approx(1.3 / 1.8)


@pytest.mark.parametrize("style", ["simple_diff", "line_diff", "unified_diff", "visual_diff"])
@pytest.mark.parametrize(("expected", "actual"), [("a\nb\n", "a\nb\n"), ("a\nb\nc\n", "a\nx\nc\n")])
def test_our_diffs_are_the_guides(style: str, expected: str, actual: str) -> None:
    assert getattr(diffs, style)(expected, actual) == defined(style)(expected, actual)


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("flexible_match", (" A", "a\n")),
        ("flexible_match", ("b", "abc")),
        ("flexible_match", ("x", "y")),
        ("regex_match", ("a+", "aa")),
        ("regex_match", ("a+", "ab")),
        ("validate_schema", ({"a": 1}, {"a": int})),
        ("validate_schema", ({"a": 1}, {"a": str})),
        ("validate_schema", ({}, {"a": str})),
    ],
)
def test_our_patterns_are_the_guides(pattern: str, arguments: tuple[Any, ...]) -> None:
    ours, theirs = getattr(matching, pattern)(*arguments), defined(pattern)(*arguments)
    assert ours == theirs
    assert isinstance(ours, (VerificationResult, tuple))
