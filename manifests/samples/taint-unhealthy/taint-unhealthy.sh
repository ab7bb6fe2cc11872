#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: taint-unhealthy.sh
#
# Makes a DeviceTaintRule for each device of dynamic resource allocation that is, or is cut from, a GPU
# whose health is Unhealthy, and says who is on it. A rule stays until its GPU is known to be healthy: a
# recent report says so, and the condition Healthy is True. A GPU of which nobody hears is not well. A
# rule goes, too, when another GPU has the device's name. With nothing to do it writes nothing. Needs
# kubectl and jq.
#
#   EFFECT        None (the default): nothing happens, and the rule's status tells who would be evicted.
#                 NoSchedule: no new pod gets the device. NoExecute: pods on it are evicted.
#   API_VERSION   resource.k8s.io/v1beta2, of Kubernetes 1.36
set -eu

EFFECT=${EFFECT:-None}
API_VERSION=${API_VERSION:-resource.k8s.io/v1beta2}
LABEL=gpuattribution.dev/taint

case $EFFECT in
None | NoSchedule | NoExecute) ;;
*)
	echo "taint-unhealthy: EFFECT is None, NoSchedule or NoExecute, and not '$EFFECT'" >&2
	exit 1
	;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# All is read first: what cannot be read must not look as if it were gone.
kubectl get gpuattributions.gpuattribution.dev -o json >"$folder/gpus"
kubectl get resourceslices.resource.k8s.io -o json >"$folder/slices"
kubectl get devicetaintrules.resource.k8s.io -l "$LABEL=Unhealthy" -o json >"$folder/rules"

# The rules that there should be: those of unhealthy GPUs, and those that stay, with the effect that is
# wanted now. Only a pool's newest slices count.
jq -n --slurpfile gpus "$folder/gpus" --slurpfile slices "$folder/slices" --slurpfile rules "$folder/rules" \
	--arg effect "$EFFECT" --arg version "$API_VERSION" --arg mark "$LABEL" '
	def newest: group_by([.spec.driver, .spec.pool.name])
		| map((map(.spec.pool.generation) | max) as $last
			| map(select(.spec.pool.generation == $last))[]);
	def uuids: [.attributes.uuid.string, .attributes.parentUUID.string];
	def is_of($uuid): uuids | index($uuid) != null;
	def is_well: .status.health.state == "Healthy" and .status.reportState == "Current"
		and any(.status.conditions[]?; .type == "Healthy" and .status == "True");
	def rule($name; $selector; $value): {
		apiVersion: $version, kind: "DeviceTaintRule",
		metadata: {name: $name, labels: {($mark): "Unhealthy"}},
		spec: {
			deviceSelector: $selector,
			taint: {key: "gpuattribution.dev/unhealthy", value: $value, effect: $effect}
		}
	};
	[($slices[0].items | newest[]).spec as $slice | $slice.devices[] | . + {at:
		{driver: $slice.driver, pool: $slice.pool.name, device: .name}}] as $devices
	| [$devices[] as $device | $gpus[0].items[] | . as $gpu | select(.status.health.state == "Unhealthy")
		| select($device | is_of($gpu.spec.uuid))
		| rule("\(.metadata.name).\($device.name)"; $device.at; .status.health.reasons[0] // "")] as $sick
	| [$rules[0].items[] | . as $rule | .spec.deviceSelector as $at
		| select($sick | any(.metadata.name == $rule.metadata.name) | not)
		| (.metadata.name | rtrimstr(".\($at.device)")) as $name
		| select($gpus[0].items | any(.metadata.name == $name and is_well) | not)
		| select($devices | any(.at == $at and (uuids | map(strings | ascii_downcase) | index($name) == null)) | not)
		| rule(.metadata.name; $at; .spec.taint.value // "")] as $kept
	| {all: ($sick + $kept), $kept}' >"$folder/plan"
jq '.all' "$folder/plan" >"$folder/wanted"

# Those that are not there, or differ.
jq -n --slurpfile wanted "$folder/wanted" --slurpfile rules "$folder/rules" '
	def same: {name: .metadata.name, device: .spec.deviceSelector,
		taint: (.spec.taint | {key, value: (.value // ""), effect})};
	($rules[0].items | map(same)) as $there
	| {apiVersion: "v1", kind: "List",
		items: ($wanted[0] | map(select(same as $one | $there | index([$one]) == null)))}' >"$folder/missing"
if [ "$(jq '.items | length' "$folder/missing")" -gt 0 ]; then
	kubectl apply -f - <"$folder/missing"
fi

# Those that are there and should not be.
jq -r -n --slurpfile wanted "$folder/wanted" --slurpfile rules "$folder/rules" '
	($rules[0].items | map(.metadata.name)) - ($wanted[0] | map(.metadata.name)) | .[]' >"$folder/surplus"
while read -r name; do
	kubectl delete devicetaintrules.resource.k8s.io "$name"
done <"$folder/surplus"

jq -r '.kept[] | "taint-unhealthy: \(.metadata.name) stays: its GPU is not known to be healthy"' "$folder/plan"
jq -r --arg effect "$EFFECT" '.items[] | select(.status.health.state == "Unhealthy") |
	"taint-unhealthy: \(.metadata.name) on \(.status.nodeName), \(.status.health.reasons | join(", ")), effect \($effect). On it: "
	+ ([.status.tenants[]? | "\(.podNamespace)/\(.podName)"] | unique | if . == [] then "nobody" else join(", ") end)
	' "$folder/gpus"
