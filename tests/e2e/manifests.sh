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

# Eleven for the controller, two for viewers and one for readers of metrics, over all roles; none for
# the agent.
has_fourteen_rules() {
	local rules
	rules=$("$kubectl" kustomize manifests/default | grep -cE '^- (apiGroups|nonResourceURLs):')
	[[ $rules -eq 14 ]] || { echo "$rules rules"; return 1; }
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

# In the operator's namespace, to list and watch and nothing else.
intent_adds_the_right_to_read_config_maps() {
	local role
	role=$(grep -B2 -A3 '^  - configmaps$' manifests/install.yaml)
	[[ $role == $'  - gpu-attribution-ca\n  resources:\n  - configmaps\n  verbs:\n  - get\n  - patch' ]] ||
		{ echo "default: $role"; return 1; }
	! grep -q gpu-operator manifests/install.yaml || { echo "default: gpu-operator"; return 1; }
	role=$(render_with intent | grep -A11 '^  name: gpu-attribution-intent$' | sed -n '/^  resources:$/,/^---$/p' | head -6)
	[[ $role == $'  resources:\n  - configmaps\n  verbs:\n  - list\n  - watch\n---' ]] || { echo "$role"; return 1; }
	[[ $(render_with intent | grep -c '^  namespace: gpu-operator$') -eq 2 ]]
}

# The Prometheus operator takes a rule or a PodMonitor only if it is as its definitions say.
monitoring_fits_the_operator() {
	hack/cluster/build monitoring >&2
	"$kubectl" kustomize manifests/monitoring |
		tests/lib/fits_definition.py "$(part_dir monitoring)"/*.yaml
}

# Of anything that makes pods of agents, in what is shipped and with each component: volumes and variables.
agents_refer_to_no_secret() {
	local part
	for part in '' processes dcgm intent; do
		{ if [[ $part ]]; then render_with "$part"; else "$kubectl" kustomize manifests/default; fi; } |
			tests/lib/agents_without_secrets.py || { echo "with '$part'"; return 1; }
	done
}

# Where the agents are is "privileged", as their hostPath needs it, and nothing else.
only_the_agents_namespace_is_privileged() {
	local levels
	levels=$("$kubectl" kustomize manifests/default | python3 -c '
import sys, yaml
for item in yaml.safe_load_all(sys.stdin):
    if item["kind"] == "Namespace":
        print(item["metadata"]["name"], item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"])')
	[[ $levels == $'gpu-attribution restricted\ngpu-attribution-agents privileged' ]] || { echo "$levels"; return 1; }
}

# Nothing but the image is left to say.
samples_build() {
	local folder
	"$kubectl" kustomize manifests/samples/taint-unhealthy | grep -q 'image: kubectl-and-jq$' || return 1
	"$kubectl" kustomize manifests/samples/cordon-reboot | grep -q 'image: kubectl$' || return 1
	mkdir -p .build
	folder=$(mktemp -d .build/overlay.XXXXXX)
	printf '%s\n' "kind: Kustomization" "resources: [argocd-cm.yaml]" \
		"components: [../../manifests/samples/argocd]" >"$folder/kustomization.yaml"
	printf '%s\n' "apiVersion: v1" "kind: ConfigMap" "metadata: {name: argocd-cm, namespace: argocd}" \
		"data: {url: here}" >"$folder/argocd-cm.yaml"
	"$kubectl" kustomize "$folder" |
		grep -q '^  resource.customizations.health.gpuattribution.dev_GPUAttribution: |$' || return 1
	rm -r "$folder"
}

# Each file says where its objects go, and an overlay can send all of them elsewhere.
samples_namespaces() {
	local sample folder
	mkdir -p .build
	folder=$(mktemp -d .build/overlay.XXXXXX)
	for sample in cordon-reboot taint-unhealthy; do
		python3 - manifests/samples/$sample/{rbac,deployment,cronjob}.yaml <<-'END' || return 1
			import os, sys, yaml
			for path in filter(os.path.exists, sys.argv[1:]):
			    for item in yaml.safe_load_all(open(path)):
			        places = item.get("subjects") or [item["metadata"]]
			        if item["kind"] != "ClusterRole":
			            assert all(p.get("namespace") == "gpu-attribution" for p in places), (path, places)
		END
		printf '%s\n' "kind: Kustomization" "namespace: elsewhere" \
			"resources: [../../manifests/samples/$sample]" >"$folder/kustomization.yaml"
		[[ $("$kubectl" kustomize "$folder" | grep -o 'namespace: .*' | sort -u) == 'namespace: elsewhere' ]] || return 1
	done
	rm -r "$folder"
}

echo 1..14
promise "install.yaml is what manifests/default says" hack/install-yaml --check
promise "the local overlay builds" "$kubectl" kustomize manifests/local
promise "the monitoring part builds" "$kubectl" kustomize manifests/monitoring
promise "rules and PodMonitor are as the Prometheus operator defines them" monitoring_fits_the_operator
promise "the samples build" samples_build
promise "the samples name the namespace of each object, and an overlay can change it" samples_namespaces
promise "the dashboard is as Grafana's schema has it" hack/check-dashboard
promise "no role has a wildcard" has_no_wildcard
promise "there are eleven rules for the controller, two for viewers and one for readers of metrics" has_fourteen_rules
promise "no pod of an agent refers to a Secret" agents_refer_to_no_secret
promise "the controller's namespace enforces restricted, and the agents' alone is privileged" only_the_agents_namespace_is_privileged
promise "the component for processes builds" render_with processes
promise "the component for dcgm-exporter opens the agent's way to it, and the default does not" dcgm_adds_an_address_and_a_way
promise "the component for intent gives a right in the operator's namespace, and the default does not" intent_adds_the_right_to_read_config_maps
