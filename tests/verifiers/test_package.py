"""Where the names of `slop_code.evaluation.verifiers` are, and that importing them stays cheap."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import types
from typing import Any

import pytest

PACKAGE = "slop_code.evaluation.verifiers"
PATHS = {
    PACKAGE: "VerificationResult AttributeResult VerifierReport VerifierReturnType VerifierProtocol VerifierError "
    "validate_format DEFAULT_DEEPDIFF_KWARGS deepdiff_verify jsonschema_verify matches_status_code matches_regex "
    "convert_to_io ensure_non_null_string extract_actual_output maybe_split_string ensure_expected_is_not_none "
    "parse_markdown_table drop_keys_from_dicts parse_csv_content parse_yaml parse_yaml_file parse_jsonl parse_json "
    "simple_diff line_diff unified_diff visual_diff text_diff flexible_match regex_match validate_schema "
    "models verifiers parsers format_validators",
    f"{PACKAGE}.models": "VerificationResult AttributeResult VerifierReport VerifierReturnType VerifierProtocol",
    f"{PACKAGE}.verifiers": "VerificationResult VerifierError deepdiff_verify",
    f"{PACKAGE}.format_validators": "validate_format ValidatorRegistry",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PATHS.items() for name in names.split()]
)
def test_every_name_is_where_it_is_documented(module: str, name: str) -> None:
    assert getattr(importlib.import_module(module), name) is not None


SIGNATURES = {
    "VerificationResult.create": "diff, is_correct, weight=1.0",
    "deepdiff_verify": "actual, expected, weight=1.0, **kwargs",
    "jsonschema_verify": "actual, expected, weight=1.0",
    "matches_status_code": "actual, expected, weight=1.0",
    "matches_regex": "actual, expected, weight=1.0, flags=None, *, lstrip=True",
    "convert_to_io": "val",
    "ensure_non_null_string": "val, allow_empty=False",
    "extract_actual_output": "actual, split_output_on=None, split_output_index=-1, output_key='output', "
    "decode='utf-8', *, strip=False",
    "maybe_split_string": "content, split_output_on=None, split_output_index=-1",
    "ensure_expected_is_not_none": "expected",
    "parse_markdown_table": "content, allow_errors=False",
    "drop_keys_from_dicts": "dicts, keys=None",
    "parse_csv_content": "content, allows_error=True",
    "parse_yaml": "content",
    "parse_yaml_file": "result, file_name, allow_missing=False",
    "parse_jsonl": "content",
    "parse_json": "content, *, allow_invalid=False",
    "validate_format": "value, fmt",
    "format_validators.ValidatorRegistry.register": "name, aliases=()",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_take_what_they_are_documented_to_take(name: str) -> None:
    function: Any = importlib.import_module(PACKAGE)
    for part in name.split("."):
        function = getattr(function, part)
    given = inspect.signature(function).parameters.values()
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given]
    assert str(inspect.Signature(plain)) == f"({SIGNATURES[name]})"


def test_the_package_and_its_submodule_of_the_same_name_are_two_things() -> None:
    from slop_code.evaluation import verifiers as package
    from slop_code.evaluation.verifiers import verifiers as module

    assert isinstance(module, types.ModuleType)
    assert module.__name__ == f"{PACKAGE}.verifiers"
    assert package.__name__ == PACKAGE
    assert package.matches_status_code is module.matches_status_code


@pytest.mark.parametrize(
    "code",
    [
        f"import {PACKAGE}",
        f"from {PACKAGE} import VerificationResult, VerifierReport, parsers, verifiers, models, format_validators",
        f"from {PACKAGE} import deepdiff_verify, parse_json, validate_format, text_diff, flexible_match",
    ],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    heavy = ("pandas", "numpy", "deepdiff", "jsonschema", "pyarrow", "httpx")
    check = f"{code}\nimport sys\nassert not [name for name in {heavy} if name in sys.modules]"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
