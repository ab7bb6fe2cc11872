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

# One pass over all files: it prints what is wrong with each, at most three lines of a kind.
mapfile -t files < <(find src controller tests hack \( -name '*.c' -o -name '*.h' -o -name '*.def' -o \
	-name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -type f | sort)
[[ ${#files[@]} -gt 0 ]] || { echo "no source files here"; exit 1; }
failed=0
LC_ALL=C.UTF-8 awk '
	function complain(text) { print file ": " text; failed = 1 }

	# note KIND: this line is one of that kind.
	function note(kind) { if (++count[kind] <= 3) lines[kind] = lines[kind] " " FNR }

	function end_file(kind) {
		for (kind in lines) complain(kind lines[kind])
		if (file ~ /\.h$/ && n_lines < 2) complain("the second line is not #pragma once")
		if (is_script && !has_licence) complain("the licence is not in the first two lines")
		split("", count); split("", lines)
	}

	# Tabs count eight columns.
	function width(line,   n, cells, i, columns) {
		n = split(line, cells, "\t")
		for (i = 1; i < n; i++) columns += length(cells[i]) + 8 - (columns + length(cells[i])) % 8
		return columns + length(cells[n])
	}

	FNR == 1 {
		if (file != "") end_file()
		file = FILENAME
		is_c = file ~ /\.(c|h|def)$/; is_script = file ~ /\.(sh|py)$/; has_licence = 0
		if (is_c && $0 != "/* SPDX-License-Identifier: Apache-2.0 */") complain("the first line is not the licence")
	}
	FNR == 2 && file ~ /\.h$/ && $0 != "#pragma once" { complain("the second line is not #pragma once") }
	FNR <= 2 && $0 == "# SPDX-License-Identifier: Apache-2.0" { has_licence = 1 }
	{ n_lines = FNR }
	/[[:blank:]]$/ { note("blanks at the end of line") }
	is_c && width($0) > 120 { note("over 120 columns in line") }
	is_c && /^        / { note("blanks instead of tabs in line") }
	is_c && /(^|[^[:alnum:]_])(TODO|FIXME|XXX)([^[:alnum:]_]|$)/ { note("a promise instead of code in line") }
	END { end_file(); exit failed }
' "${files[@]}" || failed=1

for file in "${files[@]}"; do
	[[ -s $file ]] || {
		echo "$file: it is empty"
		failed=1
	}
	[[ ! -s $file || -z $(tail -c 1 "$file") ]] || {
		echo "$file: no line end at the end"
		failed=1
	}
done

exit "$failed"
