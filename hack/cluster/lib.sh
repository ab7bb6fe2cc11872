# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - what the scripts of the local cluster share: messages, places, and where the built parts
# are.
#
# Sourced, never run. Callers have `set -euo pipefail` on.

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO_DIR=$(cd "$CLUSTER_DIR/../.." && pwd)

CACHE_DIR=${GPU_ATTRIBUTION_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gpu-attribution}
STATE_ROOT=${GPU_ATTRIBUTION_STATE:-/var/lib/gpu-attribution}

# What hack/cluster/build builds. All but images and tools have a module (see module_of).
ALL_PARTS=(etcd containerd nvidia kubernetes clusterpolicy images nfd monitoring tools)

# Go 1.26 is what Kubernetes' own go.mod asks for.
GO_WANTED=1.26

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }

need_root() { [[ $EUID -eq 0 ]] || die "this needs root, for namespaces, mounts and cgroups"; }

# need_value OPTION [VALUE]...: the option must have a value.
need_value() { [[ $# -ge 2 ]] || die "$1 needs a value (see --help)"; }

# Prints the comment block at the top of a script, which is its --help.
print_help() { sed -n '4,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$1"; }

# $1: a cluster's name. It becomes part of folder, cgroup and interface names.
check_name() {
	[[ $1 =~ ^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$ ]] ||
		die "cluster name '$1': 1-20 characters of a-z, 0-9 and '-' are needed"
}

# Is so much memory free that a garbage collector may leave some of it?
has_memory() {
	local available_kib
	available_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
	[[ $available_kib -ge $((8 << 20)) ]]
}

# Finds Go where its own archive and Debian's packages put it, too, so that a fresh shell need not
# know. An older Go that can fetch a newer one (1.21 and later can) is told to.
find_go() {
	local version dir
	for dir in /usr/local/go/bin /usr/lib/go-1.{26,25,24,23,22,21}/bin; do
		if ! command -v go >/dev/null && [[ -x $dir/go ]]; then PATH=$dir:$PATH; fi
	done
	command -v go >/dev/null || die "no Go on PATH: hack/deps cluster says how to get it"
	version=$(GOTOOLCHAIN=local go env GOVERSION)
	if ! version_at_least "${version#go}" "$GO_WANTED"; then
		version_at_least "${version#go}" 1.21 ||
			die "$version is older than $GO_WANTED: hack/deps cluster says more"
		export GOTOOLCHAIN=go$GO_WANTED.0+auto
	fi
}

# Is version $1 at least $2?
version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -1) == "$2" ]]; }

# Prints the folder, beside this file, with the go.mod and go.sum of part $1.
module_of() {
	case $1 in
	nvidia | nfd) echo kubernetes ;;
	*) echo "$1" ;;
	esac
}

# Prints how the packages of part $1's programs begin, as a pattern of grep.
packages_of() {
	case $1 in
	kubernetes) echo '^k8s\.io/kubernetes/' ;;
	nvidia) echo '^github\.com/NVIDIA/' ;;
	nfd) echo '^sigs\.k8s\.io/node-feature-discovery/' ;;
	*) echo . ;;
	esac
}

# Prints the flags of `go build` for part $1, one a line.
go_flags() {
	# What debuggers need would take longer to make.
	printf '%s\n' -trimpath -buildvcs=false -gcflags=all=-dwarf=false
	# So that packages are the same with and without C, and those of Kubernetes are used again.
	if [[ $1 == nvidia ]]; then echo -tags=netgo,osusergo; fi
	if [[ $1 != kubernetes ]]; then
		printf '%s\n' '-ldflags=-s -w'
		return
	fi
	# Kubernetes' programs refuse some work (kubectl: `version`) when they don't know their
	# version.
	local version minor pkg=k8s.io/component-base/version
	version=$(sed -n 's/^\tk8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$CLUSTER_DIR/$1/go.mod")
	minor=${version#*.}
	printf -- '-ldflags=-s -w -X %s -X %s -X %s\n' \
		"$pkg.gitVersion=$version" "$pkg.gitMajor=1" "$pkg.gitMinor=${minor%%.*}"
}

# Only NVIDIA's programs need C: they load libnvidia-ml.so.1 at run time.
go_cgo() { [[ $1 == nvidia ]] && echo 1 || echo 0; }

# Prints everything that the result of building part $1 depends on.
part_inputs() {
	case $1 in
	images) cat "$CLUSTER_DIR"/{build-images,make-image,pause.c} /bin/busybox ;;
	tools)
		cat "$CLUSTER_DIR"/{build-images,make-image} /bin/busybox
		libraries_of "$(command -v jq)" | xargs cat "$(command -v jq)"
		kubectl_program
		;;
	clusterpolicy | monitoring) cat "$CLUSTER_DIR/$1"/go.{mod,sum} ;;
	*)
		cat "$CLUSTER_DIR/$(module_of "$1")"/go.{mod,sum}
		packages_of "$1"
		go_flags "$1"
		go_cgo "$1"
		go env GOVERSION GOARCH
		;;
	esac
}

# Prints the folder that part $1 is built into. Its name changes with everything that goes into the
# build.
part_dir() {
	local hash
	hash=$(part_inputs "$1" | sha256sum)
	printf '%s/%s-%s\n' "$CACHE_DIR" "$1" "${hash:0:16}"
}

# Prints the kubectl of the local cluster: a ready-made one goes before the one that was built.
kubectl_program() {
	local ready=${KUBEBUILDER_ASSETS:-/nonexistent}/kubectl
	if [[ -x $ready ]]; then realpath "$ready"; else printf '%s/kubectl\n' "$(part_dir kubernetes)"; fi
}

# Prints the paths of the shared libraries that program $1 needs, and of the loader.
libraries_of() {
	if ldd "$1" | grep 'not found' >&2; then die "$1 needs libraries that are not here"; fi
	ldd "$1" | grep -o '/[^ ]*' | sort -u
}

# Copies them below $2, at the paths they have here.
copy_libraries() {
	local path
	libraries_of "$1" | while read -r path; do install -D -m 0755 "$path" "$2$path"; done
}

# --- a running cluster

# Addresses, the same in each cluster: each has its own network.
# shellcheck disable=SC2034  # used by the scripts that source this
CONTROL_PLANE_IP=172.30.0.1 POD_CIDR=10.244.0.0/16 SERVICE_CIDR=10.96.0.0/16

# Where every node finds its simulated GPUs: the stand-in libnvidia-ml.so.1 and devices.json.
# shellcheck disable=SC2034
GPU_DIR=/var/lib/gpu-attribution-standin

# Where every node finds what a driver's container would bring: device files and libraries.
# shellcheck disable=SC2034
DRIVER_ROOT=/run/nvidia/driver

node_ip() { printf '172.30.0.%d\n' $((10 + $1)); }

# Prints the cgroup of cluster $1, as a path below each hierarchy.
cluster_cgroup() { printf '/gpu-attribution/%s\n' "$1"; }

# Prints where each cgroup hierarchy is mounted.
cgroup_mounts() { awk '$(NF-2) ~ /^cgroup2?$/ { print $5 }' /proc/self/mountinfo | sort -u; }

# Sets STATE to the state folder of cluster $1.
use_cluster() {
	check_name "$1"
	STATE=$STATE_ROOT/$1
}

# Prints the process number that file $1 records if that very process still runs; else fails. PROC:
# where to look.
recorded_pid() {
	local pid start stat
	local -a field
	[[ -r $1 ]] || return 1
	read -r pid start <"$1" || return 1
	{ read -r stat <"${PROC:-/proc}/$pid/stat"; } 2>/dev/null || return 1
	read -r -a field <<<"${stat##*) }"
	# Z: dead, and not yet collected.
	[[ ${field[19]} == "$start" && ${field[0]} != Z ]] || return 1
	printf '%s\n' "$pid"
}

# Prints the path, less its ending, of the files in which component $1 ("etcd", "node-1",
# "node-1/kubelet") has its record (.pid) and by which it is wanted (.want). A node's record is the
# one that its process 1 writes.
record_of() {
	case $1.$2 in
	cluster.pid) printf '%s/run/init.pid\n' "$STATE" ;;
	*/*) printf '%s/%s/run/%s.%s\n' "$STATE" "${1%%/*}" "${1#*/}" "$2" ;;
	node-*.pid) printf '%s/%s/run/init.pid\n' "$STATE" "$1" ;;
	*) printf '%s/run/%s.%s\n' "$STATE" "$1" "$2" ;;
	esac
}

component_pid() { recorded_pid "$(record_of "$1" pid)"; }

need_running() {
	component_pid cluster >/dev/null ||
		die "no cluster '${STATE##*/}' is running. To start one: hack/up, or
  hack/cluster/start --name ${STATE##*/}"
}

# Wants component $1, and tells the init that is responsible for it to look.
order_start() {
	local home=$STATE owner=cluster
	case $1 in
	*/*) home=$STATE/${1%%/*} owner=${1%%/*} ;;
	esac
	[[ -d $home/run ]] || die "there is no $owner"
	: >"$(record_of "$1" want)"
	component_pid "$owner" >/dev/null ||
		die "$owner is not running; it will start ${1#*/} when it is"
	printf '%s\n' "${1##*/}" >"$home/run/control"
}

# Wants component $1 no more: when it ends, it stays so.
order_no_start() { rm -f "$(record_of "$1" want)"; }

# Waits up to $1 seconds until command $2... succeeds. LAST_OUTPUT is what it printed the last time.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until LAST_OUTPUT=$("$@" 2>&1); do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.1
	done
}

# Runs a command in the network of the cluster, with the machine's files.
in_network() {
	local pid
	pid=$(component_pid cluster) || die "no cluster '${STATE##*/}' is running"
	nsenter --net="/proc/$pid/ns/net" "$@"
}

# Prints the path of a device plugin configuration, given as a file or as the name of one of ours.
find_plugin_config() {
	local ours=$CLUSTER_DIR/plugin-config/$1.yaml
	if [[ $1 != */* && -f $ours ]]; then
		printf '%s\n' "$ours"
	elif [[ -f $1 ]]; then
		printf '%s\n' "$1"
	else
		die "no device plugin configuration '$1' (see hack/cluster/plugin-config)"
	fi
}
