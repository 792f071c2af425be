"""`VerificationResult`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from deepdiff import DeepDiff
from pydantic import ValidationError

from slop_code.evaluation.verifiers import VerificationResult


def test_weight_defaults_to_one() -> None:
    assert VerificationResult(diff=None, is_correct=True).weight == 1.0
    assert VerificationResult.create(None, True).weight == 1.0


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_weight_is_a_number_above_zero(weight: float) -> None:
    with pytest.raises(ValidationError):
        VerificationResult.create(None, True, weight)


def test_extra_fields_are_forbidden() -> None:
    with pytest.raises(ValidationError, match="extra"):
        VerificationResult(diff=None, is_correct=True, wieght=1)  # type: ignore[call-arg]


def test_create_takes_its_arguments_by_position_and_by_name() -> None:
    assert VerificationResult.create("d", False, 0.5) == VerificationResult.create(
        diff="d", is_correct=False, weight=0.5
    )


def test_create_gives_a_deepdiff_the_shape_of_its_json() -> None:
    assert VerificationResult.create(DeepDiff(1, 2), False).diff == {
        "values_changed": {"root": {"new_value": 2, "old_value": 1}}
    }
    assert VerificationResult.create(DeepDiff(1, 1), True).diff == {}


class Opaque:
    __slots__ = ("secret",)

    def __init__(self, secret: int) -> None:
        self.secret = secret

    def __str__(self) -> str:
        return "opaque"


@pytest.mark.parametrize(
    "diff",
    [
        DeepDiff([math.nan], [1]),
        DeepDiff(Opaque(1), Opaque(2)),
        DeepDiff({(1, 2): Opaque(1)}, {}),
        DeepDiff(b"\xff", "x"),
        DeepDiff({"a": {1, 2}}, {"a": {2, 3}}),
        DeepDiff([Opaque(1)], [3]),
    ],
)
def test_create_takes_a_deepdiff_of_anything(diff: DeepDiff) -> None:
    made = VerificationResult.create(diff, False).diff
    assert made
    json.dumps(made, allow_nan=False)


class AskedInVain:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class WithoutClass:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class LikeNumpy:
    shape = ()

    def item(self) -> Any:
        raise RuntimeError("no item")


class UnwillingInt(int):
    def __int__(self) -> int:
        raise RuntimeError("no int")


@dataclass
class Point:
    x: int


def released() -> memoryview:
    view = memoryview(b"gone")
    view.release()
    return view


# Made within the test: pytest itself cannot show some of them.
ODD: dict[str, Callable[[], Any]] = {
    "asked in vain": AskedInVain,
    "without a class": WithoutClass,
    "like numpy": LikeNumpy,
    "an unwilling int": lambda: UnwillingInt(3),
    "a released view": released,
    "a dataclass": lambda: Point(1),
    "an odd key": lambda: {AskedInVain(): 1},
    "a key of 6000 digits": lambda: {10**6000: 1},
    "keys that are no text": lambda: {frozenset({1}): Point},
    "something odd inside": lambda: [{"deep": AskedInVain()}],
    "many keys": lambda: {number: number for number in range(100_000)},
}


@pytest.mark.parametrize("name", ODD)
def test_no_object_is_too_odd_for_create(name: str) -> None:
    json.dumps(VerificationResult.create(ODD[name](), True).diff, allow_nan=False)


@pytest.mark.parametrize("diff", [math.nan, [math.inf], b"\xff", {1, 2}, {1: {2: b"x"}}, object(), Opaque(1)])
def test_create_turns_what_json_cannot_hold_into_text(diff: Any) -> None:
    json.dumps(VerificationResult.create(diff, True).diff, allow_nan=False)
    assert VerificationResult(diff=diff, is_correct=True).diff == VerificationResult.create(diff, True).diff


def test_create_survives_cycles_and_any_depth() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert json.dumps(VerificationResult.create(cycle, True).diff)
    deep: Any = {}
    for _ in range(10_000):
        deep = {"a": deep}
    assert json.dumps(VerificationResult.create(deep, True).diff)


def test_the_diff_is_a_copy_that_later_changes_do_not_reach() -> None:
    diff = {"missing": [1]}
    result = VerificationResult.create(diff, False)
    diff["missing"].append(2)
    assert result.diff == {"missing": [1]}


def test_is_correct_may_be_a_bool_of_numpy() -> None:
    assert VerificationResult.create(None, numpy.bool_(True)).is_correct is True  # type: ignore[arg-type]
