"""Contract §1: where the names of `slop_code.evaluation.verifiers` are, and that importing them stays cheap."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types

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
def test_every_name_is_where_the_contract_says(module: str, name: str) -> None:
    assert getattr(importlib.import_module(module), name) is not None


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
