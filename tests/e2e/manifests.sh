#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What is shipped to be applied, looked at without a cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=hack/cluster/lib.sh
. hack/cluster/lib.sh
find_go
hack/cluster/build >&2
kubectl=$(part_dir kubernetes)/kubectl
number=0

# promise SENTENCE COMMAND...
promise() {
	local sentence=$1 output
	shift
	number=$((number + 1))
	if output=$("$@" 2>&1); then
		printf 'ok %d - %s\n' "$number" "$sentence"
	else
		printf 'not ok %d - %s\n' "$number" "$sentence"
		printf '%s\n' "$output" | sed 's/^/# /'
	fi
}


has_no_wildcard() { ! "$kubectl" kustomize manifests/default | grep -nE '^ *- ["'\'']?\*["'\'']?$'; }

# Six for the controller and one for viewers, over all roles; none for the agent.
has_seven_rules() {
	local rules
	rules=$("$kubectl" kustomize manifests/default | grep -cE '^- apiGroups:')
	[[ $rules -eq 7 ]] || { echo "$rules rules"; return 1; }
}

echo 1..5
promise "install.yaml is what manifests/default says" hack/install-yaml --check
promise "the local overlay builds" "$kubectl" kustomize manifests/local
promise "the monitoring part builds" "$kubectl" kustomize manifests/monitoring
promise "no role has a wildcard" has_no_wildcard
promise "there are six rules for the controller and one for viewers" has_seven_rules
