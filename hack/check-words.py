#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds each published word to its tests and its reference.

usage: hack/check-words.py [--write] [FOLDER]     the checkout (default: where this script is)

A word is a row of KINDS' sources. It is to be
- expected by a unit test;
- met on the local cluster, by a promise of tests/e2e, or judged by the simulator; words of health and
  activity, types of drift and settlings are to be both;
- in the reference, crds/README.md; a reason of health there with its state and recovery action.
The table in tests/e2e/README.md is made of what is found; --write brings it up to date.

A mention does not count, and a comment even less. In C a word counts as an argument of expect...(),
assert...() and the like, in a row of a table, and in the simulator in a function judge...(), but not
under a "!". On the cluster it counts in a promise: in a comparison, as what a function wait_...() waits
for, or in a row of a table that the promise goes through, there as what its column is called. Neither
counts if it is to be absent.
Prints what does not hold, and fails if anything does not.
"""

import ast
import pathlib
import re
import sys
from typing import NamedTuple

import arguments

ROOT, OPTIONS = arguments.parse(__doc__, "--write")
PAGE, REFERENCE = "tests/e2e/README.md", "crds/README.md"
MARK = "<!-- table: words -->"
NO_CLUSTER, NO_SIMULATOR = "–k", "–j"  # the page has their reasons
CITED = 3  # promises in a cell, at most
# Kinds that the cluster and the simulator have to show.
NEED_BOTH = "health|Healthy|recovery|activity|type of drift|settling"
faults = []


class Kind(NamedTuple):
    """Words of one kind. To add one: a line in KINDS, and hack/check-words.py --write."""
    title: str
    source: str   # where they are told,
    pattern: str  # each as the group of this,
    array: str    # in the array of that name ("": anywhere)
    enum: str     # how C begins the names of their enumerators ("": it has none)
    about: str    # what a statement of a promise speaks of that expects one
    units: str    # the unit tests that may hold it
    judge: str    # where the simulator has it: "file:function", or "file:table"
    section: str  # of the reference,
    column: str   # and the column of its tables there ("": anywhere)


DEF, DOC, NAME = "src/assess/health.def", "src/schema/attribution_doc.c", r'"(\w+)"'
FINDING, NOTHING = r'FINDING\(\w+, "(\w+)"', r'HEALTH_NOTHING_FOUND "(\w+)"'
XID, STALE = r"XIDS\((\w+), [A-Z]", r'REASON_REPORT_STALE, "(\w+)"'
UNTOLD = r'REASON_(?:REPORT_STALE|NO_AGENT), "(\w+)"'
WORDING, REASON = "src/join/wording.def", r'REASON\(\w+, "(\w+)"'
PUBLISHED = "REASON_"  # names that tests in C use, and the texts, too
CONDITION, SAID = r'X\(REASON_\w+, "(\w+)"', "(?i)condition|reason|attributed|ready"
CONDITIONS_JUDGED = r"reasons\.c:(rows|judge_ready)$|no_cause\.c:judge_conditions|verdicts\.c:judge_condition$"
STATE, ACTION, WORK = "ATTRIBUTION_HEALTH_", "ATTRIBUTION_RECOVERY_", "ATTRIBUTION_ACTIVITY_"
ILL, BUSY = "(?i)health|reason", "(?i)activity"
SICK, IDLE = r"(?!idleness|no_cause|drifts|differences)[\w.]+:(?!doubts|judge_idle)", r"idleness\.c:|[\w.]+:judge_idle"
DRIFTS, DRIFT, JUDGED = "src/assess/drift.def", "(?i)drift|reason", r"(drifts|differences)\.c:"
KINDS = (
    Kind("reason of health", DEF, FINDING, "", "", ILL, "*health_test.c", SICK, "Health", "reason"),
    Kind("reason of health", DEF, XID, "", "", ILL, "*health_test.c", SICK, "Health", "reason"),
    Kind("reason of `Healthy`", DEF, NOTHING, "", "", ILL, "*conditions_test.c", SICK, "Conditions", ""),
    Kind("reason of `Healthy`", WORDING, STALE, "", "", ILL, "*conditions_test.c", SICK, "Conditions", ""),
    Kind("reason of a condition", WORDING, CONDITION, "", PUBLISHED, SAID, "*conditions_test.c", CONDITIONS_JUDGED,
         "Conditions", ""),
    Kind("state of health", DOC, NAME, "health_names", STATE, ILL, "*health_test.c", SICK, "Health", "state"),
    Kind("recovery action", DOC, NAME, "recovery_names", ACTION, "recoveryAction", "*health_test.c", SICK,
         "Health", "action"),
    Kind("activity", DOC, NAME, "activity_names", WORK, BUSY, "*activity_test.c", IDLE, "Activity", "state"),
    Kind("type of drift", DRIFTS, r'DRIFT\(\w+, "(\w+)"', "", "", DRIFT, "*drift_test.c", JUDGED, "Intent", "type"),
    Kind("settling", DRIFTS, r'SETTLING\(\w+, "(\w+)"', "", "", DRIFT, "*drift_test.c", JUDGED, "Intent",
         "reason of `InSync`"),
    Kind("reason of `InSync`", DRIFTS, REASON, "", "", DRIFT, "*drift_test.c", JUDGED, "Intent", "reason"),
    Kind("reason of `InSync`", WORDING, UNTOLD, "", "", "(?i)in_?sync", "conditions_test.c", JUDGED, "Intent",
         "reason"),
    Kind("reason of activity", "src/assess/activity.def", REASON, "", "", BUSY, "*activity_test.c", IDLE,
         "Activity", "reason"),
    Kind("reason of an Event", "controller/event_types.def", r'EVENT\(\w+, "(\w+)"', "", "EVENT_", "(?i)of_object|of_pod|events",
         "event_changes_test.c", r"told\.c:", "Events", "reason"),
)
# Of these the cluster shows each, and the simulator does; but for those with a reason why not.
# Reasons with a number, by class: as the reference and the simulator call them.
XIDS = {"XID_NEEDS_REBOOT": ("`XID<n>` that needs a reboot", "NEEDS_REBOOT"),
        "XID_NEEDS_RESET": ("`XID<n>` that needs a reset", "NEEDS_RESET"),
        "XID_LOOK_CLOSER": ("`XID<n>` to look at closer", "LOOK_CLOSER")}


class Word(NamedTuple):
    kind: Kind
    label: str        # as the reference has it
    texts: frozenset  # one of these is published
    names: frozenset  # enumerators


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def camel_to_upper(word):
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", word).upper()


def words_of(kind):
    text = read(kind.source)
    if kind.array:
        text = re.search(rf"\b{kind.array}\[\] = {{(.*?)}};", text, re.S)[1]
    for word in dict.fromkeys(re.findall(kind.pattern, text)):
        if word in XIDS:
            codes = re.findall(rf"\{{(\d+), {word},", read("src/assess/xid.c"))
            label, name = XIDS[word]
            yield Word(kind, label, frozenset(f"XID{code}" for code in codes), frozenset({name}))
        else:
            names = {kind.enum + camel_to_upper(word)} if kind.enum else ()
            yield Word(kind, f"`{word}`", frozenset({word}), frozenset(names))


def in_c(word):
    """How a test in C says it: where there is an enumerator, mostly by that alone."""
    return word.names if word.kind.enum not in ("", PUBLISHED) else word.texts | word.names


# --- C


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'|'
                   r'!(?!=)(?:[\w.!]|->)*\(?|\w+|[(){}\[\];=]', re.S)
EXPECTS = re.compile(r"expect|assert|PROMISE$")
JUDGES = re.compile(r"(\w+_)?judge(_|$)")


def is_expected(stack, judges):
    """stack: what was opened, each as (bracket, the word before it)."""
    calls = [word for bracket, word in stack if bracket == "("]
    braces = [word for bracket, word in stack if bracket == "{"]
    if "!" in calls:
        return False
    begin = next((i for i, word in enumerate(braces) if word.startswith("=")), None)
    is_row = begin is not None and len(braces) > begin + 1
    return is_row or any(EXPECTS.match(word) for word in calls) or \
        (judges and any(JUDGES.match(word) for word in braces))


def tokens_of(text):
    """Each token of C, with what is open around it: (bracket, what it is of). A body is of the function's
    name, an initialiser of "=" and the variable's."""
    stack, last, called, variable = [], "", "", ""
    for token in TOKEN.findall(text):
        if token.startswith(("/*", "//")):
            continue
        if token[0] == "!":
            if token[-1] == "(":
                stack.append(("(", "!"))
            continue
        if token in "({[":
            of = called if token == "{" and last == ")" else last
            stack.append((token, f"={variable}" if of == "=" else of))
            variable = last if token == "[" and last.isidentifier() else variable
        elif token in ")}]" and stack:
            _, of = stack.pop()
            called = of if token == ")" else called
        else:
            variable = last if token == "=" and last.isidentifier() else variable
            yield token, stack
        last = token


def items_of(literal, stack):
    """The words that a text lists, by commas; in the language of scenarios, each."""
    is_scenario = any(word == "PROMISE" for _, word in stack)
    return re.split(r"[\s,;]+" if is_scenario else ",", literal)


def expected_in(path, wanted, judges=False):
    """Which wanted texts and names a test in C expects, each with what it is in: a function or a table.
    A name that stands for another one is that, too."""
    text = path.read_text(encoding="utf-8")
    stands_for = {alias: name for alias, name in
                  re.findall(r"(?:#define\s+|\b)(\w+)(?:\s+|\s*=\s*)(ATTRIBUTION_\w+)", text)}
    found = set()
    for token, stack in tokens_of(text):
        if not (token[0] == '"' or token[0].isalpha()):
            continue
        words = items_of(token[1:-1], stack) if token[0] == '"' else (token, stands_for.get(token))
        words = [word for word in words if word in wanted]
        if not words or not is_expected(stack, judges):
            continue
        braces = [word for bracket, word in stack if bracket == "{"]
        place = next((w for w in braces if w.startswith("=")), braces[0] if braces else "")
        found.update((word, place.lstrip("=")) for word in words)
    return found


# --- the local cluster


def column_of(kind):
    """What it is called where a test unpacks a row."""
    return kind.column.partition(" ")[0]


COLUMNS = {column_of(kind) for kind in KINDS} - {""}  # they are of these kinds only


class Promise(ast.NodeVisitor):
    """What one promise expects: (text, the statement that says so, names of its column in a table)."""

    def __init__(self, module, function, lines):
        self.tables, self.lines, self.found, self.statements = {}, lines, [], []
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.tables[node.targets[0].id] = node.value
        self.whole = self.text_of(function)
        self.unpacked = [tuple(map(ast.unparse, names.elts)) for loop in ast.walk(function)
                         if isinstance(loop, (ast.For, ast.comprehension))
                         for names in ast.walk(loop.target) if isinstance(names, ast.Tuple)]
        for node in function.body:
            self.visit(node)

    def text_of(self, node):
        return "\n".join(self.lines[node.lineno - 1:node.end_lineno])

    def visit(self, node):
        is_statement = isinstance(node, ast.stmt)
        if is_statement:
            self.statements.append(self.text_of(node))
        super().visit(node)
        if is_statement:
            self.statements.pop()

    def take(self, node, around=None, columns=()):
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                self.found.append((part.value, around or self.statements[-1], columns))

    def take_rows(self, node):
        """Of a table: lists or tuples of tuples. Its columns have the names that loops unpack them by."""
        for row in getattr(node, "elts", []):
            for number, cell in enumerate(row.elts if isinstance(row, ast.Tuple) else ()):
                self.take(cell, self.whole, {names[number] for names in self.unpacked
                                             if len(names) == len(row.elts)} & COLUMNS)

    def visit_UnaryOp(self, node):  # what is not to be does not count
        if not isinstance(node.op, ast.Not):
            self.generic_visit(node)

    def visit_Compare(self, node):
        if all(isinstance(op, (ast.Eq, ast.In)) for op in node.ops):
            self.take(node)
        self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name.startswith("wait_") and name != "wait_for":
            for argument in node.args:
                self.take(argument)
        self.generic_visit(node)

    def visit_Assign(self, node):
        self.take_rows(node.value)
        self.generic_visit(node)

    def visit_For(self, node):
        self.take_rows(node.iter)
        if isinstance(node.iter, ast.Tuple):
            self.take(node.iter)
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id.isupper() and node.id in self.tables:
            self.take_rows(self.tables[node.id])


def promises():
    """(file: sentence, what it expects) of each promise."""
    for path in sorted((ROOT / "tests/e2e").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        module = ast.parse(source)
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and any(
                    ast.unparse(d) == "tests.promise" for d in node.decorator_list):
                yield (f"{path.name}: {node.name.replace('_', ' ')}",
                       Promise(module, node, source.splitlines()).found)


# --- the reference


def section_of(title):
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", read(REFERENCE), re.S | re.M)
    return found[1] if found else ""


def rows_of(section):
    """The rows of a section's tables, each as a cell by its column's title."""
    for block in re.findall(r"(?:^\|.*\|\n)+", section_of(section), re.M):
        table = [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
        for row in table[2:]:
            yield dict(zip(table[0], row))


def is_in_reference(word):
    """In the column of its kind, or else where the section explains it in a sentence."""
    kind, plain = word.kind, word.label.strip("`")
    cells = [cell for row in rows_of(kind.section) for title, cell in row.items()
             if title == kind.column or not kind.column]
    sentences = re.sub(r"^\|.*\|\n", "", section_of(kind.section), flags=re.M)
    return word.label in sentences or \
        any(word.label in cell or plain in cell.split(", ") for cell in cells)


def check_health_rows():
    """State and recovery action of each reason are those of the code."""
    wanted = {}
    for reason, xids, state, action in re.findall(
            r'(?:FINDING\(\w+, "(\w+)"|XIDS\((\w+)), (\w+), (\w+)', read("src/assess/health.def")):
        label = XIDS[xids][0] if xids else f"`{reason}`"
        wanted.setdefault(label, set()).add((state, "–" if action == "UNSET" else action))
    for label, verdicts in wanted.items():
        row = next((r for r in rows_of("Health") if label in r.get("reason", "")), None)
        if not row:
            continue  # said elsewhere
        said = {(row["state"].upper(), camel_to_upper(a)) for a in row["action"].split(", ")}
        if said != verdicts:
            faults.append(f"{REFERENCE}: {label} is {sorted(verdicts)}, not {sorted(said)}")


# --- the table


class Tests:
    def __init__(self, words):
        wanted = {text for word in words for text in in_c(word)}
        self.units = {p.name: expected_in(p, wanted) for p in sorted((ROOT / "tests/unit").glob("*_test.c"))}
        self.sim = {p.name: expected_in(p, wanted, True) for p in sorted((ROOT / "tests/sim").glob("*.c"))}
        self.promises = list(promises())
        self.numbers = {promise: number for number, promise in
                        re.findall(r"^(\d+)\. `([\w-]+\.py: [\w ]+)`$", read(PAGE), re.M)}

    def in_units(self, word):
        fit = [name for name in self.units if pathlib.PurePath(name).match(word.kind.units)]
        fit.sort(key=lambda name: (len(name), name))  # the module's own before others
        held = [name for name in fit if {text for text, _ in self.units[name]} & in_c(word)]
        return f"`unit/{held[0]}`" if held else ""

    def in_simulator(self, word):
        held = [name for name, found in self.sim.items()
                if any(text in in_c(word) and re.match(word.kind.judge, f"{name}:{place}")
                       for text, place in found)]
        return f"`{held[0]}`" if held else ""

    def on_cluster(self, word):
        held = [promise for promise, found in self.promises
                if any(text in word.texts and re.search(word.kind.about, around) and
                       (not columns or column_of(word.kind) in {"", *columns})
                       for text, around, columns in found)]
        listed = [self.numbers[promise] for promise in held if promise in self.numbers]
        if held and not listed:
            faults.append(f"{PAGE}: the list of promises lacks one of {word.label}: {held[0]}")
        return " ".join(f"[{number}]" for number in sorted(listed, key=int)[:CITED])


def make_table(words):
    tests = Tests(words)
    table = ["| word | what it is | local cluster | simulator | unit | reference |",
             "|---|---|---|---|---|---|"]
    for word in words:
        kind = word.kind
        cluster, simulator = tests.on_cluster(word), tests.in_simulator(word)
        unit, reference = tests.in_units(word), is_in_reference(word)
        for is_there, what in ((unit, "no unit test expects it"),
                               (cluster or simulator, "neither cluster nor simulator shows it"),
                               ((cluster and simulator) or not (cluster or simulator) or
                                not re.search(NEED_BOTH, kind.title),
                                f"the {'simulator' if cluster else 'cluster'} does not show it"),
                               (reference, f"{REFERENCE} does not explain it")):
            if not is_there:
                faults.append(f"{kind.title} {word.label}: {what}")
        table.append(f"| {word.label} | {kind.title} | {cluster or NO_CLUSTER} | "
                     f"{simulator or NO_SIMULATOR} | {unit} | {kind.section} |")
    return table


def main():
    check_health_rows()
    text = read(PAGE)
    table = "\n".join([MARK, *make_table([word for kind in KINDS for word in words_of(kind)]), ""])
    written = re.sub(rf"{re.escape(MARK)}\n(?:\|.*\n)*", lambda _: table, text)
    if MARK not in text:
        faults.append(f"{PAGE}: it has no {MARK}")
    if written != text and "--write" in OPTIONS:
        (ROOT / PAGE).write_text(written, encoding="utf-8")
    elif written != text:
        faults.append(f"{PAGE}: its table of words is not what is found; hack/check-words.py --write")
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
