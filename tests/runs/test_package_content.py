"""Which files of a problem package count."""

from __future__ import annotations

import pytest

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.config import ConfigError
from slop_code.runs.package_content import package_key
from tests.runs.world import World


def key(world: World) -> str:
    return package_key(ProblemConfig.from_yaml(world.greet))


@pytest.mark.parametrize(
    "file", ["loader.py", "verifier.py", "shapes.py", "lib/deep/more.py", "first/core/a.csv", "README.md", "data.bin"]
)
def test_scripts_neighbours_and_data_count(world: World, file: str) -> None:
    without = key(world)
    world.write(f"problems/greet/{file}", "one")
    first = key(world)
    world.write(f"problems/greet/{file}", "two")
    assert len({without, first, key(world)}) == 3


def test_an_empty_folder_counts_for_it_may_be_a_case(world: World) -> None:
    before = key(world)
    (world.greet / "first" / "core" / "case_1").mkdir()
    assert key(world) != before


def test_names_count_and_the_place_of_the_package_does_not(world: World) -> None:
    before = key(world)
    world.greet.rename(world.root / "elsewhere")
    assert package_key(ProblemConfig.from_yaml(world.root / "elsewhere")) == before
    (world.root / "elsewhere/first/core/you.yaml").rename(world.root / "elsewhere/first/core/thou.yaml")
    assert package_key(ProblemConfig.from_yaml(world.root / "elsewhere")) != before


def test_the_right_to_execute_counts(world: World) -> None:
    tool = world.write("problems/greet/tool", "#!/bin/sh\n")
    before = key(world)
    tool.chmod(0o755)
    assert key(world) != before


def test_what_lies_behind_a_link_counts(world: World) -> None:
    shared = world.write("shared/more.yaml", "one")
    (world.greet / "first/core/shared").symlink_to(world.root / "shared")
    before = key(world)
    shared.write_text("two")
    assert key(world) != before


def test_links_in_a_circle_end(world: World) -> None:
    (world.greet / "first/core/again").symlink_to(world.greet)
    (world.greet / "broken").symlink_to("nowhere")
    before = key(world)
    world.write("problems/greet/first/core/new.yaml", "x")
    assert key(world) != before


def test_an_asset_outside_of_the_package_counts(world: World) -> None:
    asset = world.write("shared/rates.txt", "1\n")
    world.problem("greet", static_assets={"rates": {"path": "../../shared/rates.txt"}})
    before = key(world)
    asset.write_text("2\n")
    assert key(world) != before


@pytest.mark.parametrize(
    "file",
    [
        "first/spec.md",
        "first/solution/main.sh",
        "first/solution-node/main.js",
        "first/wrong_solutions/rude/main.sh",
        "wrong_solutions/rude/main.sh",
        "first/evaluation.json",
        "first/evaluation.key.json",
        "first/reports.parquet",
        "first/reports.partial.jsonl",
        "first/evaluation.lock",
        ".git/HEAD",
        "__pycache__/loader.cpython-311.pyc",
    ],
)
def test_specifications_solutions_results_and_caches_do_not_count(world: World, file: str) -> None:
    world.write(f"problems/greet/{file}", "one")
    before = key(world)
    world.write(f"problems/greet/{file}", "two")
    assert key(world) == before


@pytest.mark.parametrize(
    ("file", "mention", "doubtful"),
    [
        ("first/core/a.yaml", "input_files: [{path: a, source: ../spec.md}]\nexpected: {output: x}\n", "first/spec.md"),
        ("loader.py", "self.checkpoint.get_spec_text()\n", "first/spec.md"),
        ("loader.py", "path / checkpoint.specification\n", "first/spec.md"),
        ("loader.py", "path.glob('*.md')\n", "first/spec.md"),
        ("loader.py", "from solution import greet\n", "first/solution/greet.py"),
        ("verifier.py", "problem / 'wrong_solutions'\n", "wrong_solutions/rude/main.sh"),
        ("verifier.py", "open('evaluation.json')\n", "first/evaluation.json"),
    ],
)
def test_they_count_where_the_package_mentions_them(world: World, file: str, mention: str, doubtful: str) -> None:
    world.write(f"problems/greet/{doubtful}", "one")
    world.write(f"problems/greet/{file}", mention)
    before = key(world)
    world.write(f"problems/greet/{doubtful}", "two")
    assert key(world) != before


def test_an_asset_may_be_a_specification(world: World) -> None:
    world.problem("greet", static_assets={"manual": {"path": "first/spec.md"}})
    before = key(world)
    world.write("problems/greet/first/spec.md", "two")
    assert key(world) != before


def test_the_configuration_only_says_which_file_a_specification_is(world: World) -> None:
    world.problem("greet", checkpoints={"first": {"specification": "task.txt", "groups": {}}})
    world.write("problems/greet/first/task.txt", "one")
    before = key(world)
    world.write("problems/greet/first/task.txt", "two")
    assert key(world) == before


def test_a_group_may_be_named_like_a_solution(world: World) -> None:
    world.problem("greet", checkpoints={"first": {"groups": {"solution-1": {"type": "Core"}}}})
    world.write("problems/greet/first/solution-1/you.yaml", "one")
    before = key(world)
    world.write("problems/greet/first/solution-1/you.yaml", "two")
    assert key(world) != before


def test_a_file_that_cannot_be_read_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ProblemConfig.from_yaml(world.greet)
    # Root can read everything, so a loop of links stands for what cannot be read.
    (world.greet / "loop").symlink_to("loop")
    with pytest.raises(ConfigError, match=r"loop: cannot be read: Too many levels of symbolic links"):
        package_key(problem)
