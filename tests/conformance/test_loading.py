"""Two packages written as authors in the wild write them: they load unmodified, with every case in its place."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.adapters import APICase, BaseCase, CLICase
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store

PROBLEMS = Path(__file__).parent / "problems"
ORIGINALS = Path(__file__).parents[3] / "shared" / "conformance" / "problems"


def cases(problem_name: str, checkpoint_name: str) -> dict[str, list[BaseCase]]:
    problem = ProblemConfig.from_yaml(PROBLEMS / problem_name)
    checkpoint = problem.load_checkpoint(checkpoint_name)
    loader = initialize_loader(problem, checkpoint)
    return {
        group.name: [
            case
            for case, _ in iterate_cases(loader, problem, checkpoint, group, make_store(loader, problem, checkpoint))
        ]
        for group in checkpoint.groups.values()
    }


LEDGER_1 = {
    "core": ("Core", ["import_with_rates", "inline_files", "table"]),
    "errors": ("Error", ["missing_file", "unknown_currency"]),
}
LEDGER_2 = {
    "core": ("Core", ["default_arguments", "export_tree", "shell_chain"]),
    "sequence": ("Functionality", ["add_first", "add_second", "show_all"]),
    "old_errors": ("Regression", ["missing_file", "unknown_currency"]),
    "checkpoint_1_core": ("Regression", ["import_with_rates", "inline_files", "table"]),
}
PARCELS = {
    "core": ("Core", ["health", "create", "read_back", "list_after", "stats"]),
    "formats": ("Functionality", ["text_in", "raw_bytes", "zip_up", "zip_down", "query"]),
    "spec_errors": ("Error", ["bad_json", "missing", "not_here"]),
}


@pytest.mark.parametrize(
    ("problem", "checkpoint", "expected", "total"),
    [
        ("ledger", "checkpoint_1", LEDGER_1, 5),
        ("ledger", "checkpoint_2", LEDGER_2, 11),
        ("parcels", "checkpoint_1", PARCELS, 13),
    ],
)
def test_every_case_has_its_id_group_and_type(
    problem: str, checkpoint: str, expected: dict[str, tuple[str, list[str]]], total: int
) -> None:
    loaded = cases(problem, checkpoint)
    assert {
        name: ({str(case.group_type) for case in group}, [case.id for case in group], {case.group for case in group})
        for name, group in loaded.items()
    } == {name: ({kind}, ids, {name}) for name, (kind, ids) in expected.items()}
    assert sum(map(len, loaded.values())) == total
    wanted = APICase if problem == "parcels" else CLICase
    assert all(type(case) is wanted for group in loaded.values() for case in group)


def test_regressions_know_where_they_come_from() -> None:
    loaded = cases("ledger", "checkpoint_2")
    for group, original in (("old_errors", "errors"), ("checkpoint_1_core", "core")):
        assert {(case.original_checkpoint, case.original_group) for case in loaded[group]} == {
            ("checkpoint_1", original)
        }
    assert {case.original_group for case in loaded["core"]} == {None}


@pytest.mark.skipif(not ORIGINALS.exists(), reason="the packages' originals are not beside this checkout")
def test_the_packages_are_kept_as_they_are() -> None:
    def differences(pair: filecmp.dircmp[str]) -> list[str]:
        own = [*pair.left_only, *pair.right_only, *pair.diff_files, *pair.funny_files]
        return own + [name for below in pair.subdirs.values() for name in differences(below)]

    assert differences(filecmp.dircmp(PROBLEMS, ORIGINALS, ignore=["__pycache__"])) == []
