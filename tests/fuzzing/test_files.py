"""Files of structured junk: whatever stands in them, it is a valid model or a clear error, never another exception.

200 of each in the normal run; `make nightly` makes it 10,000.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.config import ConfigError
from slop_code.evaluation.loaders import LoaderError, NoOpStore
from slop_code.evaluation.runner import initialize_loader
from slop_code.execution import EnvironmentSpec, ExecutionError
from slop_code.execution.file_ops import InputFileError

often = settings(max_examples=max(200, settings().max_examples))

CONFIG: dict[str, Any] = {
    "name": "fuzzed",
    "version": 1,
    "description": "A problem.",
    "entry_file": "main",
    "adapter": {"type": "api", "port": 8080, "health_path": "/", "startup_timeout_s": 5, "arguments": ["a"]},
    "loader_script": "builtin:files",
    "tags": ["one"],
    "difficulty": "Easy",
    "env": {"KEY": "value"},
    "timeout": 10,
    "static_assets": {"words": {"path": "words.txt", "save_path": "words"}},
    "checkpoints": {
        "one": {
            "version": 1,
            "order": 1,
            "path": "one",
            "state": "Draft",
            "constant_files": ["a.txt"],
            "groups": {"core": {"type": "Core", "case_order": ["a"], "case_defaults": {"timeout": 1}, "weight": 2}},
        },
        "two": {
            "groups": {
                "errors": {"type": "Error", "isolated": False, "group_files": ["x"], "filters": {"tags": ["t"]}},
                "again": {"type": "Regression", "original_checkpoint": "one", "original_group": "core"},
            },
            "regressions": [{"checkpoints": "*", "groups": ["core"], "name_template": "{checkpoint}_{group}_{idx}"}],
            "loader": {"type": "script", "path": "loader.py", "entrypoint": "load"},
        },
    },
}
CASE: dict[str, Any] = {
    "name": "first",
    "description": "A case.",
    "tags": ["one"],
    "priority": "high",
    "timeout": 5,
    "arguments": ["add", "1"],
    "stdin": "text",
    "reset": True,
    "metadata": {"key": "value"},
    "tracked_files": ["out.txt", "*.json"],
    "input_files": [
        {"path": "in.json", "content": {"a": [1]}},
        {"path": "rows.csv", "content": [{"a": 1}], "file_type": "csv", "compression": "gzip"},
        {"path": "words.txt", "source": "words.txt"},
    ],
    "method": "POST",
    "path": "/things",
    "query": {"page": 1},
    "headers": {"X-One": "1"},
    "body": {"a": 1},
    "expected": {
        "output": {"a": 1},
        "status_code": 0,
        "headers": {"Content-Type": "text/plain"},
        "weights": {"output": 2},
        "tolerance": 0.1,
        "files": [{"path": "out.txt", "contains": "x", "matches": "^x"}],
    },
}
CASES = {
    "timeout": 3,
    "cases": [CASE, {"argv": ["a b"], "input_files": {"a.txt": "x"}, "expected": {"files": {"a": "b"}}}],
}
API_CASES = {"cases": [{key: value for key, value in CASE.items() if key != "arguments"}], "retries": 1}
ENVIRONMENT: dict[str, Any] = {
    "name": "own",
    "environment": {"env": {"KEY": "value"}, "include_os_env": True, "pass_env": ["HOME"], "python": "3.11"},
    "setup": {"commands": ["true"], "eval_commands": [], "network": False, "strict": True, "virtualenv": False},
    "commands": {"command": "python", "entry_file": "{entry_file}.py"},
    "snapshot": {"keep_globs": ["*.py"], "ignore_globs": ["x/*"], "compression": "gz", "archive_save_dir": "x"},
    "limits": {"memory_mb": 64, "processes": 8, "file_size_mb": 4, "open_files": 32, "case_s": 5, "output_mb": 0.5},
}
SANDBOX = {**ENVIRONMENT, "type": "sandbox", "sandbox": {"read_only_paths": ["/srv"]}}
DOCKER = {
    **ENVIRONMENT,
    "type": "docker",
    "docker": {"image": "python:3.12", "workdir": "/w", "extra_mounts": ["/a:/b:ro"], "network": "none", "user": "1:1"},
}

texts = st.sampled_from(
    ["", " ", "..", "/", "/etc/passwd", "../../x", "*", "**", "[", "\0", "\ud800", "\x1b[2J", "{x}", "{", "{{static:no}}",
     "~", "null", "yes", "1e999", "one", "core", "type", "cli", "api", "docker", "local", "Core", "json", "x" * 300]
) | st.text(st.characters(), max_size=8)  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.sampled_from([10**30, -(10**400), 2**63, 65536])
    | st.floats()
    | texts
    | st.binary(max_size=4)
    | st.dates(datetime.date(1, 1, 1))
    | st.datetimes()
)
keys = texts | st.sampled_from([None, True, 1, -1.5, datetime.date(2000, 1, 1)])
junk = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
# What means something to YAML, and usually nothing good in a place by chance.
TOKENS = ("&a ", "*a", "<<: *a\n", "!!binary ", "!!python/object:os.system ", "!x ", "? ", ": ", "- ", "{", "}", "[", "]",
          "|", ">", "'", '"', "#", "%YAML 9.9\n", "---\n", "...\n", "\t", "\n", "\r", "\ufeff", "\x85", "2001-02-30",
          "12:30:45", "0o9", "!!int x", "!!timestamp x", "!!float x", ".inf", "1_000", "\\", "=", "<<")  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, valid: Any) -> Any:
    """A valid document with junk in the place of some of its values, beside them, or without them."""
    document = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        document = _mutate(draw, document)
    return document


def _mutate(draw: st.DrawFn, value: Any) -> Any:
    inner = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    if not inner or draw(st.integers(0, 5)) == 0:
        return draw(st.just([value]) | st.just({"x": value}) | junk)
    place = draw(st.sampled_from(inner))
    deed = draw(st.sampled_from(["below", "below", "below", "drop", "add"]))
    if deed == "drop":
        del value[place]
    elif deed == "add" and isinstance(value, dict):
        value[draw(keys)] = draw(junk)
    else:
        value[place] = _mutate(draw, value[place])
    return value


@st.composite
def torn(draw: st.DrawFn, text: str) -> bytes:
    """A text with parts cut out, and tokens or bytes put in."""
    data = text.encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        new = draw(st.sampled_from(TOKENS).map(str.encode) | st.binary(max_size=4) | st.just(b""))
        data = data[:start] + new + data[end:]
    return data


@contextlib.contextmanager
def folder_with(files: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for path, data in files.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_bytes(data)
        yield Path(name)


def as_yaml(value: Any) -> bytes:
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode(errors="surrogatepass")


def as_json(value: Any) -> bytes:
    return json.dumps(value, default=str, skipkeys=True).encode()


def read_config(data: bytes) -> None:
    with folder_with({"config.yaml": data, "words.txt": b"words", "one/core/a.yaml": b"expected: {}"}) as folder:
        try:
            problem = ProblemConfig.from_yaml(folder)
        except ConfigError as error:
            assert error.findings
            assert str(error)
            return
        for name, checkpoint in problem.iterate_checkpoint_items():
            assert problem.load_checkpoint(name) is checkpoint


def read_cases(name: str, data: bytes, adapter: str) -> None:
    config = {**CONFIG, "adapter": {"type": adapter}, "checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}}}
    files = {"config.yaml": as_yaml(config), "words.txt": b"", f"one/core/{name}": data, "one/core/words.txt": b"words"}
    with folder_with(files) as folder:
        problem = ProblemConfig.from_yaml(folder)
        checkpoint = problem.load_checkpoint("one")
        loader = initialize_loader(problem, checkpoint)
        try:
            # The loader itself, and not what makes any exception of a loader an error of its group.
            pairs = list(loader(group=checkpoint.groups["core"], store=NoOpStore()))
        except LoaderError as error:
            assert name in str(error)
            return
        for case, expected in pairs:
            assert case.id
            expected.files_by_name()
            for file in case.input_files:
                with contextlib.suppress(InputFileError):
                    file.to_bytes()


def read_environment(data: bytes) -> None:
    with folder_with({"mine.yaml": data}) as folder:
        try:
            environment = EnvironmentSpec.from_yaml(folder / "mine.yaml")
        except ExecutionError as error:
            assert "mine.yaml" in str(error)
            return
        environment.limits.as_limits().rlimits()
        assert "main" in environment.get_command("main")


def broken(valid: Any, write: Callable[[Any], bytes] = as_yaml) -> st.SearchStrategy[bytes]:
    return mutated(valid).map(write) | torn(write(valid).decode())


@often
@given(data=broken(CONFIG))
def test_configuration(data: bytes) -> None:
    read_config(data)


@often
@given(
    file=st.tuples(st.just("a.yaml"), broken(CASES) | broken(CASE), st.just("cli"))
    | st.tuples(st.just("a.yaml"), broken(API_CASES), st.just("api"))
    | st.tuples(st.just("a.json"), broken(CASES, as_json), st.just("cli"))
    | st.tuples(st.just("a.json"), broken(API_CASES, as_json), st.just("api"))
)
def test_case_files(file: tuple[str, bytes, str]) -> None:
    read_cases(*file)


@often
@given(data=broken(SANDBOX) | broken(DOCKER))
def test_environment_files(data: bytes) -> None:
    read_environment(data)


@pytest.mark.parametrize(
    ("read", "valid"),
    [
        (read_config, as_yaml(CONFIG)),
        (lambda data: read_cases("a.yaml", data, "cli"), as_yaml(CASES)),
        (lambda data: read_cases("a.json", data, "api"), as_json(API_CASES)),
        (read_environment, as_yaml(SANDBOX)),
        (read_environment, as_yaml(DOCKER)),
    ],
    ids=["configuration", "cases", "cases of an api", "sandbox", "docker"],
)
def test_what_the_junk_is_made_from_is_valid(
    read: Callable[[bytes], None], valid: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (ConfigError, LoaderError, ExecutionError):
        monkeypatch.setattr(f"{__name__}.{error.__name__}", KeyboardInterrupt)
    read(valid)
