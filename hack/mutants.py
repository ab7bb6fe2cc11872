#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: hack/mutants.py FILE [COMPILER-FLAG...]     prints the mutants of a C source file

A mutant is the file with one spot changed, a small slip of the pen. The spots are taken from
clang's syntax tree, so that each is what it seems to be: `*` a product and no pointer, a call a
statement of its own, a literal of the function and not of a macro in some header. Asserts are left
alone (nobody may rely on them), as are sizeof, case labels, the texts of messages and the bounds of
arrays and `{0}`; and nothing is made to allocate more than it needs, which nobody can see.

What is changed:
  relation       < to <=, > to >= and back; == to != and back
  logic          && to || and back, one operand of && taken as true, of || as false, ! dropped
  arithmetic     + - * / %, ++ --, and with assignment
  bits           & | ^ << >>, ~ dropped, and with assignment
  constant       0 to 1, n to n + 1 and n - 1, a negative one to 0, true to false, a macro's
                 number one up and one down, an enumerator to the next of its enum
  return         false and true, 0 and -1, NULL, a zero value, for what the function's type is
  statement      a call or an assignment removed
  jump           break or continue removed, where the jump is not all that an if does
  condition      of if, while, for and ?: taken as true and as false (a loop's only as false)
  ternary        the two values swapped
  initializer    a named member left out
"""

import collections
import json
import re
import subprocess
import sys

# Offsets are of bytes; Latin-1 makes a character of each.
ENCODING = "latin-1"
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"}
BITS = {"&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<"}
SWAPS = {
    "relation": RELATIONS,
    "logic": LOGIC,
    "arithmetic": ARITHMETIC | {f"{a}=": f"{b}=" for a, b in ARITHMETIC.items()},
    "bits": BITS | {f"{a}=": f"{b}=" for a, b in BITS.items()},
}
SKIPPED_KINDS = {"UnaryExprOrTypeTraitExpr", "OffsetOfExpr", "ConstantExpr"}
ALLOCATORS = {"malloc", "calloc", "realloc", "arena_alloc"}
CASTS = {"ImplicitCastExpr", "ParenExpr", "CStyleCastExpr"}
NAME = re.compile(r"[A-Za-z_]\w*")
MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]+\Z")
BLANK = re.compile(r"(?:\s+|/\*.*?\*/|//[^\n]*)+", re.DOTALL)

# start and end are offsets of what `text` takes the place of; function is empty outside of one.
# about is the mutation as people read it: unique among those of the same line of the function.
Mutant = collections.namedtuple("Mutant", "start end text operator function line original about")


def skip_blanks(text, at):
    match = BLANK.match(text, at)
    return match.end() if match else at


def after_token(text, at):
    """Where a token ends that is a literal text, a character, a comment or one character."""
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if text[at] in "\"'":
        end = at + 1
        while text[end] != text[at]:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    return at + 1


def after_bracket(text, at):
    """Where the bracket that opens at `at` is closed, and one on."""
    depth = 0
    while True:
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        at = after_token(text, at)
        if depth == 0:
            return at


def find_operator(text, start, end, operator):
    """The operator between two operands, among nothing but blanks, comments and parentheses."""
    at = start
    while at < end:
        if text.startswith(operator, at):
            return at
        if text[at] not in "() \t\n" and not text.startswith("/*", at):
            return None
        at = after_token(text, at)
    return None


def top_level_items(text, start, end):
    """(start, end) of the items between the commas of a braced list, blanks left out."""
    items, at, first = [], start, start
    while at <= end:
        if at == end or text[at] == ",":
            first = skip_blanks(text, first)
            if first < at:
                items.append((first, at))
            first = at + 1
            at += 1
        elif text[at] in "([{":
            at = after_bracket(text, at)
        else:
            at = after_token(text, at)
    return items


def syntax_tree(path, flags):
    """NDEBUG, for asserts are left alone."""
    command = ["clang-14", *flags, "-w", "-DNDEBUG", "-fsyntax-only", "-Xclang", "-ast-dump=json"]
    done = subprocess.run([*command, path], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout)


def inner(node):
    return node.get("inner", [])


def strip(node):
    """What is under casts and parentheses."""
    while node.get("kind") in CASTS and len(inner(node)) == 1:
        node = inner(node)[0]
    return node


def contains(node, kind):
    return node.get("kind") == kind or any(contains(child, kind) for child in inner(node))


class Finder:
    """Walks over the tree of one file and collects its mutants."""

    def __init__(self, text, tree):
        self.text = text
        self.function = ""
        self.returns = ""  # the type
        self.allocates = 0  # how deep in the arguments of such a call
        self.found = {}  # (start, end, text): (operator, function, shown), the first for a change
        self.next_enumerator = {}
        self.enumerators_of(tree)
        for node in inner(tree):
            if self.is_in_file(node.get("loc", {})):
                self.top_level(node)

    def enumerators_of(self, tree):
        for node in inner(tree):
            if node.get("kind") == "EnumDecl":
                names = [c["name"] for c in inner(node) if c.get("kind") == "EnumConstantDecl"]
                for i, name in enumerate(names):
                    if len(names) > 1:
                        self.next_enumerator[name] = names[(i + 1) % len(names)]

    # Places

    @staticmethod
    def is_in_file(loc):
        loc = loc.get("expansionLoc", loc)
        return "offset" in loc and "includedFrom" not in loc

    @staticmethod
    def bare(loc):
        """The place in the file that a location stands for, and whether a macro made it up."""
        if "spellingLoc" not in loc:
            return loc, False
        spelling, expansion = loc["spellingLoc"], loc["expansionLoc"]
        if expansion.get("isMacroArgExpansion") and "includedFrom" not in spelling:
            return spelling, False
        return expansion, True

    def span(self, node):
        """(start, end) in the file of what the node was written as, or None."""
        begin, end = node.get("range", {}).get("begin", {}), node.get("range", {}).get("end", {})
        first, _ = self.bare(begin)
        last, made_up = self.bare(end)
        for loc in (first, last):
            if "offset" not in loc or "includedFrom" in loc:
                return None
        stop = last["offset"] + last["tokLen"]
        if made_up:
            bracket = skip_blanks(self.text, stop)
            if self.text.startswith("(", bracket):
                stop = after_bracket(self.text, bracket)
        return (first["offset"], stop) if first["offset"] < stop else None

    def written(self, node):
        span = self.span(node)
        return self.text[slice(*span)] if span else ""

    # Collecting

    def add(self, operator, start, end, text, shown=None):
        """shown: (start, end) of the text that people are shown, if it is more than the spot."""
        if self.text[start:end] == text:
            return
        self.found.setdefault((start, end, text), (operator, self.function, shown or (start, end)))

    def add_value(self, operator, node, value):
        """The node with its effects, but another value."""
        span = self.span(node)
        if not span:
            return
        whole = self.text[slice(*span)]
        if whole == value:
            return
        keeps = contains(node, "CallExpr") or contains(node, "CompoundAssignOperator")
        self.add(operator, *span, f"((void)({whole}), {value})" if keeps else value)

    # What is mutated

    def top_level(self, node):
        if node.get("kind") == "FunctionDecl":
            body = [child for child in inner(node) if child.get("kind") == "CompoundStmt"]
            if body:
                self.function = node["name"]
                self.returns = node["type"]["qualType"].split("(")[0].strip()
                self.visit(body[0], None)
                self.function = ""
        elif node.get("kind") == "VarDecl":
            self.initializers(node)

    def initializers(self, node):
        """Outside of functions, tables: only their named members."""
        if node.get("kind") == "InitListExpr":
            self.init_list(node)
        for child in inner(node):
            self.initializers(child)

    def visit(self, node, parent):
        kind = node.get("kind")
        if not kind or kind in SKIPPED_KINDS:
            return
        handler = getattr(self, "on_" + kind, None)
        if handler:
            handler(node, parent)
        if kind not in ("DeclRefExpr", "IntegerLiteral"):
            self.macro_number(node, parent)
        allocates = kind == "CallExpr" and self.written(inner(node)[0]) in ALLOCATORS
        self.allocates += allocates
        for child in self.mutable_children(node):
            self.visit(child, node)
        self.allocates -= allocates

    @staticmethod
    def mutable_children(node):
        if node["kind"] == "CaseStmt":
            return inner(node)[1:]
        return inner(node)

    def statement(self, node, alone):
        """alone: it is all that an if does, where taking the condition as false is the same."""
        kind = node.get("kind")
        if kind in ("BreakStmt", "ContinueStmt"):
            if not alone:
                start = self.span(node)[0]
                word = "break" if kind == "BreakStmt" else "continue"
                self.add("jump", start, start + len(word), "(void)0")
            return
        effect = strip(node)
        is_effect = effect.get("kind") in ("CallExpr", "CompoundAssignOperator") or (
            effect.get("kind") == "BinaryOperator" and effect.get("opcode") == "="
        ) or (effect.get("kind") == "UnaryOperator" and effect.get("opcode") in ("++", "--"))
        span = self.span(node)
        if is_effect and span and not alone:
            self.add("statement", *span, "(void)0")

    def on_CompoundStmt(self, node, parent):
        is_of_if = parent and parent["kind"] == "IfStmt" and not parent.get("hasElse")
        for child in inner(node):
            self.statement(child, is_of_if and len(inner(node)) == 1)

    def on_IfStmt(self, node, _parent):
        parts = inner(node)
        self.condition(parts[0], (True, False))
        for part in parts[1:]:
            self.statement(part, not node.get("hasElse"))

    def on_WhileStmt(self, node, _parent):
        self.condition(inner(node)[0], (False,))
        self.statement(inner(node)[-1], False)

    def on_DoStmt(self, node, _parent):
        self.condition(inner(node)[1], (False,))

    def on_ForStmt(self, node, _parent):
        condition = inner(node)[2]
        if condition.get("kind"):
            self.condition(condition, (False,))
        self.statement(inner(node)[4], False)

    def on_CaseStmt(self, node, _parent):
        self.statement(inner(node)[-1], False)

    def on_DefaultStmt(self, node, _parent):
        self.statement(inner(node)[-1], False)

    def on_ConditionalOperator(self, node, _parent):
        condition, yes, no = inner(node)
        self.condition(condition, (True, False))
        first, second = self.span(yes), self.span(no)
        if first and second and first[1] < second[0]:
            between = self.text[first[1] : second[0]]
            swapped = self.text[slice(*second)] + between + self.text[slice(*first)]
            if "(" not in between and ")" not in between:
                self.add("ternary", first[0], second[1], swapped)

    def condition(self, node, values):
        for value in values:
            self.forced("condition", node, value)

    def forced(self, operator, node, value):
        """Evaluated, but of that value."""
        span = self.span(node)
        if span:
            word = "true" if value else "false"
            self.add(operator, *span, f"(({self.text[slice(*span)]}), {word})")

    def on_BinaryOperator(self, node, _parent):
        left, right = inner(node)
        operator = node["opcode"]
        first, second = self.span(left), self.span(right)
        if not first or not second:
            return
        at = find_operator(self.text, first[1], second[0], operator)
        if at is None:
            return
        for kind, swaps in SWAPS.items():
            if operator in swaps:
                self.add(kind, at, at + len(operator), swaps[operator], (first[0], second[1]))
        if operator in LOGIC:
            for operand in (left, right):
                if strip(operand).get("opcode") != operator:
                    self.forced("logic", operand, operator == "&&")

    on_CompoundAssignOperator = on_BinaryOperator

    def on_UnaryOperator(self, node, parent):
        span, operator = self.span(node), node["opcode"]
        if not span:
            return
        text = self.text[slice(*span)]
        if operator in ("!", "~") and text.startswith(operator):
            self.add("logic" if operator == "!" else "bits", span[0], span[0] + 1, "", span)
        elif operator in ("++", "--"):
            at = span[1] - 2 if node.get("isPostfix") else span[0]
            if self.text.startswith(operator, at):
                self.add("arithmetic", at, at + 2, "--" if operator == "++" else "++", span)
        elif operator == "-" and re.fullmatch(r"-\d+", text) and not self.is_returned(parent):
            self.add("constant", *span, "0")

    def on_IntegerLiteral(self, node, parent):
        text = self.written(node)
        if text in ("true", "false"):
            self.add("constant", *self.span(node), "false" if text == "true" else "true")
        elif re.fullmatch(r"\d+[uUlL]*", text) and not self.is_sign(parent):
            if int(text.rstrip("uUlL")) == 0:
                if not self.is_returned(parent) and not self.is_zero_initializer(node):
                    self.add("constant", *self.span(node), "1")
            else:
                if not self.allocates:
                    self.add("constant", *self.span(node), f"({text} + 1)")
                self.add("constant", *self.span(node), f"({text} - 1)")
        elif MACRO_NAME.match(text):
            self.macro_number(node, parent)

    def is_zero_initializer(self, node):
        """`{0}`, which means the whole struct."""
        start, end = self.span(node)
        return self.text[start - 1] == "{" and self.text[end] == "}"

    def on_CharacterLiteral(self, node, _parent):
        text = self.written(node)
        if text.startswith("'"):
            self.add("constant", *self.span(node), f"({text} + 1)")

    def macro_number(self, node, parent):
        """A macro of the project that stands for a number; those of the C library are not."""
        kinds = ("IntegerLiteral", "ParenExpr", "BinaryOperator", "UnaryOperator", "CStyleCastExpr")
        if node.get("kind") not in kinds or self.is_returned(parent):
            return
        text = self.written(node)
        spelling = node.get("range", {}).get("begin", {}).get("spellingLoc", {})
        is_number = re.search(r"\bint\b|\blong\b|\bshort\b|\bchar\b", node["type"]["qualType"])
        if MACRO_NAME.match(text) and text not in ("NULL", "EOF") and spelling and is_number:
            if not self.allocates:
                self.add("constant", *self.span(node), f"({text} + 1)")
            self.add("constant", *self.span(node), f"({text} - 1)")

    def on_DeclRefExpr(self, node, _parent):
        name = node["referencedDecl"].get("name")
        if node["referencedDecl"]["kind"] != "EnumConstantDecl" or name not in self.next_enumerator:
            return
        if self.written(node) == name:
            self.add("constant", *self.span(node), self.next_enumerator[name])

    @staticmethod
    def is_sign(parent):
        return parent.get("kind") == "UnaryOperator" and parent.get("opcode") == "-"

    @staticmethod
    def is_returned(parent):
        return parent.get("kind") == "ReturnStmt"

    def on_ReturnStmt(self, node, _parent):
        if not inner(node):
            return
        value = inner(node)[0]
        text, result = self.written(value), self.returns.replace("const ", "", 1)
        is_enumerator = strip(value).get("kind") == "DeclRefExpr" and (
            strip(value)["referencedDecl"]["kind"] == "EnumConstantDecl"
        )
        if result in ("_Bool", "bool"):
            for other in ("true", "false"):
                self.add_value("return", value, other)
        elif result.endswith("*"):
            self.add_value("return", value, "NULL")
        elif result.startswith("struct "):
            if not text.replace(" ", "").endswith("{0}"):
                self.add_value("return", value, f"({result}){{0}}")
        elif is_enumerator:
            return
        elif result == "int" and text == "0":
            self.add_value("return", value, "-1")
        elif not re.fullmatch(r"[0-9]+[uUlL]*", text):
            self.add_value("return", value, "0")
        elif text.rstrip("uUlL") == "0":
            self.add_value("return", value, "1")

    def on_InitListExpr(self, node, _parent):
        self.init_list(node)

    def init_list(self, node):
        span = self.span(node)
        if not span or self.text[span[0]] != "{" or self.text[span[1] - 1] != "}":
            return
        for start, end in top_level_items(self.text, span[0] + 1, span[1] - 1):
            if self.text[start] == "." or re.match(r"\[\w+\]\s*=", self.text[start:end]):
                stop = end + 1 if self.text[end] == "," else end
                self.add("initializer", start, stop, "", (start, end))

    # Result

    def mutants(self):
        starts = [0] + [m.end() for m in re.finditer("\n", self.text)]
        result, seen = [], collections.Counter()
        for (start, end, text), (operator, function, shown) in sorted(self.found.items()):
            line = self.text.count("\n", 0, start) + 1
            original = " ".join(self.text[starts[line - 1] :].split("\n", 1)[0].split())
            about = describe(self.text, start, end, text, shown)
            # The line count stays, for what asserts say has a line in it.
            text += "\n" * (self.text.count("\n", start, end) - text.count("\n"))
            key = (function, line, about)
            seen[key] += 1
            if seen[key] > 1:
                about += f" (#{seen[key]})"
            result.append(Mutant(start, end, text, operator, function, line, original, about))
        return result


def one_line(text):
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split())


def describe(source, start, end, text, shown):
    """`i < n` becomes `i <= n`, on one line."""
    before = one_line(source[shown[0] : shown[1]])
    forced = re.match(r"\(\(.*\), (true|false)\)\Z", text, re.DOTALL)
    value = re.match(r"\(\(void\)\(.*\), (.*)\)\Z", text, re.DOTALL)
    if forced or value:
        after = (forced or value).group(1)
    elif text == "(void)0" or shown == (start, end) and not text:
        after = "nothing"
    elif text == "" and source[end - 1] == ",":
        after = "nothing"
    else:
        after = one_line(source[shown[0] : start] + text + source[end : shown[1]])
    return f"{before} => {after}"


def find(path, flags):
    """The mutants of a file, in the order of its text."""
    with open(path, encoding=ENCODING, newline="") as file:
        text = file.read()
    return Finder(text, syntax_tree(path, flags)).mutants()


def apply(text, mutant):
    return text[: mutant.start] + mutant.text + text[mutant.end :]


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 else 2)
    for found in find(sys.argv[1], sys.argv[2:]):
        print(f"{found.line}: {found.function}: {found.operator}: {found.about}")
