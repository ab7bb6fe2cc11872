#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/sim/defects.sh [--update] [BUILD [SEEDS]]
#        tests/sim/defects.sh --dry-run
#
# Checks the fleet simulator: builds it once for each defect in tests/sim/defects, with that defect
# in it, and runs seeds from 1 on until a rule is violated, SEEDS (3000) at most. A patch that begins
# with a line "sim OPTIONS" is for histories with these (--by-node), or for more of them (--count 4000).
# Prints the table of which rule caught which defect at which seed. BUILD is a build folder in which `sim` is built and
# up to date (.build/dev); only the source file that a defect is in is compiled again. JOBS (2) defects
# are tried at a time.
#
# Fails if a defect is not caught or does not apply any more, if the simulator finds anything in
# those seeds without a defect that is not recorded, or if tests/README.md has not the same defects in its table; with
# --update that table is replaced instead. With --dry-run only whether each applies, and whether the
# table has them, is looked at.
set -euo pipefail
cd "$(dirname "$0")/../.."

readme=tests/README.md
recorded=tests/sim/recorded.txt

say() { printf '%s\n' "$*" >&2; }

# The rows of the table in the README, sorted.
rows_of_readme() { sed -n 's/^| \([0-9][0-9]*-[^ ]*\) .*/\1/p' "$readme" | sort; }

check_table() {
	diff <(rows_of_readme) <(basename -s .patch tests/sim/defects/*.patch | sort) >&2 && return
	say "the table in $readme has other defects: run it with --update"
	return 1
}

case ${1-} in
-h | --help) sed -n '4,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "tests/sim/defects.sh"; exit ;;
--update | --dry-run) ;;
-*)
	say "unknown option: $1 (see --help)"
	exit 2
	;;
esac

if [[ ${1-} == --dry-run ]]; then
	status=0
	for patch in tests/sim/defects/*.patch; do
		if ! patch --dry-run --quiet --force --fuzz=0 -p1 <"$patch" >&2; then
			say "$patch does not apply any more"
			status=1
		fi
	done
	check_table || status=1
	exit $status
fi

update=
if [[ ${1-} == --update ]]; then
	update=yes
	shift
fi
build=$(realpath -m "${1:-.build/dev}")
if [[ ! -x $build/tests/sim/sim ]]; then
	say "no simulator in $build: build it, or name another folder (see --help)"
	exit 2
fi
seeds=${2:-3000}
jobs=${JOBS:-2}
work=$build/tests/sim/defects
rows=$work/rows
rm -rf "$rows"
mkdir -p "$rows"

# The command that compiles a source file in the build, but for -c, -o and the file itself.
compile_command() {
	python3 - "$build/compile_commands.json" "$1" <<'END'
import json, os, shlex, sys
for entry in json.load(open(sys.argv[1])):
    if os.path.realpath(entry["file"]).endswith("/" + sys.argv[2]):
        words = shlex.split(entry["command"])
        o = words.index("-o")
        del words[o:o + 2]
        c = words.index("-c")
        del words[c:c + 2]
        print(shlex.join(words))
        break
END
}

# build_defect PATCH FOLDER: makes FOLDER/sim.
build_defect() {
	local patch=$1 folder=$2 file command link
	file=$(sed -n 's|^+++ b/||p' "$patch")
	rm -rf "$folder"
	mkdir -p "$folder/$(dirname "$file")"
	cp "$file" "$folder/$file"
	if ! patch -s -p1 -d "$folder" <"$patch"; then
		say "$patch does not apply any more"
		return 1
	fi
	command=$(compile_command "$file")
	(cd "$build" && eval "$command -w -c $folder/$file -o $folder/defect.o")
	link=$(ninja -C "$build" -t commands tests/sim/sim | tail -n 1)
	link=${link/ -o tests\/sim\/sim / $folder/defect.o -o $folder/sim }
	(cd "$build" && eval "$link")
}

# Those of --by-node are 2^62 and more.
show_seed() {
	if (($1 >> 62)); then
		echo "--by-node $(($1 - (1 << 62)))"
	else
		echo "$1"
	fi
}

# run_defect PATCH: writes its row of the table to $rows.
run_defect() {
	local patch=$1 name folder output options row
	name=$(basename "$patch" .patch)
	folder=$work/$name
	row="| $name | **not caught** | - |"
	if build_defect "$patch" "$folder"; then
		options=$(sed -n '1s/^sim //p' "$patch")
		# A defect may well make the programs abort or hang: that is being caught, too.
		# shellcheck disable=SC2086
		output=$(timeout 1800 "$folder/sim" --from 1 --count "$seeds" --no-shrink --recorded "$recorded" $options 2>&1) || true
		if [[ $output =~ seed\ ([0-9]+)\ violates\ ([A-Z_]+) ]]; then
			row="| $name | ${BASH_REMATCH[2]} | $(show_seed "${BASH_REMATCH[1]}") |"
		elif [[ $output =~ (aborted|crashed|hung)\ in\ seed\ ([0-9]+) ]]; then
			row="| $name | the program ${BASH_REMATCH[1]} | $(show_seed "${BASH_REMATCH[2]}") |"
		fi
	else
		row="| $name | **does not build** | - |"
	fi
	rm -rf "$folder"
	printf '%s\n' "$row" | tee "$rows/$name"
}

for options in "" --by-node; do
	# shellcheck disable=SC2086
	if ! "$build/tests/sim/sim" $options --from 1 --count "$seeds" --no-shrink --recorded "$recorded" >"$work/none.log"; then
		say "without any defect:"
		cat "$work/none.log" >&2
		exit 1
	fi
done
for patch in tests/sim/defects/*.patch; do
	while (($(jobs -rp | wc -l) >= jobs)); do
		wait -n
	done
	run_defect "$patch" &
done
wait
failed=$(cat "$rows"/* | grep -c '\*\*' || true)
printf '%d defects, %d not caught\n' "$(cat "$rows"/* | wc -l)" "$failed"

if [[ $update ]]; then
	sed -i -e '/^| [0-9][0-9]*-/d' -e "/^| defect | rule | seed |/{n;r "<(cat "$rows"/*)"
}" "$readme"
else
	check_table
fi
[[ $failed -eq 0 ]]
