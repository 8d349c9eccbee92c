"""One local Spark session with Delta, from the folder that scripts/install-peers.sh fills."""

import os
import pathlib
import re
import tempfile

import pyspark
from pyspark.sql import SparkSession

PEERS = pathlib.Path(__file__).resolve().parent.parent / ".peers"


def artifact(jar):
    return re.sub(r"-\d.*", "", jar.name)


def delta_jars():
    """Delta and what it needs beyond the jars that Spark brings."""
    shipped = {artifact(jar) for jar in (pathlib.Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    return [str(jar) for jar in sorted((PEERS / "jars").glob("*.jar")) if artifact(jar) not in shipped]


def start():
    # Dates and timestamps without a zone are read in the zone of the process.
    os.environ["TZ"] = "UTC"
    scratch = tempfile.mkdtemp(prefix="braidlake-spark-")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("braidlake-interop")
        .config("spark.jars", ",".join(delta_jars()))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.warehouse.dir", scratch)
        .config("spark.local.dir", scratch)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={scratch}")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
