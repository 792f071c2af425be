"""Results of a checkpoint, group reports, scores and pass policies."""

from __future__ import annotations

import pytest

from slop_code.evaluation.adapters import GroupType
from slop_code.evaluation.report import CorrectnessResults, GroupReport, PassPolicy
from tests.reports.make import line, report, results, two_groups


def test_results_have_the_documented_fields() -> None:
    assert set(CorrectnessResults.model_fields) >= {
        "problem_name",
        "problem_version",
        "name",
        "version",
        "timestamp",
        "duration",
        "reports",
        "group_outcomes",
        "pass_counts",
        "total_counts",
    }
    assert set(GroupReport.model_fields) >= {"duration", "results", "type"}


def test_a_group_adds_its_reports_scores_and_counts_by_type() -> None:
    made = results()
    half = report("half", line(is_correct=True), line("status_code", is_correct=False))
    made.add_group_report("core", GroupType.CORE, 1.5, [report("full"), half])
    made.add_group_report("more", "Core", 0.5, [report("other")])
    made.add_group_report("errors", "Error", 0.25, iter([report("bad", line(is_correct=False))]))
    assert [item.id for item in made.reports] == ["full", "half", "other", "bad"]
    assert made.group_outcomes["core"] == GroupReport(duration=1.5, results={"full": 1.0, "half": 0.5}, type="Core")
    assert made.pass_counts == {"Core": 2, "Error": 0}
    assert made.total_counts == {"Core": 3, "Error": 1}
    assert made.pass_counts[GroupType.CORE] == 2


def test_the_reports_keep_the_order_in_which_they_were_given() -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report(name) for name in "bca"])
    assert [item.id for item in made.reports] == ["b", "c", "a"]
    assert list(made.group_outcomes["core"].results) == ["b", "c", "a"]


def test_cases_of_one_id_are_all_kept() -> None:
    made = results()
    made.add_group_report(
        "core", "Core", 1, [report("a"), report("a", line(is_correct=False)), report("a (2)"), report("a")]
    )
    assert made.group_outcomes["core"].results == {"a": 1.0, "a (2)": 0.0, "a (2) (2)": 1.0, "a (3)": 1.0}
    assert made.total_counts == {"Core": 4}


def test_a_group_is_added_once() -> None:
    made = two_groups()
    with pytest.raises(ValueError, match='"core" were added before'):
        made.add_group_report("core", "Core", 1, [])


def test_the_score_is_the_weighted_mean_of_the_groups_means() -> None:
    made = results()
    made.add_group_report("a", "Core", 1, [report("1"), report("2", line(is_correct=False))], weight=3.0)
    made.add_group_report("b", "Functionality", 1, [report(str(number)) for number in range(10)])
    assert made.score == pytest.approx((3.0 * 0.5 + 1.0 * 1.0) / 4.0)
    assert results().score == 0.0


def test_no_weights_of_groups_make_the_score_anything_but_a_number() -> None:
    made = results()
    made.add_group_report("a", "Core", 1, [report()], weight=1.7e308)
    made.add_group_report("b", "Core", 1, [report(), report("no", line(is_correct=False))], weight=1.7e308)
    assert made.score == pytest.approx(0.75)


def test_a_group_is_added_by_position_or_by_name() -> None:
    made = results()
    made.add_group_report(group_name="a", group_type="Core", duration=1.0, reports=[report()])
    assert made.group_outcomes["a"] == GroupReport(duration=1.0, results={"one": 1.0}, type="Core")


def test_a_group_without_cases_scores_nothing() -> None:
    made = results()
    made.add_group_report("a", "Core", 1, [report()])
    made.add_group_report("b", "Core", 1, [])
    assert made.score == 0.5


def test_errors_count_in_the_totals_and_as_0_in_scores() -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report("a"), report("b", error="the store raised")])
    assert made.reports[1].calculate_score() == 1.0
    assert made.group_outcomes["core"].results == {"a": 1.0, "b": 0.0}
    assert (made.pass_counts, made.total_counts) == ({"Core": 1}, {"Core": 2})
    assert made.score == 0.5


def test_timeouts_and_errors_are_counted_apart_and_errors_are_listed() -> None:
    made = two_groups()
    assert made.timeout_count == 1
    assert made.error_count == 1
    assert made.errors == ["errors/lost: verifier.py:3: KeyError: 'x'"]
    made.errors.append("setup: uv sync failed")
    assert made.error_count == 2


def test_a_timed_out_case_that_passed_counts_as_passed() -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report("slow", line("timed_out"), outcome="passed")])
    assert (made.timeout_count, made.pass_counts) == (0, {"Core": 1})


ALL = {"Core": 2, "Functionality": 1, "Error": 1}


@pytest.mark.parametrize(
    ("policy", "passed", "total", "expected"),
    [
        ("any", {"Error": 1}, ALL, True),
        ("any", {}, ALL, False),
        ("any-case", {"Core": 1}, ALL, True),
        ("any-case", {"Core": 0}, ALL, False),
        ("all-cases", ALL, ALL, True),
        ("all-cases", {**ALL, "Error": 0}, ALL, False),
        ("all-cases", {}, {}, False),
        ("all-cases", {}, {"Core": 0}, False),
        ("all-non-error-cases", {"Core": 2, "Functionality": 1}, ALL, True),
        ("all-non-error-cases", {"Core": 2, "Error": 1}, ALL, False),
        ("all-non-error-cases", {"Error": 1}, {"Error": 1}, False),
        ("all-non-error-cases", {"Core": 1, "Regression": 1}, {"Core": 1, "Regression": 2, "Error": 1}, False),
        ("all-cases", {"Core": 1, "Functionality": 0}, {"Core": 1, "Functionality": 0}, True),
        ("any", {}, {}, False),
        ("core-cases", {"Core": 2}, ALL, True),
        ("core-cases", {"Core": 1, "Functionality": 1}, ALL, False),
        ("core-cases", {"Functionality": 1}, {"Functionality": 1}, False),
        ("all-core-cases", {"Core": 2}, ALL, True),
        ("all-core-cases", {"Core": 1}, ALL, False),
        ("all-core-cases", {}, {"Error": 1}, False),
        ("any-core-cases", {"Core": 1}, ALL, True),
        ("any-core-cases", {"Functionality": 1, "Error": 1}, ALL, False),
    ],
)
def test_policies(policy: str, passed: dict[str, int], total: dict[str, int], expected: bool) -> None:
    assert PassPolicy(policy).check(passed, total) is expected
    by_type = {GroupType(kind): count for kind, count in total.items()}
    assert PassPolicy(policy).check(passed, by_type) is expected


def test_a_policy_is_its_word() -> None:
    assert str(PassPolicy.ALL_CORE_CASES) == "all-core-cases"
    assert {policy.value for policy in PassPolicy} == {
        "any",
        "any-case",
        "all-cases",
        "all-non-error-cases",
        "core-cases",
        "all-core-cases",
        "any-core-cases",
    }
    made = two_groups()
    assert not PassPolicy("core-cases").check(made.pass_counts, made.total_counts)
