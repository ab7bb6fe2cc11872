#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the #include lines of src/ and controller/ to the layering.

usage: hack/check-layers.py [FOLDER]     the checkout (default: where this script is)

  - a layer includes only the layers that stand before it;
  - pure layers include nothing that reads a clock, does I/O, logs or starts threads;
  - a third-party library is included by the files that are named here and by no other;
  - a file is included by its path from src/ (or controller/), and stems are unique;
  - inside intent, model, assess and join, no module (its .h and .c together) includes itself by way of others;
  - a module of the join includes only modules that stand before it in src/join/README.md, which lists each;
  - in intent, model and join no file has more than 500 lines, and no function more than 45;
  - of the functions of each of these, 95 of 100 have at most 25 lines;
  - join has at most 6 500 lines, and model and join together at most 12 000, with their README.md.
Prints one line a violation and fails if there is any.
"""

import re
import sys

import arguments

# Which layers a layer may include, besides itself.
MAY_INCLUDE = {
    "base": [],
    "wire": ["base"],
    "intent": ["base"],
    "model": ["base", "intent"],
    "assess": ["base", "intent", "model"],
    "join": ["base", "intent", "model", "assess"],
    "schema": ["base", "wire", "intent", "model"],
    "io": ["base", "wire"],
    "kube": ["base", "wire", "io"],
    "agent": ["base", "wire", "model", "schema", "io"],
    "controller": ["base", "wire", "intent", "model", "assess", "join", "schema", "io", "kube"],
    "kubectl": ["base", "wire", "model", "assess", "join", "schema"],
}

# Where a stage reads only what stages above it made.
WITHOUT_CIRCLES = {"intent", "model", "assess", "join"}

# Where who decides what has to be seen at a glance.
SMALL = {"intent", "model", "join"}
FILE_LINES, FUNCTION_LINES = 500, 45
MOST_FUNCTIONS_LINES = 25  # 95 of 100
TOTAL_LINES = {("join",): 6500, ("join", "model"): 12000}
FUNCTION = re.compile(r"^[a-z][^\n;]*(?:\n[^\n;{}]+)*\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)

# Values in, values out. kube is a set of state machines that are fed bytes, answers and time; the
# files that feed them are excepted.
PURE = {"wire", "intent", "model", "assess", "join", "schema", "kube"}
PURE_EXCEPT = {"kube/apiclient.c", "kube/apiclient_endpoint.c", "kube/apiclient_requests.c",
               "kube/apiclient_shared.c", "kube/runner.c",
               "kube/runner.h", "kube/kubeconfig.c"}
IMPURE_SYSTEM = re.compile(
    r"^(unistd|fcntl|poll|time|pthread|signal|threads|dirent|netdb|dlfcn|spawn|syslog|stdatomic)\.h$"
    r"|^(sys|netinet|arpa|net|linux)/"
)
IMPURE_BASE = {f"base/{stem}.h" for stem in ("clock", "log", "handoff", "metric", "option")}

# Library: how its headers begin, and who may include them.
LIBRARIES = {
    "libcurl": (
        "curl/",
        {"io/fetch.c", "io/fetch_multi.c", "io/fetch_multi.h", "io/fetch_options.c", "io/fetch_options.h"},
    ),
    "OpenSSL": ("openssl/", {"io/tls.c", "io/tls_library.c", "io/tls_session.c"}),
    "libevent": ("event", {"io/loop.c", "io/fetch_multi.c", "io/fetch_watches.c"}),
    "liburcu": ("urcu", {"base/handoff.h"}),
    "libyaml": ("yaml.h", {"wire/yaml_tree.c", "kube/kubeconfig.c", "kubectl/yaml_output.c"}),
    "dlopen": ("dlfcn.h", {"agent/nvml_library.c"}),
}
# Folders of the C library and the kernel; any other folder in <...> is an unknown library.
SYSTEM_FOLDERS = {"sys", "netinet", "arpa", "net", "linux"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def layer_of(path):
    return path.split("/", 1)[0]


def check_system(path, header):
    layer = layer_of(path)
    for library, (start, users) in LIBRARIES.items():
        if header.startswith(start):
            if path not in users:
                yield f"{library} belongs to {', '.join(sorted(users))}"
            return
    if "/" in header and header.split("/", 1)[0] not in SYSTEM_FOLDERS:
        yield f"unknown library <{header}>"
    if layer in PURE and path not in PURE_EXCEPT and IMPURE_SYSTEM.search(header):
        yield f"<{header}> in {layer}/, which is pure"


def check_own(path, header, known):
    layer, target = layer_of(path), layer_of(header)
    if header not in known:
        yield f'"{header}" is no path from src/ or controller/'
    elif target != layer and target not in MAY_INCLUDE[layer]:
        yield f"{layer}/ may not include {target}/"
    elif layer in PURE and path not in PURE_EXCEPT and header in IMPURE_BASE:
        yield f'"{header}" in {layer}/, which is pure'


def sources(root):
    """Yields (path with its layer in front, file)."""
    for folder, prefix in ((root / "src", ""), (root / "controller", "controller/")):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".c", ".h", ".def"):
                yield prefix + file.relative_to(folder).as_posix(), file


def check_stems(files):
    seen = {}
    for path, _ in files:
        stem, _, suffix = path.rsplit("/", 1)[1].partition(".")
        other = seen.setdefault((stem, suffix), path)
        if other != path and stem != "main":
            yield f"{path}: the name is taken by {other}"


def includes_by_module(files):
    """Which modules of its own layer a module includes; {"join/slots": {"join/facts", ...}, ...}"""
    graph = {}
    for path, file in files:
        module, _, suffix = path.rpartition(".")
        if layer_of(path) in WITHOUT_CIRCLES and suffix != "def":
            headers = (own for _, own in INCLUDE.findall(file.read_text(encoding="utf-8")))
            found = {own[:-2] for own in headers if own.endswith(".h") and layer_of(own) == layer_of(path)}
            graph.setdefault(module, set()).update(found - {module})
    return graph


def check_circles(files):
    """Modules that reach each other are one circle, which its first module tells."""
    graph = includes_by_module(files)
    reached = {module: set(graph[module]) for module in graph}
    for middle in graph:
        for module in graph:
            if middle in reached[module]:
                reached[module] |= reached[middle]
    for module in sorted(graph):
        circle = sorted(other for other in reached[module] if module in reached.get(other, ()))
        if module in reached[module] and module == circle[0]:
            yield f"a circle of includes: {', '.join(circle)}"


def check_order(root, files):
    """The modules of the join are listed at the left of the README's drawing."""
    readme = root / "src/join/README.md"
    if not readme.exists():
        return
    drawing = readme.read_text(encoding="utf-8").split("```")[1]
    names = " ".join(re.findall(r"^ ([a-z_]+(?:(?:, |  )[a-z_]+)*)(?= {2,}\S|$)", drawing, re.MULTILINE))
    listed = re.findall(r"[a-z_]+", names)
    for module, included in sorted(includes_by_module(files).items()):
        layer, name = module.split("/")
        if layer != "join":
            continue
        if name not in listed:
            yield f"src/join/README.md does not list {name}"
            continue
        for other in sorted(path.split("/")[1] for path in included):
            if other in listed and listed.index(other) > listed.index(name):
                yield f"{module} includes {other}, which stands behind it in src/join/README.md"


def check_sizes(files):
    lengths = {layer: [] for layer in SMALL}
    for path, file in files:
        if layer_of(path) not in SMALL:
            continue
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > FILE_LINES:
            yield f"{path}: more than {FILE_LINES} lines"
        for match in FUNCTION.finditer(text):
            lengths[layer_of(path)].append(match[0].count("\n") + 1)
            if lengths[layer_of(path)][-1] > FUNCTION_LINES:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: a function of more than {FUNCTION_LINES} lines"
    for layer, found in sorted(lengths.items()):
        n_long = sum(length > MOST_FUNCTIONS_LINES for length in found)
        if n_long * 20 > len(found):
            yield f"src/{layer}: {n_long} of {len(found)} functions have more than {MOST_FUNCTIONS_LINES} lines"


def check_totals(root, files):
    n_lines = {}
    readmes = [(f"{layer}/README.md", root / "src" / layer / "README.md") for layer in SMALL]
    for path, file in files + [readme for readme in readmes if readme[1].exists()]:
        n_lines[layer_of(path)] = n_lines.get(layer_of(path), 0) + file.read_text(encoding="utf-8").count("\n")
    for layers, limit in TOTAL_LINES.items():
        total = sum(n_lines.get(layer, 0) for layer in layers)
        if total > limit:
            yield f"{' and '.join(f'src/{layer}' for layer in layers)}: {total} lines, more than {limit}"


def violations(root):
    files = list(sources(root))
    known = {path for path, _ in files}
    for path, file in files:
        if layer_of(path) not in MAY_INCLUDE:
            yield f"{path}: no such layer"
            continue
        text = file.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(0)) + 1
            system, own = match.groups()
            faults = check_system(path, system) if system else check_own(path, own, known)
            for fault in faults:
                yield f"{path}:{line}: {fault}"
    yield from check_stems(files)
    yield from check_circles(files)
    yield from check_order(root, files)
    yield from check_sizes(files)
    yield from check_totals(root, files)


def main():
    root, _ = arguments.parse(__doc__)
    found = list(violations(root))
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
