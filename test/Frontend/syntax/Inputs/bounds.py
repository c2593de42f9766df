# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs coll-parse on programs at and just above each bound.

usage: bounds.py COLL_PARSE
"""

import subprocess
import sys
import tempfile
from pathlib import Path

NESTING = 200
OPERATORS = 1000
LIST = 65536
NAME = 255
FILE = 4 << 20
FILES = 1024


def nested(before, inside, after):
    return lambda n: before * n + inside + after * n


# A slug, the bound, and the program of size n.
CASES = [
    ("nesting-too-deep", NESTING - 1, lambda n: "let x = " + nested("(", "1", ")")(n)),
    ("nesting-too-deep", NESTING - 1, lambda n: "let x = " + nested("[", "1", "]")(n)),
    ("nesting-too-deep", NESTING - 1, lambda n: "let x = " + "-" * n + "1"),
    ("nesting-too-deep", NESTING - 1, lambda n: "let x = " + "not " * n + "a"),
    ("nesting-too-deep", NESTING - 1, lambda n: "let x = " + "a ? b : " * n + "1"),
    ("nesting-too-deep", NESTING, lambda n: "def f() " + nested("{", "", "}")(n)),
    ("nesting-too-deep", NESTING - 2, lambda n: "def f() {" + "group " * n + "copy in -> out}"),
    ("nesting-too-deep", NESTING - 2,
     lambda n: "def f() { if a == b { }" + " else if a == b { }" * n + " }"),
    ("nesting-too-deep", NESTING,
     lambda n: "schedule s(ranks N) : c { map { " + nested("a { ", "", " }")(n - 1) + " } }"),
    ("nesting-too-deep", OPERATORS - 1, lambda n: "let x = a" + " + a" * n),
    ("nesting-too-deep", OPERATORS - 1, lambda n: "let x = a" + "[0]" * n),
    ("list-too-long", LIST, lambda n: "let x = [" + ", ".join("1" * n) + "]"),
    ("list-too-long", LIST, lambda n: "let x = f(" + ", ".join("1" * n) + ")"),
    ("list-too-long", LIST, lambda n: "let f(" + ", ".join("x" * n) + ") = 1"),
    ("list-too-long", LIST, lambda n: "def f() { for " + ", ".join(["i in a"] * n) + " { } }"),
    ("name-too-long", NAME, lambda n: "let " + "x" * n + " = 1"),
    ("file-too-large", FILE, lambda n: "let x = 1\n" + "/" * (n - 10)),
]


def check(tool, path, slug, mustFit, what):
    run = subprocess.run([tool, path], capture_output=True, text=True, timeout=60)
    errors = [line for line in run.stderr.splitlines() if " error: " in line or
              line.startswith("error: ")]
    if mustFit:
        good = run.returncode == 0 and not errors
    else:
        good = run.returncode == 1 and len(errors) == 1 and errors[0].endswith("[%s]" % slug)
    if not good:
        print("%s: exit status %d, %s" % (what, run.returncode, errors[:3]))
    return good


def main(tool):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.coll")
        for slug, bound, program in CASES:
            for size in (bound, bound + 1):
                path.write_text(program(size))
                what = "%s: %s... of size %d" % (slug, program(2)[:40], size)
                good &= check(tool, path, slug, size == bound, what)
        # The prelude is a file too.
        for count in (FILES - 1, FILES):
            for i in range(count):
                link = "import \"%d.coll\"\n" % (i + 1) if i + 1 < count else ""
                Path(folder, "%d.coll" % i).write_text(link)
            good &= check(tool, Path(folder, "0.coll"), "too-many-files", count < FILES,
                          "%d files" % count)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
