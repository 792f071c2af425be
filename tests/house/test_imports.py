"""Import paths, and that importing stays cheap."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

HEAVY = {"pandas", "numpy", "pyarrow", "deepdiff", "jsonschema", "httpx", "docker", "ray"}

PATHS = {
    "slop_code.evaluation": "ProblemConfig CheckpointConfig GroupConfig GroupType PassPolicy CorrectnessResults "
    "GroupReport run_checkpoint initialize_loader initialize_verifier get_available_problems adapters loaders verifiers",
    "slop_code.evaluation.report": "CorrectnessResults GroupReport PassPolicy",
    "slop_code.evaluation.runner": "CheckpointRunner run_checkpoint run_case initialize_loader",
    "slop_code.evaluation.verifiers": "VerificationResult AttributeResult VerifierReport VerifierReturnType "
    "VerifierProtocol VerifierError initialize_verifier validate_format models verifiers parsers format_validators "
    "deepdiff_verify jsonschema_verify matches_status_code matches_regex parse_json parse_jsonl parse_yaml "
    "parse_yaml_file parse_csv_content parse_markdown_table drop_keys_from_dicts convert_to_io "
    "ensure_non_null_string extract_actual_output maybe_split_string ensure_expected_is_not_none",
    "slop_code.evaluation.verifiers.models": "VerificationResult AttributeResult VerifierReport VerifierReturnType "
    "VerifierProtocol",
    "slop_code.evaluation.verifiers.verifiers": "VerificationResult VerifierError DEFAULT_DEEPDIFF_KWARGS "
    "deepdiff_verify jsonschema_verify matches_status_code matches_regex",
    "slop_code.evaluation.verifiers.format_validators": "validate_format ValidatorRegistry",
    "slop_code.evaluation.config": "ProblemConfig CheckpointConfig GroupConfig RegressionSpec ConfigError "
    "get_available_problems",
    "slop_code.evaluation.adapters": "BaseCase CaseResult CLICase CLIResult CLIAdapterConfig APICase APIResult "
    "APIAdapterConfig GroupType AdapterError CaseResultError cli api models base",
    "slop_code.evaluation.adapters.cli": "CLICase CLIResult CLIAdapterConfig",
    "slop_code.evaluation.adapters.api": "APICase APIResult APIAdapterConfig",
    "slop_code.evaluation.adapters.models": "BaseCase CaseResult GroupType",
    "slop_code.evaluation.loaders": "GroupLoader BaseLoader CaseStore NoOpStore LoaderError LoaderYieldType helpers "
    "loader_protocol",
    "slop_code.evaluation.loaders.helpers": "get_group_path get_chkpt_path get_actual_checkpoint discover_dir_cases "
    "get_files_from_globs",
    "slop_code.execution": "EnvironmentSpec LocalEnvironmentSpec DockerEnvironmentSpec SandboxEnvironmentSpec "
    "ExecutionError",
    "slop_code.execution.file_ops": "InputFile FileType Compression",
    "slop_code.logging": "get_logger setup_logging",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PATHS.items() for name in names.split()]
)
def test_every_public_name_is_where_it_is_documented(module: str, name: str) -> None:
    loaded = importlib.import_module(module)
    assert getattr(loaded, name) is not None
    assert name in dir(loaded)


def test_an_unknown_name_is_an_attribute_error() -> None:
    import slop_code.evaluation

    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        slop_code.evaluation.Nothing  # noqa: B018


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import slop_code.evaluation",
        "import slop_code.execution",
        "from slop_code.evaluation import ProblemConfig, adapters, loaders, initialize_loader",
        "from slop_code.evaluation.adapters import CLICase, APIResult",
        "from slop_code.evaluation.loaders import BaseLoader, helpers",
        "from slop_code.execution.file_ops import InputFile",
        "import slop_code.cli",
    ],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code) & HEAVY == set()


def test_importing_the_package_does_not_even_load_pydantic() -> None:
    assert loaded_by("import slop_code.evaluation") & {"pydantic", "structlog", "yaml", "rich"} == set()
