"""Whether the statistics that the log gives of each live file are true of its rows, read with pyarrow. Values compare as exact integers where
they can: timestamps as microseconds, dates as days. Arrays and maps have a NULL count only.
"""

import datetime
import decimal
import json
import pathlib
import urllib.parse

import pyarrow as pa
import pyarrow.parquet as pq

# What a text of milliseconds may have lost of an upper bound.
LOST_MICROS = 999


def falsehoods(path):
    """Sentences, one for each statistic that is not true; needs all commits in the log."""
    live, schema, partitions = replay(pathlib.Path(path))
    found = []
    for add in live:
        if add.get("stats"):
            found += [f"{add['path']}: {problem}" for problem in check(path, add, schema, partitions)]
    return found


def replay(table):
    live, schema, partitions = {}, None, []
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line, parse_float=decimal.Decimal)
            if "metaData" in action:
                schema = json.loads(action["metaData"]["schemaString"])
                partitions = action["metaData"]["partitionColumns"]
            for kind in ("remove", "add"):
                if kind in action:
                    file = action[kind]
                    vector = file.get("deletionVector") or {}
                    key = (file["path"], vector.get("pathOrInlineDv"), vector.get("offset"))
                    live.pop(key, None)
                    if kind == "add":
                        live[key] = file
    return live.values(), schema, partitions


def check(path, add, schema, partitions):
    stats = json.loads(add["stats"], parse_float=decimal.Decimal)
    location = urllib.parse.unquote(add["path"])
    file = pq.ParquetFile(location if location.startswith("/") else f"{path}/{location}")
    rows = file.read()
    if stats.get("numRecords") != rows.num_rows:
        yield f"numRecords {stats.get('numRecords')}, there are {rows.num_rows}"
    tight = stats.get("tightBounds", True)
    if add.get("deletionVector") and tight:
        yield "tightBounds in spite of a deletion vector"
    fields = [field for field in schema["fields"] if field["name"] not in partitions]
    columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    named = {(physical(field), side) for field in fields for side in ("minValues", "maxValues", "nullCount")}
    for side in ("minValues", "maxValues", "nullCount"):
        for name in stats.get(side) or {}:
            if (name, side) not in named:
                yield f"{side}.{name} is of no column"
    yield from check_fields(fields, columns, rows.num_rows, stats, tight, ())


def check_fields(fields, columns, row_count, stats, tight, above):
    for field in fields:
        name = physical(field)
        column = columns.get(name)
        path = (*above, name)
        kind = field["type"]
        if isinstance(kind, dict) and kind["type"] == "struct":
            inner = {}
            if column is not None:
                inner = {column.type.field(i).name: flat for i, flat in enumerate(column.flatten())}
            yield from check_fields(kind["fields"], inner, row_count, stats, tight, path)
            continue
        nulls = row_count if column is None else column.null_count
        counted = at(stats.get("nullCount"), path)
        if counted is not None and counted != nulls and (tight or counted not in (0, row_count)):
            yield f"nullCount of {path} is {counted}, there are {nulls}"
        lower, upper = at(stats.get("minValues"), path), at(stats.get("maxValues"), path)
        if lower is None and upper is None:
            continue
        if isinstance(kind, dict):
            yield f"bounds on {path}, a {kind['type']}"
            continue
        values = [] if column is None else [exact(value, kind) for value in plain(column) if value is not None]
        yield from check_bounds(path, kind, values, lower, upper, tight)


def check_bounds(path, kind, values, lower, upper, tight):
    if not values:
        yield f"bounds {lower!r}, {upper!r} of {path}, which holds nothing"
        return
    low = None if lower is None else bound(lower, kind)
    high = None if upper is None else bound(upper, kind)
    ordered = sorted(values)
    if low is not None and ordered[0] < low:
        yield f"min of {path} is {lower!r}, there is {ordered[0]!r}"
    slack = LOST_MICROS if kind.startswith("timestamp") else 0
    if high is not None and ordered[-1] > (high + slack if slack else high):
        yield f"max of {path} is {upper!r}, there is {ordered[-1]!r}"
    if tight and not slack and kind != "string":
        if low is not None and ordered[0] != low:
            yield f"min of {path} is {lower!r} and tight, the least is {ordered[0]!r}"
        if high is not None and ordered[-1] != high:
            yield f"max of {path} is {upper!r} and tight, the greatest is {ordered[-1]!r}"


def plain(column):
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()
    if pa.types.is_date(kind):
        return column.cast(pa.int32()).to_pylist()
    return column.to_pylist()


def exact(value, kind):
    if kind == "string":
        return value.encode()
    if kind in ("float", "double"):
        # NaN is greater than all else.
        return (1, 0.0) if value != value else (0, value)
    return value


def bound(value, kind):
    if kind == "string":
        return value.encode("utf-8", "surrogatepass")
    if kind == "float":
        return (0, pa.scalar(float(value), pa.float32()).as_py())
    if kind == "double":
        return (0, float(value))
    if kind == "date":
        return (datetime.date.fromisoformat(value) - datetime.date(1970, 1, 1)).days
    if kind.startswith("timestamp"):
        return instant(value)
    if kind.startswith("decimal"):
        return decimal.Decimal(value)
    return value


def instant(text):
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)


def physical(field):
    return field.get("metadata", {}).get("delta.columnMapping.physicalName", field["name"])


def at(tree, path):
    for name in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(name)
    return tree
