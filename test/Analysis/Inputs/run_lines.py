# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes what the RUN lines of .coll files ask for.

  // RUN schedule N=4 K=3 [expect=words_of_the_error]

Every line must be right, or wrong with an error that has the words (underscores
are spaces). expect=WRONG: the outputs are not what the contract promises. The
same words stand before and after a slug: expect=deadlock is [deadlock], too.
"""

import os
import re
import subprocess
import sys

CONTRACT = {
    "unwritten-output",
    "missing-contribution",
    "double-contribution",
    "wrong-value",
    "plus-is-not-reduce",
}


def errorsOf(text):
    """Messages and slugs of the errors, without notes."""
    return re.findall(r": error: (.*) \[([a-z0-9-]+)\]$", text, re.M)


def isExpected(expect, status, errors):
    if expect is None:
        return status == 0 and not errors
    if status != 1:
        return False
    if expect == "WRONG":
        return any(slug in CONTRACT for _, slug in errors)
    words = expect.replace("_", " ")
    return any(words in message or words == slug for message, slug in errors)


def run(tool, path, name, arguments):
    command = [tool, path, "--schedule", name] + ["-D" + a for a in arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stderr


def main():
    tool, files = sys.argv[1], sys.argv[2:]
    numRun = numBad = 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            lines = re.findall(r"^// RUN (\w+)((?: +\w+=\S+)*)", file.read(), re.M)
        for name, rest in lines:
            expect = None
            arguments = []
            for argument in rest.split():
                if argument.startswith("expect="):
                    expect = argument[len("expect=") :]
                else:
                    arguments.append(argument)
            status, text = run(tool, path, name, arguments)
            numRun += 1
            if not isExpected(expect, status, errorsOf(text)):
                numBad += 1
                print("%s: %s%s: exit %d" % (os.path.basename(path), name, rest, status))
                print(text)
    print("%d lines, %d not as expected" % (numRun, numBad))
    return numBad != 0


sys.exit(main())
