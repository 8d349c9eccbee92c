#!/usr/bin/env bash
# A Postgres server of its own for tests, with logical decoding, on a free port of this machine. Prints `ready HOST:PORT`, and ends, with
# all that it stored, on a signal or when its standard input closes. Takes the machine's server if there is one; otherwise Debian's
# packages are unpacked under .peers/postgres, which is done once and needs no rights. --install does only that. Needs apt and Node.
set -euo pipefail
cd "$(dirname "$0")/.."
home="$PWD/.peers/postgres"

# The folder of the newest server; PG_BIN names another one. Logical decoding is used as of version 14.
server_bin() {
  [ -z "${PG_BIN:-}" ] || { echo "$PG_BIN"; return; }
  local bin
  for bin in $(ls -d /usr/lib/postgresql/*/bin "$home"/usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
    [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && { echo "$bin"; return; }
  done
}

install() {
  local packages=() name
  [ "$(id -u)" != 0 ] || apt-get update -qq >&2
  # The newest versioned server, and what of its needs this machine lacks.
  local server
  server=$(apt-cache depends postgresql | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]+$/ { print $2; exit }')
  while read -r name; do packages+=("$name"); done < <(
    apt-get install --print-uris -qq --no-install-recommends -y "$server" | awk '{ split($2, part, "_"); print part[1] }')
  rm -rf "$home.new"
  mkdir -p "$home.new/debs"
  (cd "$home.new/debs" && apt-get download -qq -o APT::Sandbox::User=root "${packages[@]}" >&2)
  for name in "$home.new"/debs/*.deb; do dpkg -x "$name" "$home.new"; done
  rm -rf "$home" "$home.new/debs"
  mv "$home.new" "$home"
}

[ -n "$(server_bin)" ] || install
bin=$(server_bin)
[ -n "$bin" ] || { echo 'no Postgres server could be installed' >&2; exit 1; }
[ "${1:-}" = --install ] && exit 0

. scripts/serve.sh
# At once: what is stored is thrown away.
serve_from braid-postgres QUIT

# Postgres refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chown 65534:65534 "$data"
  if ! "${as[@]}" test -x "$bin/postgres"; then
    cp -r "$home" "$data/home"
    chown -R 65534:65534 "$data/home"
    bin="$data/home${bin#"$home"}"
  fi
fi
root="${bin%/usr/lib/postgresql/*}"
[ -z "$root" ] || export LD_LIBRARY_PATH="$root/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
cd "$data"
"${as[@]}" "$bin/initdb" -D "$data/pg" -U postgres -A trust -E UTF8 --locale=C --no-sync > "$data.out" 2>&1 ||
  { cat "$data.out" >&2; rm -f "$data.out"; exit 1; }
rm -f "$data.out"
answers() { "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; }
serve "127.0.0.1:$port" answers \
  "${as[@]}" "$bin/postgres" -D "$data/pg" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$data" \
  -c wal_level=logical -c max_replication_slots=40 -c max_wal_senders=40 -c fsync=off -c full_page_writes=off -c jit=off \
  -c wal_sender_timeout=5s -c timezone=UTC
