#!/usr/bin/env bash
# Runs the demo on a fresh machine: eight processes upsert into one table at once. Needs Node 20.19 or later.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || npm ci --no-audit --no-fund
npm run -s build
exec node dist/cli/main.js demo "$@"
