#!/usr/bin/env bash
# The interop suite: Spark with Delta, delta-rs and DuckDB's delta extension beside this engine. Needs Python 3.11, Java 17 and Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || npm ci --no-audit --no-fund
bash scripts/install-peers.sh
npm run -s build
npm run -s interop
