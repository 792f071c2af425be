"""The reports on what could not be run or judged."""

from __future__ import annotations

from slop_code.evaluation.adapters.models import BaseCase, GroupType
from slop_code.evaluation.config.models import GroupConfig
from slop_code.evaluation.verifiers.models import VerifierReport


def error_report(case: BaseCase, text: str) -> VerifierReport:
    """The report of a case that could not be run or judged."""
    return VerifierReport(
        id=case.id,
        group=case.group,
        type=case.group_type or GroupType.CORE,
        duration=0.0,
        results={},
        error=text,
        original_checkpoint=case.original_checkpoint,
        original_group=case.original_group,
    )


def lost_group(group: GroupConfig, who: str, text: str) -> VerifierReport:
    """What stands for the cases of a group that `who` ("loader", "environment") did not let us run any more."""
    return VerifierReport(
        id=f"({who})",
        group=group.name,
        type=group.type,
        duration=0.0,
        results={},
        error=text,
        original_checkpoint=group.original_checkpoint,
        original_group=group.original_group,
    )
