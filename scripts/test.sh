#!/usr/bin/env bash
# Passes the tests on a fresh machine: dependencies, checks, build, every test but the interop suite. Needs Node 20.19 or later.
set -euo pipefail
cd "$(dirname "$0")/.."
npm ci --no-audit --no-fund
npm run check
npm test
