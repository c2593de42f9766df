#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op of the dialect has a summary, a description with an example, and for
each numbered constraint a negative test, which names it in a comment:

    // coll.slice C2

usage: check_constraints.py ROOT
"""

import pathlib
import re
import sys

# A def that gives a mnemonic to a class whose name ends in Op.
OP = re.compile(r'^def Coll_\w+Op : Coll_\w+<"(\w+)"', re.M)
CONSTRAINT = re.compile(r"^ +\* \((C\d+)\)", re.M)
TESTED = re.compile(r"^// coll\.(\w+) (C\d+)", re.M)


def opsOf(text):
    """(mnemonic, text of the def) of each op."""
    matches = list(OP.finditer(text))
    for match in matches:
        end = text.find("\n}\n", match.start())
        yield match.group(1), text[match.start():end]


def main(root):
    root = pathlib.Path(root)
    tested = set()
    for path in (root / "test" / "Dialect").rglob("*-errors.mlir"):
        tested |= set(TESTED.findall(path.read_text(encoding="utf-8")))
    findings, declared, numOps = [], set(), 0
    for path in sorted((root / "dialect").glob("*.td")):
        for op, text in opsOf(path.read_text(encoding="utf-8")):
            numOps += 1
            where = "%s: coll.%s " % (path.name, op)
            for word in ("let summary", "let description", "Example:"):
                if word not in text:
                    findings.append(where + "has no '%s'" % word)
            constraints = CONSTRAINT.findall(text)
            if constraints != ["C%d" % (i + 1) for i in range(len(constraints))]:
                findings.append(where + "has constraints out of order")
            declared |= {(op, constraint) for constraint in constraints}
    findings += ["coll.%s %s has no test" % pair for pair in sorted(declared - tested)]
    findings += ["coll.%s %s is tested and does not exist" % pair
                 for pair in sorted(tested - declared)]
    for finding in findings:
        print(finding)
    print("%d ops, %d constraints" % (numOps, len(declared)))
    return 1 if findings or not numOps else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
