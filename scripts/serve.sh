# What the scripts share that start a server for tests. Sourced by them.

# serve_from NAME SIGNAL: $data is a new folder; at the end of the script, or at a signal, the server gets SIGNAL and the folder goes.
serve_from() {
  data=$(mktemp -d "${TMPDIR:-/tmp}/$1-XXXXXX")
  server_signal=$2
  server=
  watcher=
  trap stop_serving EXIT
  trap 'exit 143' INT TERM HUP
}

stop_serving() {
  trap - EXIT
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  [ -z "$server" ] || kill "-$server_signal" "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$data"
}

# serve ADDRESS ANSWERS COMMAND...: starts COMMAND, prints `ready ADDRESS` once ANSWERS succeeds, and stays until the server ends or standard
# input closes.
serve() {
  local address=$1 answers=$2
  exec 3<&0
  "${@:3}" > "$data/server.out" 2>&1 3<&- &
  server=$!
  for _ in $(seq 300); do
    kill -0 "$server" 2>/dev/null || { cat "$data/server.out" >&2; exit 1; }
    if "$answers"; then
      echo "ready $address"
      cat <&3 > /dev/null &
      watcher=$!
      wait -n "$server" "$watcher" || true
      exit 0
    fi
    sleep 0.1
  done
  echo 'the server did not answer' >&2
  exit 1
}
