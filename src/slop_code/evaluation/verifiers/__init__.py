"""Judging results: what a verifier returns, the reports made of it, and ready-made ways to compare."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.evaluation.verifiers import diffs as diffs
    from slop_code.evaluation.verifiers import format_validators as format_validators
    from slop_code.evaluation.verifiers import matching as matching
    from slop_code.evaluation.verifiers import models as models
    from slop_code.evaluation.verifiers import parsers as parsers
    from slop_code.evaluation.verifiers import verifiers as verifiers
    from slop_code.evaluation.verifiers.diffs import line_diff as line_diff
    from slop_code.evaluation.verifiers.diffs import simple_diff as simple_diff
    from slop_code.evaluation.verifiers.diffs import text_diff as text_diff
    from slop_code.evaluation.verifiers.diffs import unified_diff as unified_diff
    from slop_code.evaluation.verifiers.diffs import visual_diff as visual_diff
    from slop_code.evaluation.verifiers.errors import VerifierError as VerifierError
    from slop_code.evaluation.verifiers.format_validators import ValidatorRegistry as ValidatorRegistry
    from slop_code.evaluation.verifiers.format_validators import validate_format as validate_format
    from slop_code.evaluation.verifiers.initialization import initialize_verifier as initialize_verifier
    from slop_code.evaluation.verifiers.matching import flexible_match as flexible_match
    from slop_code.evaluation.verifiers.matching import get_nested as get_nested
    from slop_code.evaluation.verifiers.matching import nested_field as nested_field
    from slop_code.evaluation.verifiers.matching import numeric_match as numeric_match
    from slop_code.evaluation.verifiers.matching import regex_match as regex_match
    from slop_code.evaluation.verifiers.matching import unordered_match as unordered_match
    from slop_code.evaluation.verifiers.matching import validate_schema as validate_schema
    from slop_code.evaluation.verifiers.models import AttributeResult as AttributeResult
    from slop_code.evaluation.verifiers.models import VerificationResult as VerificationResult
    from slop_code.evaluation.verifiers.models import VerifierProtocol as VerifierProtocol
    from slop_code.evaluation.verifiers.models import VerifierReport as VerifierReport
    from slop_code.evaluation.verifiers.models import VerifierReturnType as VerifierReturnType
    from slop_code.evaluation.verifiers.parsers import convert_to_io as convert_to_io
    from slop_code.evaluation.verifiers.parsers import drop_keys_from_dicts as drop_keys_from_dicts
    from slop_code.evaluation.verifiers.parsers import ensure_expected_is_not_none as ensure_expected_is_not_none
    from slop_code.evaluation.verifiers.parsers import ensure_non_null_string as ensure_non_null_string
    from slop_code.evaluation.verifiers.parsers import extract_actual_output as extract_actual_output
    from slop_code.evaluation.verifiers.parsers import maybe_split_string as maybe_split_string
    from slop_code.evaluation.verifiers.parsers import parse_csv_content as parse_csv_content
    from slop_code.evaluation.verifiers.parsers import parse_json as parse_json
    from slop_code.evaluation.verifiers.parsers import parse_jsonl as parse_jsonl
    from slop_code.evaluation.verifiers.parsers import parse_markdown_table as parse_markdown_table
    from slop_code.evaluation.verifiers.parsers import parse_yaml as parse_yaml
    from slop_code.evaluation.verifiers.parsers import parse_yaml_file as parse_yaml_file
    from slop_code.evaluation.verifiers.verifiers import DEFAULT_DEEPDIFF_KWARGS as DEFAULT_DEEPDIFF_KWARGS
    from slop_code.evaluation.verifiers.verifiers import deepdiff_verify as deepdiff_verify
    from slop_code.evaluation.verifiers.verifiers import jsonschema_verify as jsonschema_verify
    from slop_code.evaluation.verifiers.verifiers import matches_regex as matches_regex
    from slop_code.evaluation.verifiers.verifiers import matches_status_code as matches_status_code

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        f"{__name__}.diffs": ["line_diff", "simple_diff", "text_diff", "unified_diff", "visual_diff"],
        f"{__name__}.errors": ["VerifierError"],
        f"{__name__}.format_validators": ["ValidatorRegistry", "validate_format"],
        f"{__name__}.initialization": ["initialize_verifier"],
        f"{__name__}.matching": [
            "flexible_match",
            "get_nested",
            "nested_field",
            "numeric_match",
            "regex_match",
            "unordered_match",
            "validate_schema",
        ],
        f"{__name__}.models": [
            "AttributeResult",
            "VerificationResult",
            "VerifierProtocol",
            "VerifierReport",
            "VerifierReturnType",
        ],
        f"{__name__}.parsers": [
            "convert_to_io",
            "drop_keys_from_dicts",
            "ensure_expected_is_not_none",
            "ensure_non_null_string",
            "extract_actual_output",
            "maybe_split_string",
            "parse_csv_content",
            "parse_json",
            "parse_jsonl",
            "parse_markdown_table",
            "parse_yaml",
            "parse_yaml_file",
        ],
        f"{__name__}.verifiers": [
            "DEFAULT_DEEPDIFF_KWARGS",
            "deepdiff_verify",
            "jsonschema_verify",
            "matches_regex",
            "matches_status_code",
        ],
    },
    submodules=["diffs", "format_validators", "matching", "models", "parsers", "verifiers"],
)
