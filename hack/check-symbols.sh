#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/check-symbols.sh BUILD-FOLDER
#
# What an object file of src/ or controller/ exports begins with the stem of its source file, so
# that any name leads to its file. Prints one line a violation and fails if there is any.
set -euo pipefail
build=${1:?usage: hack/check-symbols.sh BUILD-FOLDER}

mapfile -t objects < <(find "$build" \( -path '*.dir/src/*.c.o' -o -path '*.dir/controller/*.c.o' \) \
	-not -path '*/tests/*' | sort)
if [[ ${#objects[@]} -eq 0 ]]; then
	echo "no object files in $build: build first" >&2
	exit 1
fi

# Names that begin with __ are the compiler's (sanitizers, coverage).
nm --print-file-name --defined-only --extern-only --format=posix "${objects[@]}" | awk '
	{
		stem = symbol = $0
		sub(/\.c\.o: .*/, "", stem)
		sub(/.*\//, "", stem)
		sub(/.*\.c\.o: /, "", symbol)
		sub(/ .*/, "", symbol)
	}
	index(symbol, stem) != 1 && symbol !~ /^__/ && symbol != "main" {
		print stem ".c exports " symbol
		failed = 1
	}
	END { exit failed }'
