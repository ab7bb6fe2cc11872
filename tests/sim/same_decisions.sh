#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: same_decisions.sh JOIN_PROP JOIN_PROP_REWORDED
#
# Both must pass, and decide the same in the random worlds.
set -eu

digest() {
	"$1" invariants_hold_in_random_worlds | grep '^digest '
}

"$2" a_restart_moves_no_device_that_its_node_still_has >&2
before=$(digest "$1")
after=$(digest "$2")
printf '%s\n%s\n' "$before" "$after"
[ "$before" = "$after" ]
