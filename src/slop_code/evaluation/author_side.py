"""What author processes do: a bench makes loader and verifier, a desk answers one question after the other."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from slop_code.descriptors import occupy_missing
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.channel import Channel, ChannelClosed
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.desk import Bench, Desk
from slop_code.evaluation.forking import fork_on_demand
from slop_code.evaluation.handing_out import SHOW_TRACE, HandedOut, Handful
from slop_code.evaluation.listening import Selection
from slop_code.evaluation.loaders.case_file_models import CaseBody
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.initialization import initialize_verifier
from slop_code.evaluation.verifiers.models import AttributeResult, VerificationResult, VerifierReport

_CANNOT_BE_SENT = (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError)
_NAMES = ("id", "name", "group", "group_type", "checkpoint", "original_group", "original_checkpoint")


def get_ready() -> None:
    """Make the models that nearly every case needs before there is one to wait for them."""
    for model in (CaseBody, CLICase, CLIResult, VerificationResult, AttributeResult, VerifierReport):
        model.model_rebuild()


def serve_bench(
    channel: Channel, problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection
) -> NoReturn:
    loader: GroupLoader | LoaderError
    try:
        verifier = initialize_verifier(problem, checkpoint)
    except VerifierError as error:
        channel.send(str(error))
        os._exit(0)
    occupy_missing()
    try:
        loader = initialize_loader(problem, checkpoint)
    except LoaderError as error:
        loader = error
    bench = Bench(problem, checkpoint, selection, loader, verifier)
    channel.send(None)

    def serve_desk(group: GroupConfig, descriptors: list[int]) -> NoReturn:
        _serve_desk(Channel.from_descriptor(descriptors[0]), descriptors[1], bench, group)

    fork_on_demand(channel, serve_desk)


def _serve_desk(channel: Channel, trace: int, bench: Bench, group: GroupConfig) -> NoReturn:
    os.setpgid(0, 0)
    # Outside the terminal's foreground, reading from it fails instead of stopping the process.
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)
    faulthandler.register(SHOW_TRACE, file=trace, all_threads=True)
    channel.send(("ok", os.getpid()))
    desk: Desk | None = None

    def make() -> tuple[bool, bool]:
        nonlocal desk
        desk = Desk(bench, group)
        return desk.independent, desk.keeps_store

    _reply(channel, make)
    while desk is not None:
        try:
            name, *arguments = channel.receive()
        except ChannelClosed:
            break
        _reply(channel, partial(getattr(desk, name), *arguments))
    # Whatever the author's code has left running ends here, this process included.
    os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _reply(channel: Channel, function: Callable[[], Any]) -> None:
    try:
        answer = ("ok", function())
    except LoaderError as error:
        answer = ("loader error", str(error))
    except BaseException as error:  # noqa: BLE001  # whatever it is, it costs this question and not the others
        answer = ("failed", f"slop-code itself failed on this case: {type(error).__name__}: {error}")
    try:
        channel.send(answer)
    except ChannelClosed:
        pass
    except _CANNOT_BE_SENT as error:
        if isinstance(answer[1], Handful):
            channel.send(("ok", answer[1]._replace(cases=tuple(map(_sendable, answer[1].cases)))))
        else:
            channel.send(("failed", f"a value of the report cannot leave the verifier's process: {error}"))


def _sendable(handed: HandedOut) -> HandedOut:
    """The case, or one in its place that says why it cannot be sent."""
    try:
        pickle.dumps(handed)
    except _CANNOT_BE_SENT as error:
        named = {name: getattr(handed.case, name) for name in _NAMES}
        trouble = f"the case cannot be put to a submission: it has a value that is no plain data ({error})"
        return handed._replace(case=type(handed.case).model_construct(**named), trouble=trouble)
    return handed
