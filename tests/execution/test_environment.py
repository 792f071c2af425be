"""What environment files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from slop_code.execution import (
    DockerEnvironmentSpec,
    EnvironmentSpec,
    ExecutionError,
    LocalEnvironmentSpec,
    SandboxEnvironmentSpec,
)


def spec(folder: Path, text: str) -> EnvironmentSpec:
    path = folder / "mine.yaml"
    path.write_text(text)
    return EnvironmentSpec.from_yaml(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("type: local", LocalEnvironmentSpec),
        ("type: sandbox", SandboxEnvironmentSpec),
        ("type: docker\ndocker: {image: x}", DockerEnvironmentSpec),
    ],
)
def test_from_yaml_gives_the_class_of_the_type(tmp_path: Path, text: str, kind: type[EnvironmentSpec]) -> None:
    read = spec(tmp_path, text)
    assert type(read) is kind
    assert read.name == "mine"
    assert type(TypeAdapter(EnvironmentSpec).validate_python(yaml.safe_load(text))) is kind


def test_the_documented_defaults(tmp_path: Path) -> None:
    read = spec(tmp_path, "type: docker\ndocker: {image: x}")
    assert (read.environment.env, read.environment.include_os_env) == ({}, False)
    assert (read.setup.commands, read.setup.eval_commands, read.setup.resume_commands) == ([], [], [])
    assert (read.setup.network, read.setup.strict) == (True, False)
    assert (read.commands.entry_file, read.commands.command, read.commands.agent_command) == (
        "{entry_file}",
        "python",
        None,
    )
    assert (read.snapshot.keep_globs, read.snapshot.ignore_globs) == ([], ["*.pyc", "venv/*", ".venv/*"])
    assert isinstance(read, DockerEnvironmentSpec)
    assert (read.docker.binary, read.docker.workdir, read.docker.mount_workspace) == ("docker", "/workspace", True)
    assert (list(read.docker.extra_mounts), read.docker.network, read.docker.user) == ([], None, None)


def test_every_key_is_read(tmp_path: Path) -> None:
    read = spec(
        tmp_path,
        """
type: docker
name: own
environment: {env: {A: 1.10, B: yes}, include_os_env: true, python: 3.10}
setup: {commands: [a], eval_commands: [b], resume_commands: [c], network: false, strict: true}
commands: {entry_file: "{entry_file}.py", command: uv run, agent_command: x}
snapshot: {keep_globs: ["*.py"], ignore_globs: [], compression: gz, archive_save_dir: out}
docker: {image: i, binary: podman, workdir: /w, mount_workspace: false, extra_mounts: ["/a:/b"], network: bridge, user: "5"}
""",
    )
    assert read.name == "own"
    assert read.environment.env == {"A": "1.10", "B": "yes"}
    assert read.environment.python == "3.10"
    assert read.get_command("ledger") == "uv run ledger.py"


def test_the_full_environment_is_host_then_own_then_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOST": "h", "BOTH": "h", "ALL": "h", "API_TOKEN": "t", "DB_PASSWORD": "p"}.items():
        monkeypatch.setenv(name, value)
    text = "type: local\nenvironment: {{env: {{BOTH: e, ALL: e}}, include_os_env: {included}, pass_env: {passed}}}"
    env = spec(tmp_path, text.format(included="true", passed="[DB_PASSWORD]")).get_full_env({"ALL": "o"})
    assert (env["HOST"], env["BOTH"], env["ALL"]) == ("h", "e", "o")
    assert "API_TOKEN" not in env
    assert env["DB_PASSWORD"] == "p"
    assert spec(tmp_path, text.format(included="false", passed="[]")).get_full_env({}) == {"BOTH": "e", "ALL": "e"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("type: local\nsetupp: {}\n", 2, 'the environment has unknown key "setupp" (did you mean "setup"?)'),
        ("type: local\nsetup:\n  comands: []\n", 3, 'unknown key "setup.comands" (did you mean "commands"?)'),
        ("type: locl\n", 1, '"type" should be one of local, sandbox, docker, found "locl" (did you mean "local"?)'),
        ("tpe: local\n", 1, 'lacks the key "type" ("tpe" looks like a misspelling of it)'),
        ("type: docker\n", 1, 'the environment lacks the key "docker"'),
        ("type: local\ncommands: {entry_file: x.py}\n", 2, 'should contain "{entry_file}"'),
        ("type: local\nsetup: {commands: x}\n", 2, '"setup.commands" should be a list, found "x"'),
        ("type: [", 1, "is not YAML"),
        ("type: local\n!!binary aGk=: own\n", 1, """the environment has unknown key "b'hi'\""""),
        ("type: local\nlimits:\n  !!binary aGk=: 3\n", 2, """"limits.b'hi'" keys should be strings"""),
        ("", None, "an environment should be a mapping of keys to values; the file is empty"),
        ("- x", 1, "an environment should be a mapping"),
    ],
)
def test_what_is_wrong_is_shown_with_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        spec(tmp_path, text)
    assert message in str(caught.value)
    assert (f"mine.yaml:{line}:" if line else "mine.yaml:") in str(caught.value)


def test_a_conventional_path_or_a_bare_name_means_the_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert EnvironmentSpec.from_yaml("configs/environments/local-py.yaml").name == "local-py"
    assert EnvironmentSpec.from_yaml("local-py").get_command("x") == "python x.py"
    (tmp_path / "configs" / "environments").mkdir(parents=True)
    (tmp_path / "configs" / "environments" / "local-py.yaml").write_text("type: local\nname: own")
    assert EnvironmentSpec.from_yaml("configs/environments/local-py.yaml").name == "own"
    assert EnvironmentSpec.from_yaml("local-py").name == "own"


def test_an_unknown_environment_names_the_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExecutionError, match=r'no environment "locl-py" \(did you mean "local-py"\?\)'):
        EnvironmentSpec.from_yaml("locl-py")
    with pytest.raises(ExecutionError, match="no environment"):
        EnvironmentSpec.from_yaml(tmp_path / "nowhere.yaml")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    config=st.dictionaries(
        st.sampled_from(["type", "name", "environment", "setup", "commands", "snapshot", "docker", "local"]),
        junk
        | st.sampled_from(["local", "docker", "sandbox"])
        | st.dictionaries(st.sampled_from(["env", "commands", "image", "entry_file", "python", "strict"]), junk),
    )
)
def test_structured_junk_gives_a_model_or_a_clear_error(
    config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        spec(tmp_path_factory.mktemp("env"), yaml.safe_dump(config))
    except ExecutionError as error:
        assert "mine.yaml" in str(error)
