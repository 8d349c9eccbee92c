#!/usr/bin/env bash
# The interop suite: Spark with Delta, delta-rs and DuckDB's delta extension beside this engine, and events from Kafka and Postgres.
# Needs Python 3.11, Java 17, Maven and apt.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || npm ci --no-audit --no-fund
bash scripts/install-peers.sh
bash scripts/start-kafka.sh --install
bash scripts/start-postgres.sh --install
npm run -s build
npm run -s interop
