#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/lint.sh BUILD-FOLDER [FILE...]
#
# The log messages (check-messages.py), the sentences of comments (check-comments.py) and the documents
# (check-docs.py), then clang-tidy with the checks of .clang-tidy over the sources of the programs. With
# named files, clang-tidy over those only. `ctest -L lint` runs this and the other checks of hack/.
# The build folder is one that cmake has configured: it knows how each file is compiled.
set -euo pipefail
build=${1:?usage: hack/lint.sh BUILD-FOLDER [FILE...]}
shift
cd "$(dirname "$0")/.."

command -v clang-tidy-14 >/dev/null || {
	echo "clang-tidy-14 is missing; install it with: hack/deps build" >&2
	exit 1
}

files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
	hack/check-messages.py
	hack/check-comments.py
	hack/check-docs.py
	mapfile -t files < <(find src controller -name '*.c' | sort)
fi
hack/tidy.py "$build" "${files[@]}"
