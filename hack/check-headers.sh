#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/check-headers.sh [folder of the tree]
#
# Each header compiles on its own and may be included twice, and each function in it has a contract
# (check-contracts.py). Prints the compiler's errors and the functions, and fails if there are any.
set -euo pipefail
hack=$(cd "$(dirname "$0")" && pwd)
root=${1:-$hack/..}
cd "$root"
"$hack/check-contracts.py" .

# Without -DNDEBUG and with the warnings of the build that matter for declarations.
export CC=${CC:-gcc}
export FLAGS="-std=c17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers \
-Wstrict-prototypes -Werror -fsyntax-only -DTESTS_FOLDER=\"\" -Isrc -Itests -I."

# shellcheck disable=SC2016 # the inner shell expands
find src controller tests -name '*.h' -print0 2>/dev/null | sort -z |
	xargs -0 -r -n 1 -P 2 bash -c '
		include=${0#src/}
		include=${include#tests/}
		printf "#include \"%s\"\n#include \"%s\"\ntypedef int nothing_else;\n" "$include" "$include" |
			$CC $FLAGS -x c - || { echo "$0: does not stand on its own" >&2; exit 1; }'
