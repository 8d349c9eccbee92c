"""DuckDB's own delta extension, asked over standard input: `rows` of a table."""

import pathlib

import duckdb
import duckdb_extension_delta

from exact_rows import exact_rows
from json_lines import serve

connection = duckdb.connect()
extension = pathlib.Path(duckdb_extension_delta.__file__).parent / f"extensions/v{duckdb.__version__}/delta.duckdb_extension"
connection.execute(f"LOAD '{extension}'")
connection.execute("SET TimeZone = 'UTC'")


def rows(path):
    return exact_rows(connection.sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table())


serve({"rows": rows})
