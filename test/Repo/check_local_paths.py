#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No tracked text names a path in somebody's home or workspace: such a line works
on one machine only.

usage: check_local_paths.py ROOT
"""

import pathlib
import re
import sys

from repo_files import repoFiles, report

LOCAL = re.compile(r"(?<![\w.}])/(?:home|root|work|workspace|Users)/[\w.-]+")
SUFFIXES = (".cpp", ".h", ".c", ".td", ".py", ".cmake", ".txt", ".md", ".json", ".coll",
            ".mlir", ".test", ".in", "dev", "run", ".sh")


def main(root):
    root = pathlib.Path(root)
    findings = []
    for path in repoFiles(root, SUFFIXES):
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for match in LOCAL.finditer(line):
                findings.append("%s:%d: names %s" % (path, number, match.group()))
    return report(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
