"""Arguments that the shell will not read as their author seems to mean them.

Arguments are joined by single spaces into one shell line, without quoting. That is a feature (`&&`, `> out.txt`) and a
trap (`two words`, `$5`, `*`). What looks deliberate is left alone: operators that stand for themselves, and everything
behind the first `&&`, `|` or `;`, where the author is writing shell anyway.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slop_code.evaluation.check_shell_quotes import QUOTED, Reading, read_quotes
from slop_code.findings import listed, shown_value

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_CONTROL = re.compile(r"\|\|?|&&?|;")
_REDIRECTION = re.compile(r"\d*(>>?|<|>\||<>|[<>]&[\d-]?)")
# `>5` and `>=5` are more likely to be about numbers than about files.
_REDIRECTION_TO_FILE = re.compile(r"\d*(>>?|<)(?![\d.]+$|=)[^\s<>|&;()]+")
_OTHER_OPERATORS = frozenset({"!", "(", ")", "{", "}"})
# Nobody writes a command into a command by accident.
_SUBSTITUTION = re.compile(r"\$\([^()]*\)")
_VARIABLE = re.compile(r"\$(\w+|\{(\w+)\}|[@*#$!-])")
_ALWAYS_SET = frozenset({"HOME", "LANG", "PATH", "PWD", "TMPDIR"})
_MEANINGS = {
    ";": "ends the command",
    "&": "ends the command and leaves it in the background",
    "|": "makes a pipe",
    "<": "reads from a file",
    ">": "writes to a file",
    "(": "starts a subshell",
    ")": "ends a subshell",
}


@dataclass(frozen=True, slots=True)
class Misread:
    """What the shell makes of the argument at `index`, in words."""

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the shell finds around the arguments: variables that are set, and files that a pattern can match."""

    variables: Collection[str] = ()
    files: Collection[str] = ()


def misread_arguments(
    arguments: Sequence[str], around: Surroundings | None = None, *, one_line: bool = False
) -> list[Misread]:
    """What is likely to be a mistake, at most one thing for each argument.

    With `one_line` the arguments were written as one text, so the blanks in it are meant.
    """
    texts = [_PLACEHOLDER.sub("placeholder", text) for text in arguments]
    reading = read_quotes(texts)
    found = {trouble.index: trouble.message for trouble in reversed(reading.troubles)}
    for index, message in _troubles(texts, reading, around or Surroundings(), one_line):
        found.setdefault(index, message)
    return [
        Misread(index, f"argument {index + 1}, {shown_value(arguments[index])}: {message}")
        for index, message in sorted(found.items())
    ]


def uses_operators(arguments: Sequence[str]) -> bool:
    """Whether the line does more than start the program: pipes, redirections, further commands."""
    return any(_is_operator(word) for bare in read_quotes(arguments).bare for word in bare.split())


def _troubles(
    texts: Sequence[str], reading: Reading, around: Surroundings, one_line: bool
) -> Iterator[tuple[int, str]]:
    for index, (text, live) in enumerate(zip(texts, reading.bare, strict=True)):
        bare = _SUBSTITUTION.sub(lambda match: QUOTED * len(match[0]), live)
        words = bare.split()
        if _CONTROL.fullmatch(bare.strip()):
            return
        if not words:
            yield index, "a blank argument vanishes" if text else "an empty argument vanishes"
            continue
        if one_line or _is_operator(words[0]):
            for word in words:
                if _CONTROL.fullmatch(word):
                    return
                message = _trouble_of_word(word, around, is_last=False)
                if message is not None:
                    yield index, message
        elif len(words) > 1:
            yield index, _split(text, bare)
        elif words[0] != bare:
            yield index, "the blanks around it vanish"
        else:
            message = _trouble_of_word(bare, around, is_last=index == len(texts) - 1)
            if message is not None:
                yield index, message


def _split(text: str, bare: str) -> str:
    if "\n" in bare.strip():
        return "the shell takes its second line for another command"
    spans = [match.span() for match in re.finditer(r"\S+", bare)]
    words = [text[start:end] for start, end in spans]
    return f"the shell makes the words {listed(words, limit=4)} of it"


def _is_operator(word: str) -> bool:
    return bool(
        word in _OTHER_OPERATORS
        or _CONTROL.fullmatch(word)
        or _REDIRECTION.fullmatch(word)
        or _REDIRECTION_TO_FILE.fullmatch(word)
    )


def _trouble_of_word(word: str, around: Surroundings, *, is_last: bool) -> str | None:
    """What is odd about a word whose quoted characters are blanked out."""
    if _is_operator(word):
        return None
    if word.startswith("#"):
        return 'the shell takes it, and all that follows, for a comment, because it starts with "#"'
    if word == "~" or word.startswith("~/"):
        return 'the shell puts the home folder for "~"'
    for match in _VARIABLE.finditer(word):
        name = match[2] or match[1]
        if name not in _ALWAYS_SET and name not in around.variables:
            return f'the shell puts the variable "{match[0]}" there, which nobody sets'
    if "`" in word:
        return "the shell runs what stands between backquotes"
    # A command line that was split at its blanks has `4;` in it.
    operators = word[:-1] if word.endswith(";") and not is_last else word
    for sign in operators:
        if sign in _MEANINGS:
            return f'"{sign}" {_MEANINGS[sign]}'
    if "*" in word and (word == "*" or not any(fnmatchcase(name, word) for name in around.files)):
        return 'the shell puts the names of files for "*", if any match'
    return None
