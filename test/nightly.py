#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The long random runs, by hand before a feature is called done.

usage: nightly.py [MINUTES]      (each check runs that long; default 60)

Runs the lit tests of the nightly tier, then every check test/Nightly/NAME.sh as
`bash NAME.sh SECONDS SEED` from the repository's root, with the tools on PATH.  A
check prints what it did and ends with a line `COUNT UNIT` ("48213 schedules"); its
exit status decides.  Commit, seed and count of each are appended to
docs/generated/nightly.md, so that a finding can be repeated.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LIT = pathlib.Path("/usr/lib/llvm-22/bin/lit")
RECORD = ROOT / "docs" / "generated" / "nightly.md"
HEADER = """# Nightly runs

What `./dev nightly` found, oldest first. A run can be repeated from its commit and seed.

| commit | check | seconds | seed | count | result |
|---|---|---|---|---|---|
"""
COUNT_LINE = re.compile(r"\d+ [\w -]+")


def commitName():
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def record(commit, check, seconds, seed, count, good):
    if not RECORD.exists():
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(HEADER)
    with RECORD.open("a") as file:
        file.write("| %s | %s | %d | %s | %s | %s |\n" % (
            commit, check, seconds, seed, count, "passed" if good else "FAILED"))


def runCheck(script, seconds, seed):
    """Runs one check; (good, its count).  Its output goes to the terminal as it
    comes; only the last line is kept."""
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(BUILD / "bin"), str(LIT.parent), env["PATH"]])
    command = ["bash", str(script), str(seconds), str(seed)]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    counted = COUNT_LINE.fullmatch(last) is not None
    return process.returncode == 0 and counted, last if counted else "none"


def main(minutes):
    commit = commitName()
    results = []
    print("==> lit, nightly tier", flush=True)
    start = time.monotonic()
    lit = subprocess.run([str(LIT), "-sv", "-D", "tiers=nightly", "--allow-empty-runs",
                          str(BUILD / "test")], check=False)
    record(commit, "lit", time.monotonic() - start, "-", "-", lit.returncode == 0)
    results.append(("lit", lit.returncode == 0))
    for script in sorted((ROOT / "test" / "Nightly").glob("*.sh")):
        # A new seed every time: what the last run did not find is elsewhere.
        seed = int.from_bytes(os.urandom(4), "little")
        print("==> %s, seed %d" % (script.stem, seed), flush=True)
        start = time.monotonic()
        good, count = runCheck(script, minutes * 60, seed)
        record(commit, script.stem, time.monotonic() - start, seed, count, good)
        results.append((script.stem, good))
    failed = [name for name, good in results if not good]
    for name in failed:
        print("failed: %s" % name)
    print("%d passed, %d failed, 0 skipped" % (len(results) - len(failed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60))
