#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of diagnostic is expected by some test: as [slug] in what a lit or unit
test compares (in a program: in a comment), or as "slug" in a Python file that tests
run. That each has a section of docs/Diagnostics.md is for the unit test Slugs.* to
find.

usage: check_slug_tests.py ROOT
"""

import pathlib
import re
import sys

from repo_files import repoFiles, report

SLUG = re.compile(r'^COLL_SLUG\(\w+, "([a-z0-9-]+)"', re.M)
EXPECTED = re.compile(r"\[([a-z0-9-]+)\]")
COMMENT = re.compile(r"//.*")
# In generators of programs: a quoted word of their tables.
QUOTED = re.compile(r'"([a-z0-9-]+)"')
SUFFIXES = (".coll", ".mlir", ".test", ".cpp", ".py")


def expectedSlugs(root):
    found = set()
    for path in repoFiles(root, SUFFIXES, inputs=True):
        # Not the files that fuzzers collect, nor what a test reads as its input.
        if path.parts[0] != "test" or (("Inputs" in path.parts) and path.suffix != ".py"):
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        if path.suffix in (".coll", ".mlir"):
            text = "\n".join(COMMENT.findall(text))
        found.update(EXPECTED.findall(text))
        if path.suffix == ".py":
            found.update(QUOTED.findall(text))
    return found


def main(root):
    root = pathlib.Path(root)
    slugs = SLUG.findall((root / "lib/Support/Slugs.def").read_text(encoding="utf-8"))
    expected = expectedSlugs(root)
    findings = ["[%s]: no test expects it" % slug for slug in slugs if slug not in expected]
    if not slugs:
        findings.append("lib/Support/Slugs.def lists no slugs")
    return report(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
