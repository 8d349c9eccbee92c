"""Spark with Delta, asked over standard input: `run` a statement, `rows` of a query."""

from exact_rows import exact_rows
from json_lines import serve
from spark_session import start

spark = start()
# Tables of the suite are tiny: compiling and replanning their queries would take most of the time.
for setting in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
    spark.conf.set(setting, "false")


def run(sql):
    spark.sql(sql)
    return None


def rows(sql):
    return exact_rows(spark.sql(sql).toArrow())


def forget():
    """Spark keeps snapshots of tables it has seen; another engine may have gone on since."""
    spark.catalog.clearCache()
    spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return None


serve({"run": run, "rows": rows, "forget": forget})
