#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/fmt.sh                   checks the whole tree
#        hack/fmt.sh --apply FILE...   runs clang-format on the named files
#
# The check holds what a machine can judge without taste: licence line, tabs, no blanks at line
# ends, a line end at the end. Lines aim at 100 columns; some read better whole, and beyond 120 it
# is a slip. clang-format is a help, not a judge: it packs the rows of tables into columns, and here
# a rule is a row.
set -euo pipefail

if [[ ${1-} == --apply ]]; then
	shift
	exec clang-format-14 -i --style=file "$@"
fi

cd "${1:-$(dirname "$0")/..}"
failed=0

complain() {
	echo "$1"
	failed=1
}

check_text() {
	local file=$1 bad
	bad=$(grep -nE '[[:blank:]]+$' "$file" | head -n 3 | cut -d: -f1 | tr '\n' ' ' || true)
	[[ -z $bad ]] || complain "$file: blanks at the end of line $bad"
	[[ ! -s $file || -z $(tail -c 1 "$file") ]] || complain "$file: no line end at the end"
}

check_c() {
	local file=$1 bad
	[[ $(head -n 1 "$file") == "/* SPDX-License-Identifier: Apache-2.0 */" ]] ||
		complain "$file: the first line is not the licence"
	[[ $file != *.h || $(sed -n 2p "$file") == "#pragma once" ]] ||
		complain "$file: the second line is not #pragma once"
	# Tabs count eight columns.
	bad=$(expand -t 8 "$file" | LC_ALL=C.UTF-8 awk 'length($0) > 120 {print NR}' | head -n 3 | tr '\n' ' ')
	[[ -z $bad ]] || complain "$file: over 120 columns in line $bad"
	bad=$(grep -nE '^ {8,}[^ ]' "$file" | head -n 3 | cut -d: -f1 | tr '\n' ' ' || true)
	[[ -z $bad ]] || complain "$file: blanks instead of tabs in line $bad"
	bad=$(grep -nE '\b(TODO|FIXME|XXX)\b' "$file" | head -n 3 | cut -d: -f1 | tr '\n' ' ' || true)
	[[ -z $bad ]] || complain "$file: a promise instead of code in line $bad"
}

check_script() {
	head -n 2 "$1" | grep -q '^# SPDX-License-Identifier: Apache-2.0$' ||
		complain "$1: the licence is not in the first two lines"
}

while IFS= read -r file; do
	check_text "$file"
	case $file in
	*.c | *.h | *.def) check_c "$file" ;;
	*.sh | *.py) check_script "$file" ;;
	esac
done < <(find src controller tests hack \( -name '*.c' -o -name '*.h' -o -name '*.def' -o \
	-name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -type f | sort)

exit "$failed"
