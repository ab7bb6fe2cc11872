#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Both programs with a name server that takes questions and never answers: they end in time.
#
#	tests/e2e/dns.sh [BUILD_FOLDER]
#
# In namespaces of its own, for which it needs to be root or to be allowed user namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$(realpath "${1:-.build/release}")
limit_ms=2000

if [[ ${IN_NAMESPACES:-} != yes ]]; then
	map=()
	[[ $EUID -eq 0 ]] || map=(--map-root-user)
	if ! unshare "${map[@]}" --net --mount true 2>/dev/null; then
		echo "1..0 # SKIP namespaces are not allowed here"
		exit 0
	fi
	IN_NAMESPACES=yes exec unshare "${map[@]}" --net --mount "$0" "$build"
fi

folder=$(mktemp -d)
trap 'kill "$silent" 2>/dev/null; rm -rf "$folder"' EXIT
silent=
ip link set lo up
echo "nameserver 127.0.0.1" >"$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf

# Prints a line for every question, and answers none.
python3 -u - >"$folder/questions" <<'PYTHON' &
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("ready")
while True:
    server.recv(512)
    print("question")
PYTHON
silent=$!

# await TEXT: a line of the name server, for at most 10 s.
await() {
	for _ in {1..200}; do
		grep -q "$1" "$folder/questions" && return 0
		sleep 0.05
	done
	echo "the name server never said: $1"
	return 1
}

# ends_in_time COMMAND...: SIGTERM while the command waits for the name server.
ends_in_time() {
	local pid began took status=0
	: >"$folder/questions"
	"$@" >"$folder/log" 2>&1 &
	pid=$!
	if ! await question; then
		cat "$folder/log"
		kill -KILL "$pid"
		return 1
	fi
	began=$(date +%s%3N)
	kill -TERM "$pid"
	wait "$pid" || status=$?
	took=$(($(date +%s%3N) - began))
	echo "ended with status $status after $took ms"
	[[ $status -eq 0 && $took -le $limit_ms ]] || { cat "$folder/log"; return 1; }
}

cat >"$folder/kubeconfig" <<'YAML'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://nobody.test:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML
echo t >"$folder/token"

number=0
failed=0

# promise PROGRAM OPTION...
promise() {
	local verdict=ok output
	number=$((number + 1))
	output=$(ends_in_time "$build/$1" "${@:2}") || { verdict="not ok"; failed=1; }
	echo "$verdict $number - $1 ends within $limit_ms ms of SIGTERM while no name server answers"
	sed 's/^/# /' <<<"$output"
}

await ready
echo 1..2
promise gpu-attribution-controller --kubeconfig "$folder/kubeconfig" \
	--report-address 127.0.0.1:0 --probe-address 127.0.0.1:0
promise gpu-attribution-agent --node-name node --token-file "$folder/token" \
	--controller https://nobody.test:8443 --controller-ca-file ""
exit "$failed"
