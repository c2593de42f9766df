#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every source file names its licence within its first lines, and every C++ and
TableGen file outside examples/ opens with `//===- Name - What it is ---===//`,
naming itself.

usage: check_licence.py ROOT
"""

import pathlib
import re
import sys

from repo_files import repoFiles, report

SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
HEAD_LINES = 4
# "//===- Name.cpp - What it is ---===//", or "/*===- name.h - ... ---===" in C.
TITLE = re.compile(r"^(?://|/\*)===-+ (\S+) - .*-===(?://|\*/)?$")
TITLED = (".cpp", ".h", ".td", ".c")


def check(root, path):
    head = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()[:HEAD_LINES]
    if not any(SPDX in line for line in head):
        yield "%s:1: no '%s' in the first %d lines" % (path, SPDX, HEAD_LINES)
    # An example opens as its own program would.
    if path.name.endswith(TITLED) and path.parts[0] != "examples":
        title = TITLE.match(head[0]) if head else None
        if not title:
            yield "%s:1: does not open with '//===- %s - ... ---===//'" % (path, path.name)
        elif not str(path).endswith(title.group(1)):
            yield "%s:1: calls itself %s" % (path, title.group(1))


def main(root):
    root = pathlib.Path(root)
    files = repoFiles(root, TITLED + (".py",))
    if not files:
        return report(["%s: no source files" % root])
    return report([finding for path in files for finding in check(root, path)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
