#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dependencies point one way:

    tools -> lib -> dialect -> MLIR,    tools -> runtime

* runtime/ includes nothing of lib/, dialect/, tools/, LLVM or MLIR;
* lib/ takes the runtime's public headers only, and its folders form no cycle;
* dialect/ includes nothing of lib/ and tools/;
* nobody but a transport's own folder includes that transport's or its vendor's
  headers, and runtime/core does not even name the types they declare;
* the second verification sees nothing of scheduling, directly or not, and
  scheduling nothing of it or of terms (of deadlock it may ask); a proof sees
  nothing of execution.

usage: check_include_direction.py ROOT
"""

import os
import pathlib
import re
import sys

from repo_files import repoFiles, report

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LLVM = ("mlir/", "llvm/", "mlir-c/", "llvm-c/", "clang/")
# What each part of the tree may not include, by the beginning of the path.
FORBIDDEN = {
    "runtime": ("lib/", "dialect/", "tools/") + LLVM,
    "dialect": ("lib/", "tools/", "runtime/"),
    "lib": ("tools/", "runtime/"),
    "tools": (),
}
# Files that begin so must not reach files that begin so.
STRANGERS = (
    ("lib/Analysis/Program", "lib/Analysis/Schedule"),
    ("lib/Analysis/Schedule", "lib/Analysis/ProgramCheck"),
    ("lib/Analysis/Schedule", "lib/Analysis/Terms"),
    ("lib/Prove/", "lib/Analysis/"),
)
VENDOR = {
    "infiniband/": "verbs",
    "rdma/": "verbs",
    "cuda": "cuda",
    "nvml": "cuda",
}
DECLARED = re.compile(r"^\s*(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)\s*(?:final\s*)?[:{]", re.M)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def includesOf(root, path):
    """(line, target) of each include; a relative target is resolved to the tree."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        beside = os.path.normpath(path.parent / target)
        if match.group(1) == '"' and (root / beside).exists():
            target = beside
        yield number, target


def transportOf(path):
    parts = pathlib.Path(path).parts
    if parts[:1] == ("runtime",):
        parts = parts[1:]
    return parts[1] if parts[:1] == ("transport",) and len(parts) > 2 else None


def checkInclude(path, number, target):
    part = path.parts[0]
    where = "%s:%d: " % (path, number)
    if target.startswith(FORBIDDEN[part]):
        yield where + "%s includes %s" % (part, target)
    for prefix, transport in VENDOR.items():
        own = transportOf(path) == transport
        if target.startswith(prefix) and part == "runtime" and not own:
            yield where + "only runtime/transport/%s may include %s" % (transport, target)
    transport = transportOf(target)
    if transport and transportOf(path) not in (None, transport):
        yield where + "transport %s includes transport %s" % (transportOf(path), transport)
    if transport and path.parts[:2] == ("runtime", "core"):
        yield where + "runtime/core includes a transport's %s" % target


def checkCoreNames(root, files):
    declared = {}
    for path in files:
        if transportOf(path) and path.suffix == ".h":
            for name in DECLARED.findall((root / path).read_text()):
                declared[name] = path
    for path in files:
        if path.parts[:2] != ("runtime", "core"):
            continue
        text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), (root / path).read_text())
        for number, line in enumerate(text.splitlines(), 1):
            for name in set(re.findall(r"\w+", line)) & declared.keys():
                yield "%s:%d: runtime/core names %s of %s" % (path, number, name, declared[name])


def checkCycles(edges):
    """`edges`: (folder, folder) -> "file:line" of one include.  Depth-first search;
    an edge to a folder that is still open closes a cycle."""
    state = {}

    def visit(folder, trail):
        state[folder] = "open"
        for source, target in sorted(edges):
            if source != folder:
                continue
            if state.get(target) == "open":
                cycle = trail[trail.index(target):] + [target]
                yield "%s: lib's folders form a cycle: %s" % (
                    edges[source, target], " -> ".join(cycle))
            elif target not in state:
                yield from visit(target, trail + [target])
        state[folder] = "done"

    for folder in sorted({source for source, _ in edges}):
        if folder not in state:
            yield from visit(folder, [folder])


def classesOf(text):
    """Names of classes that are defined in namespace coll itself."""
    text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)
    spaces = []
    for line in text.splitlines():
        if line.startswith("namespace") and line.endswith("{"):
            spaces.append(line[len("namespace"):-1].strip())
        elif line.startswith("}") and not line.startswith("};") and spaces:
            spaces.pop()
        elif spaces == ["coll"]:
            match = re.match(r"(?:class|struct)\s+(\w+)\s*(?:final\s*)?[:{]", line)
            if match:
                yield match.group(1)


def checkNames(root, files):
    known = {}
    for path in sorted(files, key=lambda p: p.parts[0] != "runtime"):
        if path.suffix not in (".h", ".cpp"):
            continue
        for name in classesOf((root / path).read_text()):
            if path.parts[0] == "runtime":
                known[name] = path
            elif name in known:
                yield "%s: class %s is also one of %s" % (path, name, known[name])


def checkStrangers(includes):
    """`includes`: path -> [(line, target)]."""
    for path, list_ in includes.items():
        for own, other in STRANGERS:
            if not path.startswith(own) or path.startswith(other):
                continue
            for number, target in list_:
                trail, seen = [target], {target}
                while trail:
                    at = trail.pop()
                    if at.startswith(other):
                        yield "%s:%d: %s reaches %s" % (path, number, own, at)
                        break
                    for _, more in includes.get(at, ()):
                        if more not in seen:
                            seen.add(more)
                            trail.append(more)


def main(root):
    root = pathlib.Path(root)
    files = [p for p in repoFiles(root, (".h", ".cpp", ".c", ".inc")) if p.parts[0] in FORBIDDEN]
    if not files:
        return report(["%s: no source files" % root])
    findings = []
    edges = {}
    includes = {}
    for path in files:
        includes[str(path)] = list(includesOf(root, path))
        for number, target in includes[str(path)]:
            findings += checkInclude(path, number, target)
            pair = [pathlib.Path(p).parts[1] for p in (path, target)
                    if pathlib.Path(p).parts[0] == "lib" and len(pathlib.Path(p).parts) > 2]
            if len(pair) == 2 and pair[0] != pair[1]:
                edges.setdefault(tuple(pair), "%s:%d" % (path, number))
    findings += checkCoreNames(root, files)
    findings += checkCycles(edges)
    findings += checkStrangers(includes)
    findings += checkNames(root, files)
    return report(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
