#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: cordon-reboot.sh [--once]
#
# Cordons each node that has a GPU which only a reboot brings back, and labels it
# gpuattribution.dev/cordoned=Reboot. Pods that run there go on; who drains and reboots the node takes
# the label away. Nodes whose agent is silent are left alone: their state may be an old one.
#
#   MAX_NODES   how many nodes may have the label at a time (1): a fault of a driver must not cordon
#               all nodes
#   INTERVAL    seconds between two looks (30)
set -eu

MAX_NODES=${MAX_NODES:-1}
INTERVAL=${INTERVAL:-30}
LABEL=gpuattribution.dev/cordoned

say() { printf 'cordon-reboot: %s\n' "$*"; }

# Looks once. Fails, and has done nothing, if the API server did not answer.
look() {
	wanted=$(kubectl get gpuattributions.gpuattribution.dev --no-headers \
		--field-selector status.health.recoveryAction=Reboot,status.reportState=Current \
		-o custom-columns=NODE:.status.nodeName) || return 1
	cordoned=$(kubectl get nodes -l "$LABEL" --no-headers -o custom-columns=NAME:.metadata.name) || return 1
	n=$(printf '%s\n' "$cordoned" | grep -c .) || n=0
	for node in $(printf '%s\n' "$wanted" | sort -u); do
		if printf '%s\n' "$cordoned" | grep -qxF "$node"; then continue; fi
		if [ "$n" -ge "$MAX_NODES" ]; then
			say "$node needs a reboot, too, and is left alone: $n nodes are cordoned"
			continue
		fi
		kubectl cordon "$node" || return 1
		kubectl label node "$node" "$LABEL=Reboot" || return 1
		n=$((n + 1))
	done
}

if [ "${1-}" = --once ]; then
	look
	exit
fi
# As process 1 of a container a shell ignores TERM, and a trap waits for what runs in the foreground.
trap 'exit 0' TERM
while :; do
	look || say "that failed; again in $INTERVAL s"
	sleep "$INTERVAL" &
	wait $!
done
