"""Setting a value in a YAML or JSON text: the value is there afterwards, and everything else is as it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.yaml_edits import EditError, documents_equal, set_value

TEXT = """\
# head
cases:
  - name: a   # the first
    expected: {output: "5\\n"}   # tail
  - name: b
    # above
    expected:
      output: |
        one
        two

      # between
      status_code: 1   # why
    tags: [x]
  - name: c
    expected:
      files:
        - path: x.txt
          content: old
  - name: d
    expected:
  - name: e
    expected: {}
---
name: second
expected:
  output: 'x'   # last
"""
PLACES: list[tuple[int, tuple[str | int, ...]]] = [
    *((0, ("cases", number, "expected", key)) for number in range(5) for key in ("output", "status_code", "new")),
    (0, ("cases", 0, "expected", "headers", "a")),
    (0, ("cases", 2, "expected", "files", 0, "content")),
    (1, ("expected", "output")),
    (1, ("expected", "new")),
]
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
texts = st.text(st.sampled_from("ab \n\t:#-'\"{}[],&*!|>%@`~0\\\r\x1b\x85\u2028\ufeffé"))
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1) | texts, inner, max_size=3),
    max_leaves=6,
)


def put(data: Any, at: tuple[str | int, ...], value: Any) -> None:
    for part in at[:-1]:
        if isinstance(data, dict) and data.get(part) is None:
            data[part] = {}
        data = data[part]
    data[at[-1]] = value


@given(place=st.sampled_from(PLACES), value=values, crlf=st.booleans())
def test_in_yaml(place: tuple[int, tuple[str | int, ...]], value: Any, crlf: bool) -> None:
    text = TEXT.replace("\n", "\r\n") if crlf else TEXT
    number, at = place
    wanted = list(yaml.safe_load_all(text))
    put(wanted[number], at, value)
    edited = set_value(text, number, at, value)
    assert documents_equal(list(yaml.safe_load_all(edited)), wanted), edited
    for comment in ("# head", "# the first", "# above", "# between", "# last"):
        assert comment in edited


@pytest.mark.parametrize(
    "text", ['{"expected": {"output": "x", "n": 1}}\n', '{\n  "expected": {\n    "output": [\n      1\n    ]\n  }\n}\n']
)
@given(key=st.sampled_from(["output", "new"]), value=values)
def test_in_json(text: str, key: str, value: Any) -> None:
    wanted = copy.deepcopy(json.loads(text))
    wanted["expected"][key] = value
    assert documents_equal([json.loads(set_value(text, 0, ("expected", key), value, as_json=True))], [wanted])


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ('output: "a\\n"  # c', "b\n", 'output: "b\\n"  # c'),
        ("output: a  # c", "b", "output: b  # c"),
        ("output: 'a'", "it's", "output: 'it''s'"),
        ("output: a  # c", "b\nc\n", "output: |  # c\n  b\n  c"),
        ("output: |\n  a\n  b", "c\n", "output: |\n  c"),
        ("output: |\n  a\n  b", "c\nd", "output: |-\n  c\n  d"),
        ("output: {a: 1}", {"a": 2}, "output: {a: 2}"),
        ("output:\n  a: 1  # x\n  b: 2", {"a": [1]}, "output:\n  a:\n    - 1"),
        ("output: 1", 2, "output: 2"),
        ("output:", {"a": 1}, "output:\n  a: 1"),
    ],
)
def test_the_style_of_the_author_is_kept(old: str, value: Any, new: str) -> None:
    assert set_value(f"{old}\nz: 1\n", 0, ("output",), value) == f"{new}\nz: 1\n"


def test_a_scalar_has_no_place_for_a_key() -> None:
    with pytest.raises(EditError, match="no mapping"):
        set_value("expected: 5\n", 0, ("expected", "output"), "x")
