#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: taint-unhealthy.sh
#
# Makes a DeviceTaintRule for each device of dynamic resource allocation that is, or is cut from, a GPU
# whose health is Unhealthy, and says who is on it. Rules of GPUs that are well again are deleted. With
# nothing to do it writes nothing. Needs kubectl and jq.
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
kubectl get gpuattributions.gpuattribution.dev -o json \
	--field-selector status.health.state=Unhealthy >"$folder/gpus"
kubectl get resourceslices.resource.k8s.io -o json >"$folder/slices"
kubectl get devicetaintrules.resource.k8s.io -l "$LABEL=Unhealthy" -o json >"$folder/rules"

# The rules that there should be. Only a pool's newest slices count.
jq -n --slurpfile gpus "$folder/gpus" --slurpfile slices "$folder/slices" \
	--arg effect "$EFFECT" --arg version "$API_VERSION" --arg mark "$LABEL" '
	def newest: group_by([.spec.driver, .spec.pool.name])
		| map((map(.spec.pool.generation) | max) as $last
			| map(select(.spec.pool.generation == $last))[]);
	def is_of($uuid): [.attributes.uuid.string, .attributes.parentUUID.string] | index($uuid) != null;
	[($slices[0].items | newest[]).spec as $slice | $slice.devices[] as $device
	| $gpus[0].items[] | . as $gpu | select($device | is_of($gpu.spec.uuid))
	| {
		apiVersion: $version, kind: "DeviceTaintRule",
		metadata: {name: "\(.metadata.name).\($device.name)", labels: {($mark): "Unhealthy"}},
		spec: {
			deviceSelector: {driver: $slice.driver, pool: $slice.pool.name, device: $device.name},
			taint: {key: "gpuattribution.dev/unhealthy", value: (.status.health.reasons[0] // ""),
				effect: $effect}
		}
	}]' >"$folder/wanted"

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

jq -r --arg effect "$EFFECT" '.items[] |
	"taint-unhealthy: \(.metadata.name) on \(.status.nodeName), \(.status.health.reasons | join(", ")), effect \($effect). On it: "
	+ ([.status.tenants[]? | "\(.podNamespace)/\(.podName)"] | unique | if . == [] then "nobody" else join(", ") end)
	' "$folder/gpus"
