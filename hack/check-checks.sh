#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/check-checks.sh
#
# Plants a fault of each kind in a copy of the sources and shows that the check for it fails: a
# check that can no longer fail protects nothing.
set -euo pipefail
hack=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
failed=0

# A small tree of the same shape, clean at first.
fresh_tree() {
	rm -rf "${copy:?}"/*
	mkdir -p "$copy"/src/{base,wire,model,join,kube,agent,io} "$copy"/{controller,tests,hack}
	cd "$copy"
	local header=$'/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n'
	printf '%s\nstruct view {\n\tconst char *ptr;\n};\n' "$header" >src/base/view.h
	printf '%s\n/* Contract. */\nvoid clock_read(void);\n' "$header" >src/base/clock.h
	printf '%s\n#include "base/view.h"\n' "$header" >src/wire/jout.h
	printf '%s\n/* Contract. */\nint lease_renew(void);\n' "$header" >src/kube/lease.h
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n\n#include "kube/lease.h"\n\nint lease_renew(void)\n{\n\treturn 0;\n}\n' >src/kube/lease.c
	printf '%s\n/* Contract. */\nint join_node(void);\n' "$header" >src/join/join.h
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n\n#include "base/view.h"\n' >src/join/join.c
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n\n#include "base/view.h"\n' >src/agent/agent.c
}

compile_lease() {
	mkdir -p build/kube.dir/src/kube
	gcc -std=c17 -Isrc -c src/kube/lease.c -o build/kube.dir/src/kube/lease.c.o
}

# expect pass|fail SENTENCE COMMAND...
expect() {
	local wanted=$1 sentence=$2 result=pass
	shift 2
	"$@" >output 2>&1 || result=fail
	if [[ $result == "$wanted" ]]; then
		echo "ok - $sentence"
	else
		echo "not ok - $sentence"
		sed 's/^/  /' output
		failed=1
	fi
}

# caught SENTENCE FILE LINE COMMAND...: with the line added to the file, the command fails.
caught() {
	local sentence=$1 file=$2 line=$3
	shift 3
	fresh_tree
	printf '%s\n' "$line" >>"$file"
	expect fail "$sentence" "$@"
}

# exits STATUS COMMAND...
exits() {
	local status=0
	"${@:2}" || status=$?
	[[ $status -eq $1 ]]
}

# usage STATUS LINE COMMAND...: the command prints the line, of its usage, and exits with that status.
usage() {
	exits "$1" "${@:3}" >usage 2>&1 && grep -qx "$2" usage
}

cd "$copy"
for check in comments contracts docs layers messages metrics words; do
	line="usage: hack/check-$check.py .*"
	expect pass "check-$check.py tells its usage" usage 0 "$line" "$hack/check-$check.py" --help
	expect pass "check-$check.py knows its options" usage 2 "$line" "$hack/check-$check.py" --wrote
	expect pass "check-$check.py takes one folder" usage 2 "$line" "$hack/check-$check.py" "$copy" "$copy"
done

layers=("$hack/check-layers.py" "$copy")
fresh_tree
expect pass "a clean tree has clean layers" "${layers[@]}"
expect pass "a clean tree has headers that stand on their own" "$hack/check-headers.sh" "$copy"
expect pass "a clean tree is well formed" "$hack/fmt.sh" "$copy"
compile_lease
expect pass "a clean tree exports only names of its files" "$hack/check-symbols.sh" build

caught "the agent includes the Kubernetes client" src/agent/agent.c '#include "kube/lease.h"' "${layers[@]}"
caught "the join includes the Kubernetes client" src/join/join.c '#include "kube/lease.h"' "${layers[@]}"
caught "a low layer includes a higher one" src/base/view.h '#include "wire/jout.h"' "${layers[@]}"
caught "the join reads a clock" src/join/join.c '#include "base/clock.h"' "${layers[@]}"
caught "the join includes <time.h>" src/join/join.c '#include <time.h>' "${layers[@]}"
caught "the model includes the join" src/model/pod.c '#include "join/join.h"' "${layers[@]}"
caught "a state machine does I/O" src/kube/lease.c '#include <sys/socket.h>' "${layers[@]}"
caught "a second file includes libcurl" src/kube/lease.c '#  include <curl/curl.h>' "${layers[@]}"
caught "an unknown library is included" src/io/x.c '#include <zmq/zmq.h>' "${layers[@]}"
caught "a path does not start at src/" src/join/join.c '#include "../base/view.h"' "${layers[@]}"

lines_of() { printf "$1%.0s" $(seq "$2"); }
caught "a file of the join is long" src/join/join.c "$(lines_of 'int a;\n' 500)" "${layers[@]}"
caught "a function of the model is long" src/model/pod.c \
	"$(printf 'int sum(void)\n{\n'; lines_of '\ta();\n' 44)"$'\n}' "${layers[@]}"
caught "too many functions of the model have more than 25 lines" src/model/pod.c \
	"$(printf 'int sum(void)\n{\n'; lines_of '\ta();\n' 23)"$'\n}' "${layers[@]}"

fresh_tree
printf '```\n join    all\n```\n' >src/join/README.md
for i in {1..12}; do lines_of '\n' 500 >"src/join/part$i.def"; done
lines_of '\n' 480 >src/join/last.def
expect pass "a join of nearly 6 500 lines is small enough" "${layers[@]}"
lines_of '\n' 20 >>src/join/README.md
expect fail "the join has more than 6 500 lines with its README" "${layers[@]}"
rm src/join/last.def
for i in {14..24}; do lines_of '\n' 500 >"src/model/part$i.def"; done
expect pass "a join and a model of nearly 12 000 lines are small enough" "${layers[@]}"
lines_of '\n' 500 >src/model/last.def
expect fail "the join and the model have more than 12 000 lines" "${layers[@]}"

fresh_tree
printf '/* SPDX-License-Identifier: Apache-2.0 */\n#include "join/join.h"\n' >src/join/low.c
printf '```\n join    all\n low     some\n```\n' >src/join/README.md
expect pass "the join's modules stand in order" "${layers[@]}"
printf '```\n low     some\n join    all\n```\n' >src/join/README.md
expect fail "a module of the join includes one that stands behind it" "${layers[@]}"
printf '```\n join    all\n```\n' >src/join/README.md
expect fail "a module of the join is not listed" "${layers[@]}"

fresh_tree
cp src/kube/lease.c src/io/lease.c
expect fail "two files have one name" "${layers[@]}"

messages=("$hack/check-messages.py" "$copy")
fresh_tree
printf 'void f(void)\n{\n\tLOG_INFO("Lease "\n\t\t "renewed", LOG_U64("n", 1));\n}\n' >>src/kube/lease.c
expect pass "a message is a phrase with its values as fields" "${messages[@]}"
printf 'LOG_WARN("Lease renewed late");\n' >>src/agent/agent.c
expect fail "a message contains another one" "${messages[@]}"
caught "a message has a format directive" src/kube/lease.c 'LOG_INFO("Took %d ms");' "${messages[@]}"
caught "a message has a value" src/kube/lease.c 'LOG_INFO("Trouble with=tls");' "${messages[@]}"
caught "a message is one word" src/kube/lease.c 'LOG_INFO("Serving");' "${messages[@]}"
caught "a message is no literal" src/kube/lease.c 'LOG_INFO(text);' "${messages[@]}"

comments=("$hack/check-comments.py" "$copy")
words=$(printf 'word %.0s' {1..16})
fresh_tree
printf '/*\n * %s. %s.\n *\n * - %s\n * - %s\n *\n *\t%s;\n *\t%s;\n */\n' "$words" "$words" \
	"$words" "$words" "$words" "$words" >>src/kube/lease.c
expect pass "a comment has short sentences, items and code" "${comments[@]}"
caught "a sentence of a comment is too long" src/kube/lease.c "/* $words; $words. */" "${comments[@]}"
fresh_tree
printf '/*\n * %s\n * %s\n */\n' "$words" "$words" >>src/base/view.h
expect fail "a long sentence runs over two lines" "${comments[@]}"

caught "a header leans on its includer" src/wire/jout.h \
	$'/* Its count. */\nuint32_t jout_count(void);' "$hack/check-headers.sh" "$copy"
caught "a function in a header has no contract" src/kube/lease.h \
	$'\nint lease_end(void);' "$hack/check-contracts.py" "$copy"
caught "a blank line separates a function from its contract" src/kube/lease.h \
	$'/* Ends it. */\n\nint lease_end(void);' "$hack/check-contracts.py" "$copy"
fresh_tree
printf '/* Both end it. */\nint lease_end(void);\nint lease_stop(struct lease *lease,\n\t       int why);\n' >>src/kube/lease.h
expect pass "a group of functions has one contract" "$hack/check-contracts.py" "$copy"
fresh_tree
sed -i '/pragma once/d' src/base/view.h
expect fail "a header may not be included twice" "$hack/check-headers.sh" "$copy"

fresh_tree
printf 'int helper(void);\nint helper(void)\n{\n\treturn 1;\n}\n' >>src/kube/lease.c
compile_lease
expect fail "a file exports a name that is not its own" "$hack/check-symbols.sh" build
fresh_tree
mkdir build
expect fail "nothing was built" "$hack/check-symbols.sh" build

caught "a line ends in blanks" src/kube/lease.c 'int x; ' "$hack/fmt.sh" "$copy"
caught "a line is indented with blanks" src/kube/lease.c '        int x;' "$hack/fmt.sh" "$copy"
caught "a promise stands for code" src/kube/lease.c '/* TODO: later */' "$hack/fmt.sh" "$copy"
caught "a line is far too long" src/kube/lease.c "$(printf 'x%.0s' {1..121})" "$hack/fmt.sh" "$copy"
fresh_tree
sed -i 1d src/kube/lease.c
expect fail "the licence is missing" "$hack/fmt.sh" "$copy"

# metrics FILE EXPRESSION: check-metrics.py on copies of what it reads, one file of them edited by sed.
metrics() {
	rm -rf "${copy:?}"/*
	mkdir -p "$copy"/{controller,manifests,tests}
	cp "$hack"/../controller/{*.def,*.h,agent_series.c,README.md} "$copy/controller"
	cp -r "$hack"/../manifests/{monitoring,samples} "$copy/manifests"
	cp -r "$hack/../tests/monitoring" "$copy/tests"
	sed -i "$2" "$copy/$1"
	"$hack/check-metrics.py" "$copy"
}

expect pass "each metric that is asked for is published" metrics manifests/monitoring/rules.yaml ''
expect fail "the controller no longer publishes a metric" metrics controller/exposition.def \
	's/gpuattribution_device_conflicts/gpuattribution_device_contradictions/'
expect fail "a rule asks for a counter by the name of its family" metrics manifests/monitoring/rules.yaml \
	's/_idle_slot_seconds_total/_idle_slot_seconds/'
expect fail "a panel matches a label that a metric does not have" metrics manifests/monitoring/dashboard.json \
	's/gpuattribution_report_age_seconds/&{uuid=\\"a\\"}/'
expect fail "a document asks for what nobody publishes" metrics manifests/monitoring/README.md \
	'$agpuattribution_gpu_hours_total'

# A file of src/join with a test that looks ($1 is what it expects), and with a line for survivors.
mutable_tree() {
	fresh_tree
	mkdir -p tests/unit
	printf 'int sum_of(int a, int b);\n' >src/join/sum.h
	printf '#include "join/sum.h"\n\nint sum_of(int a, int b)\n{\n\treturn a + b;\n}\n' >src/join/sum.c
	printf '#include "join/sum.h"\n\nint main(void)\n{\n\treturn !(%s);\n}\n' "$1" >tests/unit/sum_test.c
	if [[ $# -gt 1 ]]; then printf 'src/join/sum.c\tsum_of\treturn a + b;\t%s\t%s\n' "$2" "$3" >tests/mutation-survivors.txt; fi
}

mutate=("$hack/mutate" --root "$copy" --cache "$copy/cache")
mutable_tree 'sum_of(2, 3) == 5'
expect pass "a test that looks kills each mutant" "${mutate[@]}"
mutable_tree 'sum_of(2, 0) == 2'
expect pass "a mutant survives" exits 1 "${mutate[@]}"
mutable_tree 'sum_of(2, 0) == 2' 'a + b => a - b' 'accepted: for this test'
expect pass "a mutant survives with a reason" "${mutate[@]}"
mutable_tree 'sum_of(2, 3) == 5' 'a + b => a - b' 'accepted: for this test'
expect pass "there is a reason for a mutant that is killed" exits 1 "${mutate[@]}"
mutable_tree 'sum_of(2, 3) == 5' 'a + b => a * b' 'accepted: for this test'
expect pass "there is a reason for no mutant" exits 1 "${mutate[@]}"
mutable_tree 'sum_of(2, 3) == 6'
expect pass "a test does not even pass without a mutation" exits 2 "${mutate[@]}"

# words FILE EXPRESSION...: check-words.py on copies of what it reads, one file of them edited by sed.
words() {
	local file=$1 path expressions=()
	for path in "${@:2}"; do expressions+=(-e "$path"); done
	rm -rf "${copy:?}"/*
	for path in controller src/assess src/schema src/join crds tests/unit tests/sim tests/e2e; do
		mkdir -p "$copy/$path"
		find "$hack/../$path" -maxdepth 1 -type f -exec cp -t "$copy/$path" {} +
	done
	[[ ${#expressions[@]} -eq 0 ]] || sed -i "${expressions[@]}" "$copy/$file"
	(cd "$copy" && "$hack/check-words.py" "$copy")
}

# rewritten FILE EXPRESSION...: the same, after the table was brought up to date.
rewritten() {
	words "$@" || true
	(cd "$copy" && "$hack/check-words.py" --write "$copy")
}

expect pass "each word has its tests and its row" words crds/README.md
expect fail "the cluster alone shows a word of health" rewritten tests/sim/verdicts.c 's/"HealthUnread"/"X"/'
expect fail "the simulator alone shows an activity" rewritten tests/e2e/modes.py 's/"MIGNotMeasured"/"X"/'
expect fail "only a unit test shows a reason of a condition" rewritten tests/e2e/attribution.py \
	's/"AgentSilent"/"X"/'
expect fail "a word is in no test" words src/assess/health.def 's/"GPULost"/"GPUGone"/'
expect fail "a comment mentions what a unit test no longer expects" words tests/unit/health_test.c \
	's/"PowerBrake"/"X"/' '$a/* {"PowerBrake"} */'
expect fail "a unit test only says a word" words tests/unit/health_test.c 's/"PowerBrake"/"X"/' \
	'$astatic void say(void) { print("PowerBrake"); }'
expect fail "a promise says what is not to be" words tests/e2e/attribution.py \
	's/wait_health(.*"NVMLUnavailable")/assert "NVMLUnavailable" not in health_of(cluster, name)/'
expect fail "nothing but a docstring of a promise has a word" words tests/e2e/attribution.py \
	's/wait_health(cluster, name, "Unknown", "HealthUnread")/"""health: HealthUnread"""/'
expect fail "the reference has another state" words crds/README.md \
	's/^\(| `PowerBrake` | \)Degraded/\1Unhealthy/'
expect fail "the reference has another remedy" words crds/README.md \
	's/^\(| `RowRemapFailed` | Unhealthy | \)Replace/\1Reset/'
expect fail "the reference lacks a word" words crds/README.md '/^| `SamplesMissing`/d'
expect fail "the table is out of date" words tests/e2e/README.md '/^| `PowerBrake`/d'

# documents FILE EXPRESSION: check-docs.py on a copy of what it reads, one file of it edited by sed.
documents() {
	rm -rf "${copy:?}"/*
	cp -r "$hack"/../{*.md,controller,crds,hack,manifests,src,tests} "$copy"
	sed -i "$2" "$copy/$1"
	"$hack/check-docs.py" "$copy"
}

expect pass "each document agrees with the code" documents tests/faults.md ''
expect fail "a unit test that a fault names is renamed" documents tests/unit/log_test.c \
	's/a_sink_that_takes_no_more_is_not_waited_for/another_name/'
expect fail "a promise that a fault names is renamed" documents tests/e2e/leadership.py \
	's/def a_leader_that_was_stopped_writes_nothing_when_it_goes_on/def another_name/'

# says PATTERN COMMAND...: the command fails, and prints that.
says() {
	local said
	if said=$("${@:2}" 2>&1); then return 1; fi
	grep -q "$1" <<<"$said"
}

printf -v words 'word %.0s' {1..31}
expect pass "a sentence of a document is too long" says '31 words in one sentence' \
	documents manifests/README.md "\$a$words."
expect pass "README.md has more than 130 lines" says '^README.md: .* lines, of 130' \
	documents README.md "\$a$(lines_of 'Short.\\n' 130)"
expect pass "src/README.md has more than 150 lines" says '^src/README.md: .* lines, of 150' \
	documents src/README.md "\$a$(lines_of 'Short.\\n' 150)"
expect pass "a decision has more than 500 characters" says 'characters, of 500' \
	documents src/README.md "\$a- **A decision.** $(lines_of 'It is short. ' 40)"
printf -v words 'word %.0s' {1..26}
expect pass "the message of a condition is too long" says '26 words in one sentence' \
	documents src/join/wording.def "s/\"held by an unidentified pod\"/\"$words\"/"
expect pass "the text of an Event is too long" says '26 words in one sentence' \
	documents controller/event_types.def "s/\"There is a new drift\./\"$words./"
expect pass "the help of kubectl gpus is too long" says '26 words in one sentence' \
	documents src/kubectl/invocation.c "s/\"Pods of all namespaces\.\"/\"$words.\"/"
expect pass "the text of a flag is too long" says '26 words in one sentence' \
	documents controller/settings.def "s/\"Token audience\./\"$words./"
expect pass "the description of an alert is too long" says '26 words in one sentence' \
	documents manifests/monitoring/rules.yaml "s/description: There are more series .*/description: $words./"

expect fail "a fault has no row" documents tests/faults.md '/^| 43 |/d'
expect fail "a row of a fault names no test" documents tests/faults.md 's/^| 43 |.*/| 43 | x | y | – |/'
expect fail "a row of a fault names what is no test" documents tests/faults.md 's/`report_doc_fuzz`/`report_doc`/'

exit "$failed"
