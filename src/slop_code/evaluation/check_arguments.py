"""Arguments that the shell will not read as their author seems to mean them.

Arguments are joined by single spaces into one shell line, without quoting. That is a feature (`&&`, `> out.txt`) and a
trap (`two words`, `$5`, `*`). What looks deliberate is left alone: operators that stand for themselves and make sense
where they stand, variables and commands in double quotes, and everything behind the first `&&`, `|` or `;`, where the
author is writing shell anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slop_code.evaluation.check_shell_quotes import QUOTED, QUOTED_DOLLAR, Reading, read_quotes
from slop_code.findings import listed, shown_value

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_CONTROL = re.compile(r"\|\|?|&&?|;")
_REDIRECTION = re.compile(r"\d*(>>?|<|>\||<>|[<>]&[\d-]?)")
# `>5` and `>=5` are more likely to be about numbers than about files.
_REDIRECTION_TO_FILE = re.compile(r"\d*(>>?|<)(?![\d.]+$|=)[^\s<>|&;()]+")
_PARENTHESES = frozenset("()")
_ARITHMETIC = re.compile(r"\$\(\([^()]*\)\)")
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
_VARIABLE = re.compile(rf"[${QUOTED_DOLLAR}](\w+|\{{(\w+)\}}|[@*#$!-])")
_ALWAYS_SET = frozenset({"HOME", "LANG", "PATH", "PWD", "TMPDIR"})
_NO_COMMAND = re.compile(r"[-+]?[\d.]+|-.*")
_HOME_OF = re.compile(r"~([a-z_][a-z0-9_-]*)(/|$)")
_MEANINGS = {
    ";": "ends the command",
    "&": "ends the command and leaves it in the background",
    "|": "makes a pipe",
    "<": "reads from a file",
    ">": "writes to a file",
    "(": "starts a subshell",
    ")": "ends a subshell",
}
_IF_MEANT = " (put it into double quotes if that is meant)"


@dataclass(frozen=True, slots=True)
class Misread:
    """What the shell makes of the argument at `index`, in words."""

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the shell finds around the arguments: variables that are set, and files that a pattern can match.

    `is_complete` if there are no other files that the case could read. `looks_at` tells whether anybody looks at a file
    that the case leaves.
    """

    variables: Collection[str] = ()
    files: Collection[str] = ()
    is_complete: bool = False
    looks_at: Callable[[str], bool] = lambda _name: True


def misread_arguments(
    arguments: Sequence[str], around: Surroundings | None = None, *, one_line: bool = False
) -> list[Misread]:
    """What is likely to be a mistake, at most one thing for each argument.

    With `one_line` the arguments were written as one text, so the blanks in it are meant.
    """
    texts = [_PLACEHOLDER.sub("/placeholder", text) for text in arguments]
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
    """What is odd up to the first control operator; of what stands behind it, only whether it can be a command."""
    line = _Line(reading.bare, around)
    for index, (text, live) in enumerate(zip(texts, reading.bare, strict=True)):
        bare = _SUBSTITUTION.sub(lambda match: QUOTED * len(match[0]), _ARITHMETIC.sub(_blank, live))
        words = bare.split()
        if not words:
            yield index, "a blank argument vanishes" if text else "an empty argument vanishes"
            continue
        if one_line or _is_operator(words[0]):
            for number, word in enumerate(words):
                if _CONTROL.fullmatch(word):
                    yield from line.after_control(index, word, words[number + 1 :])
                    return
                message = _trouble_of_word(word, around, is_last=False) or line.redirected(index, word)
                if message is not None:
                    yield index, message
        elif bare != live:
            yield index, _run_by_the_shell(live)
        elif len(words) > 1:
            yield index, _split(text, bare)
        elif words[0] != bare:
            yield index, "the blanks around it vanish"
        else:
            message = _trouble_of_word(bare, around, is_last=index == len(texts) - 1)
            message = message or _surprising_variable(bare, around)
            if message is not None:
                yield index, message


class _Line:
    """The whole line, for what can only be told from the words around an operator."""

    def __init__(self, bare: Sequence[str], around: Surroundings) -> None:
        self._bare = bare
        self._around = around

    def after_control(self, index: int, operator: str, rest: Sequence[str]) -> Iterator[tuple[int, str]]:
        following = next(iter([*rest, *(word for bare in self._bare[index + 1 :] for word in bare.split())]), None)
        if following is None and operator == ";":
            yield index, "the shell takes it for the end of the command, and the program never sees it"
        elif following is None and operator == "&":
            yield index, '"&" ends the command and leaves it in the background'
        elif following is None:
            yield index, f'no command follows "{operator}", so the shell runs nothing at all'
        elif _CONTROL.fullmatch(following):
            yield index, f'"{following}" follows "{operator}", so the shell runs nothing at all'
        elif _NO_COMMAND.fullmatch(following):
            yield index, f'"{operator}" {_MEANINGS[operator[0]]}, and the shell takes "{following}" for a command'

    def redirected(self, index: int, word: str) -> str | None:
        """What is odd about the file of a redirection."""
        match = re.fullmatch(r"(1?>>?|<)(.*)", word)
        if match is None:
            return None
        others = [other for number, bare in enumerate(self._bare) for other in bare.split() if number > index]
        name = match[2] or next(iter(others), "")
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name):
            return None
        name = name.removeprefix("./")
        if match[1] == "<":
            if self._around.is_complete and name not in self._around.files:
                return f'the shell reads from the file "{name}", which the case does not have'
        elif not self._around.looks_at(name) and not any(name in other for other in others[0 if match[2] else 1 :]):
            return f'the shell puts all output into the file "{name}", which nobody looks at'
        return None


def _blank(match: re.Match[str]) -> str:
    return QUOTED * len(match[0])


def _run_by_the_shell(live: str) -> str:
    if _ARITHMETIC.search(live):
        return f"the shell calculates, and puts the result there{_IF_MEANT}"
    match = _SUBSTITUTION.search(live)
    command = match[1].strip() if match else ""
    return f'the shell runs the command "{command}", and puts what that prints there{_IF_MEANT}'


def _surprising_variable(word: str, around: Surroundings) -> str | None:
    """A variable that is always set, and has nothing to do with the problem; whoever quotes it writes shell."""
    for match in _VARIABLE.finditer(word):
        name = match[2] or match[1]
        if name in _ALWAYS_SET and name not in around.variables and match[0][0] == "$":
            return f'the shell puts the value of "{match[0]}" there{_IF_MEANT}'
    return None


def _split(text: str, bare: str) -> str:
    if "\n" in bare.strip():
        return "the shell takes its second line for another command"
    spans = [match.span() for match in re.finditer(r"\S+", bare)]
    words = [text[start:end] for start, end in spans]
    return f"the shell makes the words {listed(words, limit=4)} of it"


def _is_operator(word: str) -> bool:
    return bool(_CONTROL.fullmatch(word) or _REDIRECTION.fullmatch(word) or _REDIRECTION_TO_FILE.fullmatch(word))


def _trouble_of_word(word: str, around: Surroundings, *, is_last: bool) -> str | None:
    """What is odd about a word whose quoted characters are blanked out."""
    if _is_operator(word):
        return None
    if word in _PARENTHESES:
        return f'"{word}" {_MEANINGS[word]}, and there can be none here: the shell runs nothing at all'
    if word.startswith("#"):
        return 'the shell takes it, and all that follows, for a comment, because it starts with "#"'
    if word == "~" or word.startswith("~/"):
        return 'the shell puts the home folder for "~"'
    home = _HOME_OF.match(word)
    if home is not None:
        return f'the shell puts the home folder of the user "{home[1]}" there, if there is one'
    for match in _VARIABLE.finditer(word):
        name = match[2] or match[1]
        if name not in _ALWAYS_SET and name not in around.variables:
            return f'the shell puts the variable "{match[0].replace(QUOTED_DOLLAR, "$")}" there, which nobody sets'
    if "`" in word:
        return "the shell runs what stands between backquotes"
    # A command line that was split at its blanks has `4;` in it.
    operators = word[:-1] if word.endswith(";") and not is_last else word
    for sign in operators:
        if sign in _MEANINGS:
            return f'"{sign}" {_MEANINGS[sign]}'
    wildcard = next((sign for sign in "*?" if sign in word), None)
    # No folder has the name of a scheme.
    if wildcard is not None and "://" not in word:
        is_only_wildcards = not word.strip("*?")
        if is_only_wildcards or not any(fnmatchcase(name, word) for name in around.files):
            return f'the shell puts the names of files for "{wildcard}", if any match'
    return None
