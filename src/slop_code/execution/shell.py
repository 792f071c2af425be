"""How a command line is handed to the shell."""

from __future__ import annotations

import shlex

SHELL = "/bin/sh"
# What only the shell itself can do.
_OF_THE_SHELL = frozenset(
    {
        *("!", ".", ":", "{", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export"),
        *("for", "getopts", "hash", "if", "read", "readonly", "return", "set", "shift", "source", "times", "trap"),
        *("type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while"),
    }
)
_OPERATORS = ";&|()"
# A line without any of these is its words and nothing else, which is sooner seen than read.
_NOT_PLAIN = frozenset(_OPERATORS + "'\"\\")


def shell_argv(line: str) -> list[str]:
    """The shell's arguments for a command line.

    A line of one simple command replaces the shell, so that a program killed by a signal is seen as killed by it. With
    `&&`, `|`, `;` and the like the shell stays, and what it makes of a signal (128+n) is its answer.
    """
    return [SHELL, "-c", f"exec {line}" if is_one_command(line) else line]


def is_one_command(line: str) -> bool:
    """Whether the line is a simple command that is a program's, in the words of the shell's grammar."""
    if "\n" in line:
        return False
    if _NOT_PLAIN.isdisjoint(line):
        return _is_command(line.split())
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return False
    return not any(word and set(word) <= set(_OPERATORS) for word in words) and _is_command(words)


def _is_command(words: list[str]) -> bool:
    # A variable set for the command would be taken for the command itself.
    return bool(words) and "=" not in words[0] and words[0] not in _OF_THE_SHELL
