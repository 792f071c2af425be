import pathlib
import re
import sys

LETTERS = re.compile(r"([-+]?)(?:([0-9]{1,4})h)?(?:([0-9]{1,4})m)?")
COLON = re.compile(r"([-+]?)([0-9]{1,4}):([0-9]{2})")
DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
TIMES = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


def fail(text, status=2):
    print(text, file=sys.stderr)
    raise SystemExit(status)


def minutes_of(text):
    found = LETTERS.fullmatch(text) or COLON.fullmatch(text)
    sign, hours, minutes = found.groups() if found else ("", None, None)
    if not (hours or minutes) or (hours and int(minutes or 0) >= 60):
        fail(f"error: not a duration: {text}")
    total = int(hours or 0) * 60 + int(minutes or 0)
    return -total if sign == "-" else total


def shown(total):
    hours, minutes = divmod(abs(total), 60)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    return ("-" if total < 0 else "") + (text or "0m")


def add(arguments):
    if not arguments:
        fail("usage: timesheet add DURATION...")
    print(shown(sum(map(minutes_of, arguments))))


def report(arguments):
    files, step = report_arguments(arguments)
    if files and not pathlib.Path(files[0]).is_file():
        fail(f"error: no such file: {files[0]}", 1)
    data = pathlib.Path(files[0]).read_bytes() if files else sys.stdin.buffer.read()
    totals = {}
    for label, minutes in entries(data.decode()):
        totals[label] = totals.get(label, 0) + -(-minutes // step) * step
    for label in sorted(totals, key=lambda label: (-totals[label], label.encode())):
        print(f"{shown(totals[label])}\t{label}")
    print(f"{shown(sum(totals.values()))}\ttotal")


def report_arguments(arguments):
    files, step, words = [], "1", iter(arguments)
    for word in words:
        if word == "--round":
            step = next(words, None)
        elif word.startswith("-"):
            step = None
        else:
            files.append(word)
        if step is None or len(files) > 1:
            fail("usage: timesheet report [--round MINUTES] [FILE]")
    if not re.fullmatch(r"[0-9]{1,4}", step) or not 1 <= int(step) <= 60:
        fail(f"error: not a number of minutes: {step}")
    return files, int(step)


def entries(text):
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        date, times, label, *_ = [*re.split(r"[ \t]+", line, maxsplit=2), "", ""]
        if not DATE.fullmatch(date):
            fail(f"error: line {number}: bad date: {date}", 1)
        found = TIMES.fullmatch(times)
        if not found:
            fail(f"error: line {number}: bad times: {times}", 1)
        if not label:
            fail(f"error: line {number}: no label", 1)
        start_hour, start_minute, end_hour, end_minute = map(int, found.groups())
        minutes = (end_hour * 60 + end_minute) - (start_hour * 60 + start_minute)
        yield label, minutes if minutes >= 0 else minutes + 24 * 60


def main(arguments):
    match arguments:
        case ["add", *durations]:
            add(durations)
        case ["report", *rest]:
            report(rest)
        case _:
            fail("usage: timesheet COMMAND [ARGUMENT]...")


main(sys.argv[1:])
