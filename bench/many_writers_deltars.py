"""One writer of many-writers.mjs --peers by delta-rs: prints `ready`, waits for a line, merges, prints a report as JSON.
Arguments: path, number of this writer, of writers, of merges, keys (near or spread), retries (true: the caller runs a MERGE that lost again)."""
import json, sys, time
from datetime import datetime, timezone
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

path, index, processes, merges, keys, retries = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5], sys.argv[6] == "true"
stride = 1_000_000
fields = [("id", pa.int64()), ("c1", pa.int64()), ("c2", pa.int64()), ("c3", pa.int32()), ("c4", pa.int32()), ("c5", pa.float64()),
  ("c6", pa.float64()), ("c7", pa.string()), ("c8", pa.string()), ("c9", pa.timestamp("us", tz="UTC"))]
names = [name for name, _ in fields]
epoch = datetime.fromtimestamp(0, timezone.utc)


def rows(merge):
    """The rows of many-writers-worker.mjs: eight updates, two inserts, of keys no other writer touches."""
    group = (merge * processes + index) * 10
    key = lambda row: (group + row if keys == "near" else (group + row) * 37 + row * 124_991) % stride
    ids = [key(row) if row < 8 else stride * 10 + group + row for row in range(10)]
    return pa.Table.from_pylist(
        [dict(zip(names, (id, 1, 2, 3, 4, 0.5, 1.5, "w", "c", epoch))) for id in ids], schema=pa.schema(fields))


def merge_once(source):
    table = DeltaTable(path)
    every = {name: f"s.{name}" for name in names}
    (table.merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update(every).when_not_matched_insert(every).execute())


# What a process does once is not the table's work: the log is read before the clock starts.
DeltaTable(path).version()
print("ready", flush=True)
sys.stdin.readline()
before = time.process_time()
report = {"latencies": [], "attempts": 0, "aborts": 0, "error": None}
for number in range(merges):
    source = rows(number)
    started = time.perf_counter()
    while True:
        report["attempts"] += 1
        try:
            merge_once(source)
        except (CommitFailedError, DeltaError) as error:
            report["error"] = str(error)[:200]
            # Only a lost race is worth another run; anything else would fail again.
            if retries and isinstance(error, CommitFailedError):
                continue
            report["aborts"] += 1
            break
        report["latencies"].append((time.perf_counter() - started) * 1000)
        break
report["cpuMs"] = (time.process_time() - before) * 1000
print(json.dumps(report), flush=True)
