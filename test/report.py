#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up a test run and prints its closing line.

usage: report.py RESULTS ALLOWED

RESULTS holds an XUnit file per lit run and steps.tsv, `name TAB passed|failed`, for
the checks that are no lit test.  Files scores/LEG/NAME hold a line of what tests
counted; it is printed as `NAME: LINE`.  A skipped test is printed as "not run"; with
CI=true it counts as failed unless the file ALLOWED lists it.  The last line is
`N passed, M failed, K skipped`; the exit status is 1 if anything failed, or if
nothing passed: a run without tests proves nothing.
"""

import os
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def readSteps(results):
    """Yields (name, outcome, why) for each line of steps.tsv."""
    path = results / "steps.tsv"
    if path.exists():
        for line in path.read_text().splitlines():
            name, outcome = line.split("\t")
            yield name, outcome, ""


def readLitRun(path):
    """Yields (name, outcome, why) for each test of one lit run."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        # lit writes "suite.folder/folder" and turns the folders' dots into "_".
        suite, _, folder = case.get("classname").partition(".")
        parts = [suite] + ([] if folder == suite else [folder]) + [case.get("name")]
        name = "%s: %s" % (path.stem, "/".join(parts))
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            yield name, "failed", ""
        elif skipped is not None:
            why = skipped.get("message") or ""
            if why.startswith("Test not selected"):
                continue  # by --filter: it was not meant to run
            # lit has no other word for a GTEST_SKIP.
            yield name, "skipped", "" if why == "User interrupt" else why
        else:
            yield name, "passed", ""


def readAllowed(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def printScores(results):
    for path in sorted(results.glob("scores/*/*")):
        leg = "" if path.parent.name == "dev" else " (%s)" % path.parent.name
        print("%s%s: %s" % (path.name, leg, path.read_text().strip()))


def main(results, allowedPath):
    allowed = readAllowed(allowedPath)
    strict = os.environ.get("CI") == "true"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    outcomes = list(readSteps(results))
    for path in sorted(results.glob("*.xml")):
        outcomes += readLitRun(path)
    print()
    for name, outcome, why in outcomes:
        if outcome == "skipped":
            print("not run: %s%s" % (name, " (%s)" % why if why else ""))
            if strict and not any(name.startswith(entry) for entry in allowed):
                outcome = "failed"
                name += " (not run, and not in %s)" % allowedPath
        if outcome == "failed":
            failed.append(name)
        counts[outcome] += 1
    printScores(results)
    for name in failed:
        print("failed: %s" % name)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
