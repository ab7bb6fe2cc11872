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

# Renders manifests/default with a component in an overlay, as the README says.
render_with() {
	local folder
	mkdir -p .build
	folder=$(mktemp -d .build/overlay.XXXXXX)
	printf '%s\n' "kind: Kustomization" "resources: [../../manifests/default]" \
		"components: [../../manifests/$1]" >"$folder/kustomization.yaml"
	"$kubectl" kustomize "$folder"
	rm -r "$folder"
}

# Each is in the overlay once, and nowhere in the default.
dcgm_adds_an_address_and_a_way() {
	local line
	for line in "internalTrafficPolicy: Local" "name: GPU_ATTRIBUTION_DCGM_URL" \
		"app: nvidia-dcgm-exporter$" "kubernetes.io/metadata.name: gpu-operator"; do
		! grep -q "$line" manifests/install.yaml || { echo "default: $line"; return 1; }
		render_with dcgm | grep -q "$line" || { echo "overlay: no $line"; return 1; }
	done
	[[ $(render_with dcgm | grep -c "port: 8443$") -ge 1 ]]
}

echo 1..7
promise "install.yaml is what manifests/default says" hack/install-yaml --check
promise "the local overlay builds" "$kubectl" kustomize manifests/local
promise "the monitoring part builds" "$kubectl" kustomize manifests/monitoring
promise "no role has a wildcard" has_no_wildcard
promise "there are six rules for the controller and one for viewers" has_seven_rules
promise "the component for processes builds" render_with processes
promise "the component for dcgm-exporter opens the agent's way to it, and the default does not" dcgm_adds_an_address_and_a_way
