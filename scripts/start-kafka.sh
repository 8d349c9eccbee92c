#!/usr/bin/env bash
# A Kafka broker of its own for tests: one node in KRaft mode on a free port of this machine. Prints `ready HOST:PORT`, and ends, with
# all that it stored, on a signal or when its standard input closes. --install only puts the jars under .peers/kafka, which is done once.
# Needs Java 17, Maven and Node.
set -euo pipefail
cd "$(dirname "$0")/.."
version=3.9.1
home="$PWD/.peers/kafka"
if [ "$(cat "$home/stamp" 2>/dev/null || true)" != "kafka $version v1" ]; then
  rm -rf "$home"
  mkdir -p "$home"
  cat > "$home/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>braidlake</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
XML
  mvn -q -B -f "$home/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$home/jars" >&2
  echo "kafka $version v1" > "$home/stamp"
fi
[ "${1:-}" = --install ] && exit 0

. scripts/serve.sh
# The stored events are thrown away, so the broker need not shut down in order.
serve_from braid-kafka KILL

read -r port controller < <(node -e '
  const servers = [0, 0].map(() => require("net").createServer().listen(0, "127.0.0.1"))
  setTimeout(() => { console.log(servers.map((s) => s.address().port).join(" ")); servers.forEach((s) => s.close()) }, 50)')
cat > "$data/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
log.dirs=$data/log
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.check.interval.ms=1000
PROPERTIES
java=(java -Xms128m -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$home/jars/*")
"${java[@]}" kafka.tools.StorageTool format -t AAAAAAAAQACAAAAAAAAAAQ -c "$data/server.properties" > "$data/format.out" 2>&1 ||
  { cat "$data/format.out" >&2; exit 1; }
answers() { (exec 4<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
serve "127.0.0.1:$port" answers "${java[@]}" kafka.Kafka "$data/server.properties"
