"""Which lines replace the shell."""

from __future__ import annotations

import pytest

from slop_code.execution.shell import shell_argv


@pytest.mark.parametrize("line", ["python main.py", "python main.py 'a && b' \"c; d\" > out", "node x.js --a=1 #tag"])
def test_a_simple_command_replaces_the_shell(line: str) -> None:
    assert shell_argv(line) == ["/bin/sh", "-c", f"exec {line}"]


@pytest.mark.parametrize(
    "line",
    ["a && b", "a | b", "a; b", "a &", "(a)", "a\nb", "a 'open", "X=1 a", "a $(b)", "", "a||b", "exit 3", "cd x"],
)
def test_every_other_line_is_left_to_the_shell(line: str) -> None:
    assert shell_argv(line) == ["/bin/sh", "-c", line]
