#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: reworded.sh SIM SIM_REWORDED COUNT
#
# Both simulators must write the same, but for texts, and find nothing wrong with it.
set -eu

run() {
	"$1" --count "$2" --no-shrink --digest | sed 's/, [0-9.]* ms of CPU each//'
}

before=$(run "$1" "$3")
after=$(run "$2" "$3")
echo "$after"
if [ "$before" != "$after" ]; then
	printf 'With the texts as they are:\n%s\n' "$before"
	exit 1
fi
case "$after" in
*" 0 violations"*) ;;
*) exit 1 ;;
esac
