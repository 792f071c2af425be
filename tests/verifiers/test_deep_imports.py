"""What the library imports for a diff."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_a_diff_does_not_import_pandas() -> None:
    code = """
import sys
from slop_code.evaluation.verifiers import deepdiff_verify
assert not deepdiff_verify({"a": [1]}, {"a": [2]}).is_correct
assert "deepdiff" in sys.modules
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tables_are_compared_by_their_rows() -> None:
    pytest.importorskip("pandas", reason="pandas comes with an extra")
    code = """
import pandas
from slop_code.evaluation.verifiers import deepdiff_verify
one, other = (pandas.DataFrame({"n": [number], "t": ["x"]}) for number in (1, 2))
for options in ({}, {"ignore_order": True}, {"exclude_paths": ["x"]}):
    assert deepdiff_verify(one, one.copy(), **options).is_correct
    assert not deepdiff_verify(one, other, **options).is_correct
    assert not deepdiff_verify({"a": [one]}, {"a": [other]}, **options).is_correct
    assert not deepdiff_verify(one["n"], other["n"], **options).is_correct
"""
    subprocess.run([sys.executable, "-c", code], check=True)
