#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to the code.

usage: hack/check-docs.py [--write] [FOLDER]     the checkout (default: where this script is)

- each `path/file.c: symbol` in src/README.md exists, and the symbol is in that file;
- each `file.py: a promise` and `unit/file_test.c: name` in tests/e2e/README.md is a test there, each
  `sim: word` an action of the simulator, each `defect: name` a planted one, no cell is empty, each
  reference has its promise or reason, and the matrices are those of `sim --matrix`;
- a program with which a section of questions there begins has all its promises in the list, and no
  two questions cite one promise;
- tests/faults.md has a row for each of its FAULTS, and each `stem_test.name`, `file.py: a promise`,
  `sim: word`, `defect: name` and `stem_fuzz` in it is there;
- each path in code style in README.md, src/README.md and CONTRIBUTING.md exists;
- each option that the manifests pass is in the program's table of settings, each variable in one of
  them;
- crds/README.md has each reason that src/join/wording.def, src/assess/health.def, src/assess/drift.def
  and src/assess/activity.def publish;
- where `$ kubectl get gpuattributions` is shown, the header has the columns that the definition prints;
- no sentence of the documents in PLAIN has more than SENTENCE words, code not counted;
- no sentence that a program or an alert shows, in a file of TEXTS, has more than SHOWN words;
- README.md and src/README.md have as many lines as LINES says, or fewer; a decision in src/README.md
  has at most DECISION characters;
- controller/README.md has the flags of both programs and the metrics, crds/README.md the types of drift
  in src/assess/drift.def, the reasons and sources in src/assess/health.def and the Events in controller/event_types.def; --write brings them up to date. What a type compares, and what to do about
  it, is written by hand in its row.
Prints what does not hold, and fails if anything does not.
"""

import re
import sys

import arguments

ROOT, OPTIONS = arguments.parse(__doc__, "--write")
DOCUMENTS = ("README.md", "src/README.md", "CONTRIBUTING.md", "SECURITY.md", "crds/README.md",
             "manifests/README.md", "controller/README.md")
PLAIN = ("README.md", "crds/README.md", "crds/gpuattributions.yaml", "manifests/README.md",
         "SECURITY.md", "CONTRIBUTING.md", "controller/README.md", "tests/README.md",
         "tests/e2e/README.md", "hack/cluster/README.md", "src/kubectl/README.md",
         "manifests/monitoring/README.md", "manifests/samples/README.md", "src/README.md",
         "src/io/README.md", "src/join/README.md", "tests/fake/README.md", "tests/golden/README.md",
         "tests/faults.md")
SENTENCE = 30
# Messages of conditions, reasons, Events, flags, metrics, --help of kubectl gpus, and alerts.
TEXTS = ("src/join/wording.def", "src/assess/activity.def", "src/assess/drift.def", "src/assess/health.def",
         "controller/event_types.def", "controller/settings.def", "controller/metrics.def",
         "controller/exposition.def", "src/agent/agent_settings.def", "src/base/option.c",
         "src/kubectl/invocation.c", "manifests/monitoring/rules.yaml")
SHOWN = 25
DECISION = 500
FAULTS = 72
LINES = {"README.md": 130, "src/README.md": 150}
TREES = ("controller", "crds", "src", "manifests", "tests", "hack")
PREFIXES = ("", "src/")
faults = []


def resolve(path):
    """A path of a document, relative to the top or to src/."""
    return next((ROOT / p / path for p in PREFIXES if (ROOT / p / path).exists()), None)


def check_symbols(name):
    text = (ROOT / name).read_text()
    for path, symbol in re.findall(r"`([\w/.-]+\.[ch]): (\w+)`", text):
        file = resolve(path)
        if not file:
            faults.append(f"{name}: there is no {path}")
        elif not re.search(rf"\b{symbol}\b", file.read_text()):
            faults.append(f"{name}: {path} has no {symbol}")


def check_tests(name):
    text = (ROOT / name).read_text()
    for path, promise in re.findall(r"`([\w-]+\.py): ([\w .]+)`", text):
        found = [f for f in (ROOT / "tests" / part / path for part in ("e2e", "process")) if f.exists()]
        told = (f"def {promise.replace(' ', '_')}(", f'"{promise}"')
        if not any(one in file.read_text() for file in found for one in told):
            faults.append(f"{name}: {path} does not promise that {promise}")
    for path, test in re.findall(r"`(unit/\w+\.c)(?:: (\w+))?`", text):
        file = ROOT / "tests" / path
        if not file.exists() or (test and not re.search(
                rf"(void |TEST\(|PROMISE\(\s*){test}\b", file.read_text())):
            faults.append(f"{name}: {path} has no test {test}")


def check_simulator(name):
    text = (ROOT / name).read_text()
    table = (ROOT / "tests/sim/action.c").read_text()
    actions = set(re.findall(r'^\t\{"([\w-]+)", \d+,', table, re.M))
    for word in re.findall(r"`sim: ([^`]*)`", text):
        if word not in actions:
            faults.append(f"{name}: the simulator has no action {word}")
    for defect in re.findall(r"`defect: ([^`]*)`", text):
        if not (ROOT / f"tests/sim/defects/{defect}.patch").exists():
            faults.append(f"{name}: there is no defect {defect}")


def tests_of(program):
    """The names of a test program's tests, as tests/CMakeLists.txt finds them."""
    file = ROOT / "tests" / ("unit" if program.endswith("_test") else "property") / f"{program}.c"
    text = file.read_text() if file.exists() else ""
    return set(re.findall(r"(?:cmocka_unit_test\w*|PROMISE|^TEST)\(\s*(\w+)", text, re.M))


def check_faults(name):
    """Each fault has a row with tests that exist, or with `-- none`."""
    text = (ROOT / name).read_text()
    rows = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|", text, re.M)
    if [int(number) for number, _ in rows] != list(range(1, FAULTS + 1)):
        faults.append(f"{name}: the rows are not those of the faults 1 to {FAULTS}")
    for number, tests in rows:
        named = re.findall(r"`([^`]*)`", tests)
        if not named or ("-- none" in named and len(named) > 1):
            faults.append(f"{name}: row {number} names no test, nor does it say `-- none`")
        for program, test in re.findall(r"`(\w+_(?:test|prop))\.(\w+)`", tests):
            if test not in tests_of(program):
                faults.append(f"{name}: {program} has no test {test}")
        for target in re.findall(r"`(\w+_fuzz)`", tests):
            if not (ROOT / f"tests/fuzz/{target}.c").exists():
                faults.append(f"{name}: there is no target {target}")
        for other in named:
            if not re.fullmatch(r"\w+_(test|prop)\.\w+|[\w-]+\.py: [\w ]+|(sim|defect): [\w-]+|"
                                r"\w+_fuzz|-- none", other):
                faults.append(f"{name}: row {number}: {other} names no test")


def check_cells(name):
    for row in re.findall(r"^\|.*\|$", (ROOT / name).read_text(), re.M):
        if not all(cell.strip() for cell in row.strip("|").split("|")):
            faults.append(f"{name}: an empty cell in {row}")


def check_references(name):
    """`[7]` is the seventh promise in the list, and `–c` has its reason under c."""
    text = (ROOT / name).read_text()
    listed = [int(n) for n in re.findall(r"^(\d+)\. `[\w-]+\.py: [\w ]+`$", text, re.M)]
    if listed != list(range(1, len(listed) + 1)):
        faults.append(f"{name}: the promises are not numbered from 1 on")
    used = {int(n) for n in re.findall(r"\[(\d+)\]", text)}
    for number in sorted(used ^ set(listed)):
        what = "no table cites" if number in listed else "there is no"
        faults.append(f"{name}: {what} [{number}]")
    for letter in sorted(set(re.findall(r"(?<=\| –)(\w*)(?= \|)", text))):
        if not re.search(rf"^- {letter}: ", text, re.M):
            faults.append(f"{name}: –{letter} has no reason")


def check_questions(name):
    """The promises of a program that has a table of questions are in the list; a question has its own."""
    text = (ROOT / name).read_text()
    cited = []
    for section in re.split(r"^## ", text, flags=re.M):
        _, table, rows = section.partition("\n| question | promises |\n")
        if not table:
            continue
        cited += re.findall(r"\[(\d+)\]", rows.partition("\n\n")[0])
        program = re.search(r"\n\n`([\w-]+\.py)`", section)[1]
        source = (ROOT / "tests/e2e" / program).read_text()
        for promise in re.findall(r"^@tests\.promise\ndef (\w+)", source, re.M):
            if f". `{program}: {promise.replace('_', ' ')}`\n" not in text:
                faults.append(f"{name}: the list lacks {program}: {promise.replace('_', ' ')}")
    for number in sorted(number for number in set(cited) if cited.count(number) > 1):
        faults.append(f"{name}: two questions cite [{number}]")


def check_matrices(name):
    """Each matrix has the rows and columns of the simulator's."""
    source = (ROOT / "tests/sim/matrix.c").read_text()

    def names(array):
        body = re.search(rf"\b{array}_names\[\] = {{(.*?)}};", source, re.S)[1]
        return re.findall(r'"([^"]+)"', body)
    tables = [[[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
              for block in re.findall(r"(?:^\|.*\|\n)+", (ROOT / name).read_text(), re.M)]
    found = [(table[0], [row[0] for row in table[2:]]) for table in tables]
    for rows, columns in (("life", "mode"), ("life", "witness"), ("mode", "witness")):
        corner = "life cycle" if rows == "life" else rows
        if ([corner, *names(columns)], names(rows)) not in found:
            faults.append(f"{name}: no table is the simulator's {rows} by {columns}")


def check_paths(name):
    text = (ROOT / name).read_text()
    for path in re.findall(r"`((?:%s)/[\w/.-]+)`" % "|".join(TREES), text):
        if not resolve(path.rstrip("/")):
            faults.append(f"{name}: there is no {path}")


def check_length(name, paragraphs, most):
    """A colon or semicolon ends no sentence."""
    for paragraph in paragraphs:
        for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
            words = re.findall(r"[\w'’-]+", sentence)
            if len(words) > most:
                faults.append(f"{name}: {len(words)} words in one sentence: {' '.join(words[:9])} ...")


def check_sentences(name):
    """A cell of a table and an item of a list are paragraphs."""
    text = (ROOT / name).read_text()
    if name.endswith(".yaml"):  # its descriptions
        blocks = re.findall(r"^( *)(?:- )?description: (?:>-\n((?:\1 .*\n|\n)*)|(.*)\n)", text, re.M)
        text = "\n\n".join(re.sub(r"^ +", "", long or short, flags=re.M)
                           for _, long, short in blocks)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text))
    check_length(name, re.split(r"\n\s*\n|\n(?=[-*|#]|\d+\. )|\|", text), SENTENCE)


def shown_texts(name):
    """The literals of a source in C, those in a row joined; the annotations of alerts, without their values."""
    text = (ROOT / name).read_text()
    if name.endswith(".yaml"):
        found = re.findall(r"^( *)(?:summary|description): (?:>-\n((?:\1 .*\n)+)|(.*)\n)", text, re.M)
        return [re.sub(r"{{.*?}}", "value", long or short) for _, long, short in found]
    literal = r'"(?:[^"\\\n]|\\.)*"'
    rows = re.findall(rf"{literal}(?:[\s\\]*{literal})*", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    return ["".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', row)).replace("\\n", "\n") for row in rows]


def check_texts(name):
    """In --help a line with an indent of two is an item, and one that begins with a command an example."""
    texts = shown_texts(name)
    if len(texts) < 5:
        faults.append(f"{name}: its texts are not read")
    for text in texts:
        check_length(name, re.split(r"\n\s*\n|\n(?=  \S| *kubectl )", text), SHOWN)


def printed_columns():
    """The columns that kubectl prints without -o wide."""
    text = (ROOT / "crds/gpuattributions.yaml").read_text()
    block = re.search(r"\n( *)additionalPrinterColumns:\n((?:\1 .*\n|\1- .*\n)*)", text)[2]
    rows = re.split(r"^ *- (?=name: )", block, flags=re.M)[1:]
    return ["NAME"] + [re.match(r"name: (.*)", row)[1].upper() for row in rows if "priority:" not in row]


def check_screens(name):
    for header in re.findall(r"^\$ kubectl get gpuattributions\b.*\n(NAME .*)", (ROOT / name).read_text(), re.M):
        if header.split() != printed_columns():
            faults.append(f"{name}: kubectl does not print {header}")


def check_lines(name, most):
    count = len((ROOT / name).read_text().splitlines())
    if count > most:
        faults.append(f"{name}: {count} lines, of {most}")


def check_decisions(name):
    decisions = re.findall(r"^- \*\*.*$", (ROOT / name).read_text().partition("\n## Decisions\n")[2], re.M)
    if not decisions:
        faults.append(f"{name}: there is no decision")
    for decision in decisions:
        if len(decision) > DECISION:
            faults.append(f"{name}: a decision has {len(decision)} characters, of {DECISION}: {decision[:60]} ...")


def flags_of(table, _):
    """The rows of a table of options, as Markdown."""
    rows = re.findall(r'SETTING\(\w+, "([\w-]+)",\s*\w+,\s*"([^"]*)",[^"]*((?:"[^"]*"\s*)+)\)',
                      (ROOT / table).read_text())
    return ["| flag | default | |", "|---|---|---|"] + [
        f"| `--{name}` | {f'`{default}`' if default else '–'} | "
        + "".join(re.findall(r'"([^"]*)"', text)) + " |" for name, default, text in rows]


def label_names(labels):
    """Of METRIC_LABELS(...), or of the name under which a header of the controller has them."""
    if re.fullmatch(r"\w+_LABELS", labels):
        headers = "".join(p.read_text() for p in sorted((ROOT / "controller").glob("*.h")))
        labels = "".join(re.findall(rf"#define {labels}(?:_OF)?\b((?:.*\\\n)*.*)", headers))
    return sorted(set(re.findall(r'(\w+)=\\"', labels)))


def metrics_of(table, _):
    """The rows of a table of metrics, as Markdown; a counter is named as it is shown."""
    text = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    rows = re.findall(rf'METRIC\(\w+, (\w+), "(\w+)", "\w*",\s*{text},\s*'
                      rf'(NULL|METRIC_LABELS\([^)]*\)|\w+)(?:,\s*\w+)?\)',
                      (ROOT / table).read_text())
    return ["| metric | type | labels | |", "|---|---|---|---|"] + [
        f"| `{name}{'_info' if kind == 'INFO' else '_total' if kind.startswith('COUNTER') else ''}` | "
        f"{kind.partition('_')[0].lower()} | "
        + (", ".join(f"`{label}`" for label in label_names(labels)) or "–") + " | "
        + "".join(re.findall(r'"([^"]*)"', help_)) + " |" for kind, name, help_, labels in rows]


def drift_rows(table):
    """Of each type: name, word, severity, hold-off in s, what it is about, what it hides."""
    text = re.sub(r"\\\n", " ", (ROOT / table).read_text())
    macros = dict(re.findall(r"#define (DRIFT_\w+) (.*)", text))

    def expand(words):
        return re.sub(r"DRIFT_(?!BIT)\w+", lambda m: expand(macros.get(m[0], "")), words)
    rows = re.findall(r'DRIFT\((\w+), "(\w+)", (\w+), (\d+), ([\w |]+),\s*(.*?),\s*\S+(?: \| \S+)*,'
                      r"\s*drift_\w+\)", text[text.index("#define DRIFT_TABLE"):])
    return [(name, word, severity, int(hold), about,
             re.findall(r"DRIFT_BIT\((\w+)\)", expand(hides)))
            for name, word, severity, hold, about, hides in rows]


def drifts_of(table, old):
    """The last two columns of a type are kept from the old table; a new type has none yet."""
    kept = {cells[1]: cells[5:7] for cells in
            ([cell.strip() for cell in line.split("|")] for line in old.splitlines())}
    lines = ["| type | severity | of | counts after | intended; observed | what to do |",
             "|---|---|---|---|---|---|"]
    for _, word, severity, hold, about, _ in drift_rows(table):
        after = f"{hold // 60} min" if hold % 60 == 0 and hold else f"{hold} s" if hold else "at once"
        of = "node" if "NODE" in about else "device"
        compared, remedy = kept.get(f"`{word}`", ["", ""])
        if not compared or not remedy:
            faults.append(f"crds/README.md: {word} lacks what it compares, or what to do")
        lines.append(f"| `{word}` | {severity.capitalize()} | {of}{' ∅' if 'ANYWAY' in about else ''} | "
                     f"{after} | {compared} | {remedy} |")
    return lines


def hidden_by(table, _):
    rows = drift_rows(table)
    words = {name: word for name, word, *_ in rows}
    return ["| type | hides |", "|---|---|"] + [
        f"| `{word}` | {', '.join(f'`{words[name]}`' for name in sorted(set(hides), key=list(words).index))} |"
        for _, word, _, _, _, hides in rows if hides]


def events_of(table, _):
    """The rows of the table of Kubernetes Events."""
    text = re.sub(r"\\\n", " ", (ROOT / table).read_text())
    rows = re.findall(r'EVENT\(\w+, "(\w+)", (\w+), "(\w+)",\s*"([^"]*)",\s*((?:"[^"]*"\s*)+)\)', text)
    return ["| reason | type | action | about | when |", "|---|---|---|---|---|"] + [
        f"| `{reason}` | {kind.capitalize()} | {action} | {about} | "
        + "".join(re.findall(r'"([^"]*)"', when)) + " |" for reason, kind, action, about, when in rows]


def words_of(name):
    """RECOVER_IMEX_DOMAIN as the API has it."""
    return "".join(w if w in ("IMEX", "P2P") else w.capitalize() for w in name.split("_"))


def joined(texts):
    return "".join(re.findall(r'"([^"]*)"', texts))


def errors_of(kind):
    """How XID errors of a class are called, with their numbers, and what is to be done about them."""
    catalogue = (ROOT / "src/assess/xid.c").read_text()
    codes = ", ".join(re.findall(rf"\{{(\d+), {kind},", catalogue))
    called = {"XID_NEEDS_REBOOT": f"that needs a reboot ({codes})", "XID_NEEDS_RESET": f"that needs a reset ({codes})",
              "XID_LOOK_CLOSER": f"to look at closer ({codes}; unknown ones)"}[kind]
    remedy = re.search(rf'\[{kind}\] = VIEW_INIT\(((?:"[^"]*"\s*)+)\)', catalogue)[1]
    return f"`XID<n>` {called}", f"what the error's `action` says, mostly: {joined(remedy)}"


def health_rows(table):
    """Of each reason: how it is called, state, action, source, evidence, what to do, clears when."""
    sources = dict(re.findall(r'SOURCE\((\w+), "(\w+)"', (ROOT / table).read_text()))
    remedies = {name: joined(text) for name, text in re.findall(
        r'\[ATTRIBUTION_RECOVERY_(\w+)\] =\s*((?:"[^"]*"\s*)+)', (ROOT / "src/kubectl/remedy.c").read_text())}
    body = re.sub(r"\\\n", " ", (ROOT / table).read_text())
    text = r'((?:"[^"]*"\s*)+)'
    for row in re.finditer(rf'FINDING\(\w+, "(\w+)", (\w+), (\w+), \w+, (\w+),\s*{text},\s*{text},\s*{text},\s*{text}\)'
                           rf'|XIDS\((\w+), (\w+), (\w+),\s*{text}\)', body):
        reason, state, action, source, _, evidence, advice, clears, xids, of_xids, to_do, clears_xids = row.groups()
        if xids:
            called, remedy = errors_of(xids)
            yield called, of_xids, to_do, sources["EVENT"], "an XID error", remedy, joined(clears_xids)
        else:
            yield (f"`{reason}`", state, action, sources[source], joined(evidence),
                   joined(advice) or remedies[action], joined(clears))


def health_of(table, _):
    """One line of each reason; two rows may have one, with an action each."""
    lines = {}
    for called, state, action, source, evidence, remedy, clears in health_rows(table):
        line = lines.setdefault(called, [called, words_of(state), [], f"`{source}`: {evidence}", [], clears])
        line[2].append("–" if action == "UNSET" else words_of(action))
        line[4].append(remedy)
    if len(lines) < 20:
        faults.append(f"{table}: its rows are not read")
    return ["| reason | state | action | source: evidence | what to do | clears when |", "|---|---|---|---|---|---|"] + [
        f"| {called} | {state} | {', '.join(actions)} | {evidence} | {'; or '.join(remedies)} | {clears} |"
        for called, state, actions, evidence, remedies, clears in lines.values()]


def sources_of(table, _):
    """Who tells what speaks against a device."""
    rows = re.findall(r'SOURCE\(\w+, "(\w+)", "([^"]*)"\)', (ROOT / table).read_text())
    return ["| source | what it is |", "|---|---|"] + [f"| `{word}` | {text} |" for word, text in rows]


TABLES = {"flags": flags_of, "events": events_of, "health": health_of, "sources": sources_of, "metrics": metrics_of,
          "drifts": drifts_of, "hidden": hidden_by}


def check_tables(name):
    """The tables of flags and metrics are those of the programs; --write brings them up to date."""
    path = ROOT / name
    if not path.exists():
        return
    text = written = path.read_text()
    for what, of, table in re.findall(rf"<!-- ({'|'.join(TABLES)}) (of|by) ([\w/.]+) -->", text):
        mark = f"<!-- {what} {of} {table} -->"
        written = re.sub(rf"{re.escape(mark)}\n((?:\|.*\n)*)",
                         lambda match: "\n".join([mark, *TABLES[what](table, match[1]), ""]), written)
    if written == text:
        return
    if "--write" in OPTIONS:
        path.write_text(written)
    else:
        faults.append(f"{name}: its tables are not those of the programs; hack/check-docs.py --write")


def check_options():
    programs = {"gpu-attribution-controller": "controller/settings.def",
                "gpu-attribution-agent": "src/agent/agent_settings.def"}
    for manifest in sorted((ROOT / "manifests").rglob("*/*.yaml")):  # install.yaml is made of them
        text = manifest.read_text()
        for variable in re.findall(r"name: GPU_ATTRIBUTION_(\w+)", text):
            option = variable.lower().replace("_", "-")
            if not any(f'"{option}"' in (ROOT / table).read_text() for table in programs.values()):
                faults.append(f"{manifest.relative_to(ROOT)}: no program has --{option}")
        for image, table in programs.items():
            if not re.search(rf"image: {image}\b", text):
                continue
            known = set(re.findall(r'SETTING\(\w+, "([\w-]+)"', (ROOT / table).read_text()))
            for option in re.findall(r"^\s*- --([\w-]+)", text, re.M):
                if option not in known:
                    faults.append(f"{manifest.relative_to(ROOT)}: {image} has no --{option}")


def check_reasons(document):
    text = (ROOT / document).read_text()
    published = re.findall(r'X\(REASON_\w+, "(\w+)"\)', (ROOT / "src/join/wording.def").read_text())
    published += re.findall(r'REASON\(\w+, "(\w+)"', (ROOT / "src/assess/activity.def").read_text())
    published += re.findall(r'FINDING\(\w+, "(\w+)"', (ROOT / "src/assess/health.def").read_text())
    for kind in ("DRIFT", "SETTLING", "REASON"):
        published += re.findall(rf'\b{kind}\(\w+, "(\w+)"', (ROOT / "src/assess/drift.def").read_text())
    for reason in published:
        if f"`{reason}`" not in text:
            faults.append(f"{document}: no word of the reason {reason}")


for document in DOCUMENTS:
    check_symbols(document)
    check_paths(document)
for check in (check_tests, check_simulator, check_cells, check_references, check_questions,
              check_matrices):
    check("tests/e2e/README.md")
for check in (check_faults, check_tests, check_simulator, check_cells):
    check("tests/faults.md")
for document in PLAIN:
    check_sentences(document)
    check_screens(document)
for document, lines in LINES.items():
    check_lines(document, lines)
for source in TEXTS:
    check_texts(source)
check_decisions("src/README.md")
check_options()
check_reasons("crds/README.md")
check_tables("controller/README.md")
check_tables("crds/README.md")
for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
