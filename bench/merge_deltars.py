"""The MERGE of merge-10m.mjs by delta-rs. Prints {"ms": ...}. Deletion vectors are off in the copy it gets: delta-rs rewrites files."""
import json, sys, time
import duckdb, pyarrow as pa
from deltalake import DeltaTable

path, count, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
total = 10_000_000
con = duckdb.connect()
con.execute("SET TimeZone='UTC'")
source = con.execute(f"""SELECT CASE WHEN i % 10 = 9 THEN {total} + i ELSE (i * {total // count}) END AS id, i AS c1, i AS c2, 1::INT AS c3, 2::INT AS c4,
  0.5::DOUBLE AS c5, 1.5::DOUBLE AS c6, 'new' AS c7, 'city' AS c8, TIMESTAMPTZ '2025-01-01 00:00:00+00' AS c9,
  CASE WHEN i % 10 = 8 THEN 'd' ELSE 'u' END AS op FROM range({count}) t(i)""").arrow()
source = source.read_all() if hasattr(source, "read_all") else source
names = [f"c{i}" for i in range(1, 10)]
table = DeltaTable(path)
start = time.perf_counter()
merge = table.merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t").when_matched_delete(predicate="s.op = 'd'")
merge = merge.when_matched_update({n: f"s.{n}" for n in (["id"] + names if mode == "all" else ["c1"])})
merge.when_not_matched_insert({n: f"s.{n}" for n in ["id"] + names}).execute()
print(json.dumps({"ms": (time.perf_counter() - start) * 1000}))
