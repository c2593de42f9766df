# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what colc says of XML files with what is known of them.

    judge.py COLC --known DIR | --generated DIR [--seconds S]
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(colc, path):
    """What colc prints of a file, and how much CPU time it took."""
    start = cpu()
    result = subprocess.run([colc, path, "--check"], capture_output=True, text=True)
    seconds = cpu() - start
    found = {"status": result.returncode, "slugs": re.findall(r"\[([a-z-]+)\]$", result.stderr, re.M)}
    for key in ("contract", "depth", "races"):
        match = re.search(key + r" ([a-z0-9-]+)", result.stdout)
        found[key] = match.group(1) if match else None
    return found, seconds


def compareKnown(want, found):
    want = dict(want)
    errors = []

    def same(name, value, known):
        if value != known:
            errors.append("%s is %s, not %s" % (name, value, known))

    prefix = want.pop("contract_prefix", None)
    if prefix and not found["contract"].startswith(prefix):
        errors.append("contract is %s, not %s..." % (found["contract"], prefix))
    names = {"contract": "contract", "least_k": "depth", "races": "races"}
    for key, name in names.items():
        if key in want:
            same(name, found[name], want.pop(key))
    slugs = [want.pop(key) for key in ("struct", "dep") if key in want]
    if want.pop("sus", None) == "CONFIRMED":
        slugs.append("rrc-remote-source")
    for slug in slugs:
        if slug not in found["slugs"]:
            errors.append("[%s] is missing" % slug)
    for key in want:
        errors.append("nobody knows what '%s' is" % key)
    return errors


def compareGenerated(want, found):
    errors = []
    if found["contract"] not in want["contracts"]:
        errors.append("contract is %s, not %s" % (found["contract"], " or ".join(want["contracts"])))
    if want["slugs"] and not set(want["slugs"]) & set(found["slugs"]):
        errors.append("none of %s, but %s" % (want["slugs"], found["slugs"]))
    if found["status"] != (1 if want["slugs"] else 0):
        errors.append("exit status %d" % found["status"])
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colc")
    parser.add_argument("--known")
    parser.add_argument("--generated")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    folder = options.known or options.generated
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    wrong = 0
    slowest, largest = 0.0, (0, 0.0, "")
    for name, want in sorted(expected.items()):
        path = os.path.join(folder, name + ".xml")
        found, seconds = run(options.colc, path)
        slowest = max(slowest, seconds)
        largest = max(largest, (os.path.getsize(path), seconds, name))
        errors = (compareKnown(want["expected"], found) if options.known else compareGenerated(want, found))
        if seconds > options.seconds:
            errors.append("%.2f s of CPU" % seconds)
        for error in errors:
            print("%s: %s" % (name, error))
        wrong += bool(errors)
    print("slowest: %.3f s of CPU; largest: %s, %d bytes, %.3f s" % (slowest, largest[2], largest[0], largest[1]))
    print("%d files, %s" % (len(expected), "%d judged wrong" % wrong if wrong else "all judged right"))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
