"""Arguments that the shell reads otherwise than they look; what a real shell makes of them is the judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from slop_code.evaluation.check_arguments import Surroundings, misread_arguments

AROUND = Surroundings(
    variables=["RATE"],
    files=["a.csv", "b.csv", "in.dat"],
    is_complete=True,
    looks_at=lambda name: name == "out.txt",
)


def words(arguments: list[str], folder: Path) -> list[str] | None:
    """What a program gets from the shell, or None if it does not even start."""
    show = f"{sys.executable} -c 'import json, sys; print(json.dumps(sys.argv[1:]))'"
    line = " ".join([show, *arguments])
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False, cwd=folder)
    first = done.stdout.partition("\n")[0]
    return json.loads(first) if first.startswith("[") else None


def messages(*arguments: str, one_line: bool = False) -> list[str]:
    return [misread.message for misread in misread_arguments(arguments, AROUND, one_line=one_line)]


@pytest.mark.parametrize(
    ("arguments", "index", "message"),
    [
        (["--name", "Ada Lovelace"], 1, 'the shell makes the words "Ada" and "Lovelace" of it'),
        (["filter", "age > 30"], 1, 'the shell makes the words "age", ">" and "30" of it'),
        (["say", "one\ntwo"], 1, "the shell takes its second line for another command"),
        (["set", "x", ""], 2, "an empty argument vanishes"),
        (["set", "x", "  "], 2, "a blank argument vanishes"),
        (["pad", " x"], 1, "the blanks around it vanish"),
        (["mul", "2", "*", "3"], 2, 'the shell puts the names of files for "*"'),
        (["find", "*.txt"], 1, 'the shell puts the names of files for "*"'),
        (["cost", "$5"], 1, 'the shell puts the variable "$5" there, which nobody sets'),
        (["cost", '"$total"'], 1, 'the shell puts the variable "$total" there'),
        (["cost", "${total}"], 1, 'the shell puts the variable "${total}" there'),
        (["get", "http://x/?a=1&b=2"], 1, '"&" ends the command and leaves it in the background'),
        (["run", "a;b"], 1, '";" ends the command'),
        (["sql", "SELECT;"], 1, '";" ends the command'),
        (["or", "a|b"], 1, '"|" makes a pipe'),
        (["tag", "<b>"], 1, '"<" reads from a file'),
        (["over", ">5"], 1, '">" writes to a file'),
        (["over", ">=5"], 1, '">" writes to a file'),
        (["f", "f(x)"], 1, '"(" starts a subshell'),
        (["tag", "#home", "x"], 1, 'because it starts with "#"'),
        (["go", "~/notes"], 1, 'the shell puts the home folder for "~"'),
        (["go", "~"], 1, 'the shell puts the home folder for "~"'),
        (["md", "`ls`"], 1, "the shell runs what stands between backquotes"),
        (["md", '"`ls`"'], 1, "the shell runs what stands between backquotes"),
        (["say", r"a\nb"], 1, r'the shell makes "n" of "\n"'),
        (["say", "it's"], 1, "its quote (') is never closed, so the shell runs nothing at all"),
        (["say", '"open'], 1, 'its quote (") is never closed'),
        (["say", "it's", "Bob's"], 1, "the shell takes its quotes (') away"),
        (["say", "'a", "b'c"], 1, "its quote (') goes on until argument 3"),
        (["put", '{"a":1}'], 1, 'the shell takes its quotes (") away'),
        (["put", '["a"]'], 1, 'the shell takes its quotes (") away'),
        (["go", "$HOME"], 1, 'the shell puts the value of "$HOME" there (put it into double quotes if that is meant)'),
        (["go", "${HOME}/x"], 1, 'the shell puts the value of "${HOME}" there'),
        (["say", "$(echo a b)"], 1, 'the shell runs the command "echo a b", and puts what that prints there (put'),
        (["sum", "$((1+2))"], 1, "the shell calculates, and puts the result there"),
        (["ask", "notes.tx?"], 1, 'the shell puts the names of files for "?", if any match'),
        (["ask", "?????.txt"], 1, 'the shell puts the names of files for "?"'),
        (["ask", "~root"], 1, 'the shell puts the home folder of the user "root" there, if there is one'),
        (["join", "a\\", "b"], 1, "its backslash quotes the blank behind it, so that argument 3 becomes a part of it"),
        (["calc", "("], 1, '"(" starts a subshell, and there can be none here'),
        (["more", "<b"], 1, 'the shell reads from the file "b", which the case does not have'),
        (["more", "<", "b"], 1, 'the shell reads from the file "b", which the case does not have'),
        (["more", ">b"], 1, 'the shell puts all output into the file "b", which nobody looks at'),
        (["calc", "6", "|", "2"], 2, '"|" makes a pipe, and the shell takes "2" for a command'),
        (["calc", "6", "&", "-x"], 2, '"&" ends the command and leaves it in the background, and the shell takes "-x"'),
        (["bits", "6", "|"], 2, 'no command follows "|", so the shell runs nothing at all'),
        (["bits", "6", "&&"], 2, 'no command follows "&&", so the shell runs nothing at all'),
        (["bits", "6", "|", "|", "cat"], 2, '"|" follows "|", so the shell runs nothing at all'),
        (["sql", ";"], 1, "the shell takes it for the end of the command, and the program never sees it"),
        (["and", "&"], 1, '"&" ends the command and leaves it in the background'),
    ],
)
def test_what_looks_like_a_mistake_is_told(arguments: list[str], index: int, message: str, tmp_path: Path) -> None:
    found = misread_arguments(arguments, AROUND)
    assert [misread.index for misread in found] == [index]
    assert message in found[0].message
    assert found[0].message.startswith(f"argument {index + 1}, ")
    (tmp_path / "notes.txt").touch()
    assert words(arguments, tmp_path) != arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "2", "3"],
        ["--name", "'Ada Lovelace'"],
        ["--name", '"Ada Lovelace"'],
        ["--name='Ada Lovelace'", "--x"],
        ["say", "Ada\\ Lovelace", r"\$5", r"\*", "'$5'", "'*'", "'#x'", "'a;b|c>d'", "a#b", "a~b"],
        ["say", "'O'\"'\"'Neill'"],
        ["put", "'{\"a\": 1}'"],
        ["say", "''", '""'],
        ["cost", "$RATE", '"$HOME/x"', '"${PWD}/y"', "${x:-5}"],
        ["show", '"$(cat name.txt)"', "'$(cat)'", "'$HOME'", "'a?'", r"\?"],
        ["match", "[x]", "{a,b}", "100%", "a=b", "a@b", "!", "^x$", "{", "}"],
        ["get", "http://x/?page=1", "?.csv"],
        # Split at its blanks, whole again when joined.
        ["say", '"two', 'words"', "end"],
        ["--name='two", "words'"],
        # Shell on purpose.
        ["list", "|", "sort"],
        ["list", ">", "out.txt"],
        ["list", ">out.txt", "2>&1"],
        ["list", "2>", "/dev/null"],
        ["list", ">/dev/null", "2>errors.txt"],
        ["list", ">new.txt", "&&", "cat", "new.txt"],
        ["read", "<{{static:rates}}"],
        ["read", "<in.dat"],
        ["list", "> out.txt"],
        ["list", "<", "in.dat"],
        ["sum", "*.csv"],
        ["clear", "&&", "test", "!", "-e", "memory.json"],
        ["clear", "&& cat *.json $x"],
        ["store", "x", "4;", "cat", "x"],
        ["run", ";", "echo", "$?"],
        ["use", "{{static:my data}}/x", "{{ static:rates }}"],
    ],
)
def test_what_is_quoted_or_looks_deliberate_is_not(arguments: list[str]) -> None:
    assert messages(*arguments) == []


def test_the_blanks_of_one_text_are_meant_and_the_rest_is_looked_at() -> None:
    assert messages("add 2 3 && cat 'a b' > out.txt", one_line=True) == []
    assert messages("add 2 3\n", one_line=True) == []
    assert messages("add $HOME $(cat in.txt) | sort", one_line=True) == []
    (message,) = messages("add 2 3 |", one_line=True)
    assert 'no command follows "|"' in message
    (message,) = messages("mul 2 * 3", one_line=True)
    assert 'for "*"' in message


def test_an_argument_is_told_of_once_and_each_of_them_is() -> None:
    found = misread_arguments(["a b", "$1 * ;", "c"], AROUND)
    assert [misread.index for misread in found] == [0, 1]
