#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/check-symbols.sh BUILD-FOLDER
#
# What an object file of src/ or controller/ exports begins with the stem of its source file, so
# that any name leads to its file. Prints one line a violation and fails if there is any.
set -euo pipefail
build=${1:?usage: hack/check-symbols.sh BUILD-FOLDER}

violations=0
objects=0
while IFS= read -r object; do
	objects=$((objects + 1))
	stem=$(basename "$object" .c.o)
	# Names that begin with __ are the compiler's (sanitizers, coverage).
	while read -r symbol; do
		case $symbol in
		"$stem"* | __* | main) ;;
		*)
			echo "$stem.c exports $symbol"
			violations=$((violations + 1))
			;;
		esac
	done < <(nm --defined-only --extern-only --format=posix "$object" | cut -d' ' -f1)
done < <(find "$build" \( -path '*.dir/src/*.c.o' -o -path '*.dir/controller/*.c.o' \) \
	-not -path '*/tests/*' | sort)

if [[ $objects -eq 0 ]]; then
	echo "no object files in $build: build first" >&2
	exit 1
fi
[[ $violations -eq 0 ]]
