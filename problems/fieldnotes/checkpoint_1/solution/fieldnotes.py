import csv
import datetime
import io
import json
import pathlib
import re
import sys

COLUMNS = ("date", "place", "species", "count")


class Mistake(Exception):
    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def main(arguments):
    files, out = parsed(arguments)
    records = [record for file in files for record in read(file)]
    rows = tally(records)
    if out is None:
        for row in rows:
            print(f"{row['birds']}\t{row['species']}")
    else:
        write(out, rows)
        print(f"{len(rows)} rows, {sum(row['birds'] for row in rows)} birds: {out}")


def parsed(arguments):
    usage = Mistake("usage: fieldnotes tally FILE... [OPTION]...", 2)
    if not arguments or arguments[0] != "tally":
        raise usage
    files, out = [], None
    words = iter(arguments[1:])
    for word in words:
        if word == "--out":
            out = next(words, None)
            if out is None:
                raise usage
        elif word.startswith("--"):
            raise usage
        else:
            files.append(word)
    if not files:
        raise usage
    if out is not None and pathlib.Path(out).suffix not in (".csv", ".json"):
        raise Mistake(f"error: {out}: unknown type", 2)
    return files, out


def read(name):
    path = pathlib.Path(name)
    readers = {".csv": spreadsheet, ".txt": notebook}
    if path.suffix not in readers:
        raise Mistake(f"error: {name}: unknown type")
    if not path.is_file():
        raise Mistake(f"error: {name}: no such file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Mistake(f"error: {name}: not UTF-8") from None
    for line, fields in readers[path.suffix](name, text):
        yield record(f"{name}:{line}", **fields)


def spreadsheet(name, text):
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    for column in COLUMNS:
        if column not in header:
            raise Mistake(f"error: {name}:1: no column {column}")
    line = reader.line_num + 1
    for cells in reader:
        if cells:
            cells += [""] * (len(header) - len(cells))
            fields = {column: cells[header.index(column)].strip(" \t") for column in COLUMNS}
            yield line, {**fields, "count": fields["count"] or "1"}
        line = reader.line_num + 1


def notebook(name, text):
    walk = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        line = line.strip(" \t")
        if line.startswith("@"):
            date, _, place = cleaned(line[1:]).partition(" ")
            record(f"{name}:{number}", date, place)
            walk = {"date": date, "place": place}
        elif line and not line.startswith("#"):
            if walk is None:
                raise Mistake(f"error: {name}:{number}: no walk")
            count, species = re.fullmatch(r"(?:([0-9]+)(?:[ \t]+|$))?(.*)", line).groups()
            yield number, {**walk, "species": species, "count": count or "1"}


def record(at, date, place, species="any", count="1"):
    if not is_date(date):
        raise Mistake(f"error: {at}: bad date: {date}")
    if not cleaned(place):
        raise Mistake(f"error: {at}: no place")
    if not cleaned(species):
        raise Mistake(f"error: {at}: no species")
    if not re.fullmatch(r"[0-9]+", count) or int(count) < 1:
        raise Mistake(f"error: {at}: bad count: {count}")
    return {"date": date, "place": cleaned(place), "species": cleaned(species).lower(), "count": int(count)}


def is_date(text):
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def cleaned(name):
    return re.sub(r"[ \t]+", " ", name).strip(" ")


def tally(records):
    rows = {}
    for item in records:
        row = rows.setdefault(item["species"], {"species": item["species"], "records": 0, "birds": 0})
        row["records"] += 1
        row["birds"] += item["count"]
    return sorted(rows.values(), key=lambda row: (-row["birds"], row["species"]))


def write(out, rows):
    path = pathlib.Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            total = {key: sum(row[key] for row in rows) for key in ("records", "birds")}
            json.dump({"by": "species", "rows": rows, "total": total}, file, indent=2, ensure_ascii=False)
        else:
            writer = csv.DictWriter(file, ["species", "records", "birds"])
            writer.writeheader()
            writer.writerows(rows)


try:
    main(sys.argv[1:])
except Mistake as mistake:
    print(mistake, file=sys.stderr)
    raise SystemExit(mistake.status)
