import csv
import datetime
import gzip
import io
import json
import pathlib
import re
import sys
import zlib

COLUMNS = ("date", "place", "species", "count")
KEYS = ("species", "place", "month")
VALUED = ("--out", "--from", "--to", "--by")


class Mistake(Exception):
    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def main(arguments):
    files, options = parsed(arguments)
    records = [{**record, "file": number} for number, file in enumerate(files) for record in read(file)]
    first, last = options.get("--from", ""), options.get("--to", "9999-99-99")
    records = [record for record in records if first <= record["date"] <= last]
    if "--merge" in options:
        records = merged(records)
    key, out = options.get("--by", "species"), options.get("--out")
    rows = tally(records, key)
    if out is None:
        for row in rows:
            print(f"{row['birds']}\t{row[key]}")
    else:
        write(out, rows, key)
        print(f"{len(rows)} rows, {sum(row['birds'] for row in rows)} birds: {out}")


def parsed(arguments):
    usage = Mistake("usage: fieldnotes tally FILE... [OPTION]...", 2)
    if not arguments or arguments[0] != "tally":
        raise usage
    files, options = [], {}
    words = iter(arguments[1:])
    for word in words:
        if word in VALUED:
            options[word] = next(words, None)
            if options[word] is None:
                raise usage
        elif word == "--merge":
            options[word] = True
        elif word.startswith("--"):
            raise usage
        else:
            files.append(word)
    if not files:
        raise usage
    for option, value in options.items():
        if option in ("--from", "--to") and not is_date(value):
            raise Mistake(f"error: {option}: bad date: {value}", 2)
        if option == "--by" and value not in KEYS:
            raise Mistake(f"error: --by: unknown key: {value}", 2)
        if option == "--out" and pathlib.Path(value).suffix not in (".csv", ".json", ".md"):
            raise Mistake(f"error: {value}: unknown type", 2)
    return files, options


def read(name):
    path = pathlib.Path(name)
    readers = {".csv": spreadsheet, ".txt": notebook, ".jsonl": json_lines, ".json": json_array}
    reader = readers.get(pathlib.Path(name.removesuffix(".gz")).suffix)
    if reader is None:
        raise Mistake(f"error: {name}: unknown type")
    if not path.is_file():
        raise Mistake(f"error: {name}: no such file")
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Mistake(f"error: {name}: not UTF-8") from None
    except (OSError, EOFError, zlib.error):
        raise Mistake(f"error: {name}: not gzip") from None
    for line, found in reader(name, text):
        reason = found if isinstance(found, str) else problem(**found)
        if reason:
            raise Mistake(f"error: {name}:{line}: {reason}")
        yield {**found, "place": cleaned(found["place"]), "species": cleaned(found["species"]).lower()}


# Each reader yields a line's number and the fields of the record on it, or the reason why there is none.


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
            yield line, {**fields, "count": number(fields["count"] or "1")}
        line = reader.line_num + 1


def notebook(name, text):
    walk = None
    for line, content in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        content = content.strip(" \t")
        if content.startswith("@"):
            date, _, place = cleaned(content[1:]).partition(" ")
            walk = {"date": date, "place": place}
            if reason := problem(**walk):
                yield line, reason
        elif content and not content.startswith("#"):
            count, species = re.fullmatch(r"(?:([0-9]+)(?:[ \t]+|$))?(.*)", content).groups()
            yield line, {**walk, "species": species, "count": number(count or "1")} if walk else "no walk"


def json_lines(name, text):
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            try:
                yield line, json_fields(json.loads(content))
            except ValueError:
                yield line, "not JSON"


def json_array(name, text):
    try:
        values = json.loads(text)
    except ValueError:
        raise Mistake(f"error: {name}: not JSON") from None
    if not isinstance(values, list):
        raise Mistake(f"error: {name}: not an array")
    for position, value in enumerate(values, start=1):
        yield position, json_fields(value)


def json_fields(value):
    if not isinstance(value, dict):
        return "not an object"
    fields = {column: value.get(column) for column in COLUMNS}
    if isinstance(fields["date"], str):
        fields["date"] = fields["date"].strip(" \t")
    if fields["count"] is None:
        fields["count"] = 1
    elif isinstance(fields["count"], float) and fields["count"].is_integer():
        fields["count"] = int(fields["count"])
    return fields


def problem(date, place, species="any", count=1):
    if not is_date(date):
        return f"bad date: {shown(date)}"
    if not isinstance(place, str) or not cleaned(place):
        return "no place"
    if not isinstance(species, str) or not cleaned(species):
        return "no species"
    if type(count) is not int or count < 1:
        return f"bad count: {shown(count)}"
    return None


def is_date(text):
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def number(text):
    return int(text) if re.fullmatch(r"[0-9]+", text) else text


def shown(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cleaned(name):
    return re.sub(r"[ \t]+", " ", name).strip(" ")


def merged(records):
    birds = {}
    for record in records:
        files = birds.setdefault((record["date"], record["place"], record["species"]), {})
        files[record["file"]] = max(files.get(record["file"], 0), record["count"])
    chosen = {key: max(files, key=files.get) for key, files in birds.items()}
    return [
        record for record in records if chosen[record["date"], record["place"], record["species"]] == record["file"]
    ]


def tally(records, key):
    rows = {}
    for record in records:
        name = record["date"][:7] if key == "month" else record[key]
        row = rows.setdefault(name, {key: name, "records": 0, "birds": 0})
        row["records"] += 1
        row["birds"] += record["count"]
    return sorted(rows.values(), key=lambda row: (0 if key == "month" else -row["birds"], row[key]))


def write(out, rows, key):
    path = pathlib.Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            total = {name: sum(row[name] for row in rows) for name in ("records", "birds")}
            json.dump({"by": key, "rows": rows, "total": total}, file, indent=2, ensure_ascii=False)
        elif path.suffix == ".md":
            cells = [[key, "records", "birds"], ["---", "---:", "---:"], *(row.values() for row in rows)]
            file.writelines(f"| {' | '.join(map(str, line))} |\n" for line in cells)
        else:
            writer = csv.DictWriter(file, [key, "records", "birds"])
            writer.writeheader()
            writer.writerows(rows)


try:
    main(sys.argv[1:])
except Mistake as mistake:
    print(mistake, file=sys.stderr)
    raise SystemExit(mistake.status)
