"""delta-rs, asked over standard input: `rows` of a table through its query engine, and writes of rows that a DuckDB query makes."""

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from exact_rows import exact_rows
from json_lines import serve
from statistics_check import falsehoods


def rows(path, sql="SELECT * FROM t"):
    # Only the query engine applies deletion vectors.
    return exact_rows(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute(sql)))


def write(path, sql, mode="append", partition_by=None):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    write_deltalake(path, connection.sql(sql).to_arrow_table(), mode=mode, partition_by=partition_by)
    return DeltaTable(path).version()


def delete(path, where):
    return DeltaTable(path).delete(where)


def checkpoint(path):
    DeltaTable(path).create_checkpoint()
    return None


def copy(path, sql):
    """Appends what a query of the table gives."""
    table = DeltaTable(path)
    rows = pa.table(QueryBuilder().register("t", table).execute(sql))
    write_deltalake(table, rows, mode="append")
    return None


serve(
    {"rows": rows, "write": write, "copy": copy, "delete": delete, "checkpoint": checkpoint, "falsehoods": falsehoods}
)
