#!/usr/bin/env bash
# Installs the engines that the interop suite and the benchmarks compare with, into the ignored folder .peers. Done once: a stamp names
# what is installed. Needs Python 3.11, Java 17 and Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp="pyspark==4.2.0 delta-spark_2.13:4.4.0 deltalake==1.6.6 duckdb==1.5.5 v1"
[ "$(cat .peers/stamp 2>/dev/null || true)" = "$stamp" ] && exit 0
mkdir -p .peers
python=$(command -v python3.11 || command -v python3)
[ -x .peers/venv/bin/python ] || "$python" -m venv .peers/venv
.peers/venv/bin/python -m pip install --quiet --disable-pip-version-check \
  'pyspark==4.2.0' 'pandas<3' 'pyarrow<24' 'deltalake==1.6.6' 'duckdb==1.5.5' 'duckdb-extension-delta==1.5.5'
cat > .peers/pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>braidlake</groupId>
  <artifactId>peers</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.delta</groupId>
      <artifactId>delta-spark_2.13</artifactId>
      <version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B -f .peers/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/.peers/jars"
echo "$stamp" > .peers/stamp
