"""Rows of an Arrow table as exact JSON, the same text for the same value whichever engine it came from.

Integers of 64 bits and timestamps (microseconds since 1970) are strings of digits, floating-point numbers the hex of their 64-bit pattern
(any NaN is `nan`), decimals plain text with their scale, binary hex, dates ISO text, maps lists of [key, value] in the order of their keys.
"""

import json
import struct

import pyarrow as pa

TO_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def exact_rows(table):
    columns = [[exact(value) for value in column] for column in table.columns]
    names = table.column_names
    return [dict(zip(names, cells)) for cells in zip(*columns)] if columns else []


def exact(scalar):
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return exact(scalar.value)
    if pa.types.is_struct(kind):
        return {kind.field(i).name: exact(scalar[i]) for i in range(kind.num_fields)}
    if pa.types.is_map(kind):
        entries = scalar.values
        pairs = [[exact(entry[0]), exact(entry[1])] for entry in entries]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0], ensure_ascii=False))
    if isinstance(scalar, pa.ListScalar) or hasattr(scalar, "values") and not pa.types.is_map(kind):
        return [exact(item) for item in scalar.values]
    if pa.types.is_timestamp(kind):
        return str(micros(scalar.value, kind.unit))
    if pa.types.is_floating(kind):
        return double_bits(scalar.as_py())
    value = scalar.as_py()
    if pa.types.is_int64(kind):
        return str(value)
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if pa.types.is_date(kind):
        return value.isoformat()
    return value


def micros(value, unit):
    if unit == "ns":
        if value % 1000:
            raise ValueError(f"{value} ns is no whole number of microseconds")
        return value // 1000
    return value * TO_MICROS[unit]


def double_bits(value):
    return "nan" if value != value else struct.pack(">d", value).hex()
