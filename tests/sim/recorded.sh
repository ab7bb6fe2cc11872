#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/sim/recorded.sh SIM
#
# Of each seed in recorded.txt: is the rule violated still, does that fail without the file, and not with
# it, and does another rule in its place fail? What is mended must leave the list.
set -euo pipefail
folder=$(dirname "$0")
other=$(mktemp)
trap 'rm -f "$other"' EXIT
failed=0

# complain SEED WHAT
complain() {
	echo "seed $1: $2" >&2
	failed=1
}

sed -E 's/^([0-9]+) [A-Z_]+/\1 NO_SUCH_RULE/' "$folder/recorded.txt" >"$other"
while read -r seed _; do
	[[ $seed == [0-9]* ]] || continue
	run=("$1" --seed "$seed" --no-shrink)
	if "${run[@]}" >/dev/null; then
		complain "$seed" "violates nothing any more"
	elif ! "${run[@]}" --recorded "$folder/recorded.txt" >/dev/null; then
		complain "$seed" "violates another rule than is recorded"
	elif "${run[@]}" --recorded "$other" >/dev/null; then
		complain "$seed" "is believed whatever rule it violates"
	fi
done <"$folder/recorded.txt"
exit "$failed"
