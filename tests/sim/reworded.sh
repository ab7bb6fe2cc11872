#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: reworded.sh SIM SIM_REWORDED COUNT
#
# Both simulators must write the same, but for texts, and find the same in it: whether that is right
# is judged by the other suites of the simulator.
set -eu

run() {
	"$1" --count "$2" --no-shrink --keep-going --digest | sed 's/, [0-9.]* ms of CPU each//'
}

before=$(run "$1" "$3") || true
after=$(run "$2" "$3") || true
[ -n "$after" ]
echo "$after"
if [ "$before" != "$after" ]; then
	printf 'With the texts as they are:\n%s\n' "$before"
	exit 1
fi
