#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No file and no function is longer than docs/Style.md allows.

Functions are found by their layout, which clang-format gives all of them alike: the
end is a line with nothing but "}" at the margin, or two columns in for what a class
defines, and the beginning is the last line before it that stands as far left.  So a
long block inside counts as well, but it lies in a function that is longer still.

Exceptions are lines of `PATH LINES why`, or `PATH:FUNCTION LINES why`.  They allow no
more than they say, and one for what is well below the limit again is a finding, too.

usage: check_size.py ROOT EXCEPTIONS
"""

import pathlib
import re
import sys

from repo_files import repoFiles, report

SOURCE_LINES = 500
HEADER_LINES = 200
TEST_LINES = 300
FUNCTION_LINES = 70
# An exception goes when less than this part of the limit is used.
NEAR = 0.9

CODE = (".cpp", ".h", ".c")
TESTS = re.compile(r"^test/(.*Test\.(cpp|c)|.*\.(coll|mlir|test|py))$")


def limitOf(path):
    if TESTS.match(path.as_posix()):
        return TEST_LINES
    return HEADER_LINES if path.suffix == ".h" else SOURCE_LINES


def indentOf(line):
    """Columns before the text; None for lines that say nothing about the layout."""
    text = line.lstrip()
    if not text or text.startswith(("//", "#", "*", "public:", "private:", "protected:")):
        return None
    return len(line) - len(text)


def functions(lines):
    """The first and last lines, from 0, of everything that ends like a function."""
    for margin in (0, 2):
        end = " " * margin + "}"
        start = None
        for number, line in enumerate(lines):
            if line == end and start is not None:
                yield start, number
            elif (indent := indentOf(line)) is not None and indent <= margin:
                start = number if indent == margin else None


def check(root, path, exceptions):
    """Yields findings, and takes out of `exceptions` what is needed."""
    lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
    limit = limitOf(path)
    if len(lines) > limit * NEAR:
        limit = exceptions.pop(path.as_posix(), limit)
    if len(lines) > limit:
        yield "%s: %d lines, not %d at most" % (path, len(lines), limit)
    if not path.name.endswith(CODE):
        return
    for start, end in functions(lines):
        length, limit = end - start + 1, FUNCTION_LINES
        if length > limit * NEAR:
            name = re.search(r"(\w+)\(", lines[start])
            limit = exceptions.pop("%s:%s" % (path.as_posix(), name and name[1]), limit)
        if length > limit:
            finding = "%s:%d: a function of %d lines, not %d at most"
            yield finding % (path, start + 1, length, limit)


def readExceptions(path):
    exceptions = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, lines, _why = line.split(maxsplit=2)
            exceptions[name] = int(lines)
    return exceptions


def main(root, exceptionsPath):
    root = pathlib.Path(root)
    exceptions = readExceptions(exceptionsPath)
    files = repoFiles(root, CODE + (".td", ".coll", ".mlir", ".test", ".py"))
    if not files:
        return report(["%s: no source files" % root])
    findings = [finding for path in files for finding in check(root, path, exceptions)]
    findings += ["%s: an exception that is not needed" % name for name in exceptions]
    return report(findings)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
