#!/usr/bin/env bash
# Runs clients that others wrote against `kaldera serve`, and checks the words and the times that they get.
#
#     crates/kaldera-server/check-clients.sh KALDERA MODEL [--quick]
#
#     crates/kaldera-server/check-clients.sh target/release/kaldera target/digits
#
# KALDERA is the command with the feature `serve`, MODEL the folder of the digits model, with digits.wav in it. Prints a line
# `ok NAME: ...` or `FAILED NAME: reason` for each check; the status is 1 after a failure. Needs Python 3.10 or newer, node with
# npm, and ffmpeg, and installs the clients' pinned versions under target/. --quick, for CI, needs Python only: it leaves out npm's
# openai, vosk-transcriber and wyoming-bench.
set -euo pipefail

usage() {
    echo "usage: check-clients.sh KALDERA MODEL [--quick]" >&2
    exit 2
}

[ $# -ge 2 ] && [ $# -le 3 ] || usage
kaldera=$(realpath -e "$1") model=$(realpath -e "$2")
[ $# -eq 2 ] || [ "$3" = --quick ] || usage
quick=${3:-}
cd "$(dirname "$0")/../.."

export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
clients=crates/kaldera-server/clients
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}/clients${quick:+-quick}")
python=$environment/bin/python
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$environment"
if [ -n "$quick" ]; then
    "$python" -m pip install --quiet -c "$clients/requirements.txt" openai websockets wyoming
else
    "$python" -m pip install --quiet -r "$clients/requirements.txt"
    npm install --silent --no-fund --no-audit --prefix "$environment" openai@6.49.0
fi

work=$(mktemp -d)
servers=()
end() {
    for server in "${servers[@]}"; do
        kill -KILL "$server" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT

failed=0
wrong() {
    failed=1
    echo "FAILED $*"
}

# Starts a server with a log of this name, and sets `address` to its address and `wyoming` to the one for Wyoming.
serve() {
    local log=$work/$1.log tries=0
    shift
    : >"$log"
    "$kaldera" serve --listen=127.0.0.1:0 --wyoming=127.0.0.1:0 --language=en "$@" "digits=$model" 2>"$log" &
    servers+=($!)
    address='' wyoming=''
    until [ -n "$address" ] && [ -n "$wyoming" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ] || ! kill -0 $! 2>/dev/null; then
            echo "FAILED start: the server does not say both addresses"
            cat "$log"
            exit 1
        fi
        sleep 0.1
        address=$(sed -n 's|^kaldera serve: \(http://127\.0\.0\.1:[0-9]*\).*|\1|p' "$log")
        wyoming=$(sed -n 's|^kaldera serve: wyoming tcp://\(127\.0\.0\.1:[0-9]*\).*|\1|p' "$log")
    done
}

export KALDERA_KEY=the-right-key KALDERA_WAV=$model/digits.wav
printf '%s\n' another-key "$KALDERA_KEY" >"$work/keys"
serve keyed --api-key-file="$work/keys"
export KALDERA_KEYED_URL=$address
serve open
export KALDERA_URL=$address KALDERA_WYOMING=$wyoming

# The third column of a CTM file is the start of a word.
KALDERA_STARTS=$("$kaldera" transcribe -q --format=ctm "$model" "$model/digits.wav" | awk '{ print $3 }' | paste -sd ' ')
export KALDERA_STARTS
echo "words of digits.wav begin at $KALDERA_STARTS s"

run() {
    "$@" || failed=1
}

run "$python" "$clients/openai_http.py"
run "$python" "$clients/openai_realtime.py"
run "$python" "$clients/vosk_websocket.py"
run "$python" "$clients/wyoming_asr.py"
if [ -z "$quick" ]; then
    run "$python" "$clients/vosk_transcriber.py"
    run "$python" "$clients/bench_wyoming.py"
    run env NODE_FOLDER="$environment" node "$clients/openai_node.mjs"
fi

# Each server ends by itself, with status 0.
for server in "${servers[@]}"; do
    if ! kill -TERM "$server"; then
        wrong "SIGTERM: a server has ended before"
        continue
    fi
    status=0
    timeout 30 tail --pid="$server" -f /dev/null || wrong "SIGTERM: a server still runs after 30 s"
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" || status=$?
    if [ $status -eq 0 ]; then
        echo "ok SIGTERM: status 0"
    else
        wrong "SIGTERM: status $status"
    fi
done
servers=()
if grep -n 'panicked' "$work"/*.log; then
    wrong "log: a thread panicked"
fi
[ $failed -eq 0 ] || tail -n 30 "$work"/*.log >&2
exit $failed
