#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generated pages of the repository are those that a build has just made.

usage: check_docs.py REPOSITORY/docs/generated BUILD/docs/generated
"""

import difflib
import pathlib
import sys

# Written by what finds bugs at night, not by a build.
OTHERS = ("nightly.md",)


def pages(directory):
    paths = sorted(pathlib.Path(directory).glob("*.md"))
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.name not in OTHERS}


def main(kept, made):
    old, new = pages(kept), pages(made)
    isFresh = bool(new)
    for name in sorted(old.keys() | new.keys()):
        texts = [page.get(name, "").splitlines(keepends=True) for page in (old, new)]
        if name not in old or name not in new or texts[0] != texts[1]:
            isFresh = False
            sys.stdout.writelines(difflib.unified_diff(*texts, "kept/" + name, "made/" + name))
    return 0 if isFresh else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
