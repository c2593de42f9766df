# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses what colc says in JSON and SARIF in every kind of ending.

usage: documents.py RIGHT WRONG SYNTAX-ERROR MISSING
"""

import json
import subprocess
import sys

right, wrong, syntax, missing = sys.argv[1:]
# (arguments, exit status, number of errors)
ENDINGS = [
    ([right, "--check"], 0, 0),
    ([right, "--ranks", "2", "--emit=asm"], 0, 0),
    ([wrong, "--check"], 1, 1),
    ([syntax, "--check"], 1, 1),
    ([missing, "--check"], 2, 1),
    ([right, "--check", "--schedule", "none"], 2, 1),
    ([right, "--check", "--ranks", "2,2"], 2, 1),
    ([right, "--check", "-D", "K=1"], 2, 1),
    ([right, "--ranks", "2", "--emit=asm", "-o", "/dev/full"], 2, 1),
]


def errorsOf(form, text):
    document = json.loads(text)
    if form == "json":
        assert document["errors"] == sum(d["severity"] == "error" for d in document["diagnostics"])
        return document["errors"]
    (run,) = document["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert all(result["ruleId"] in rules for result in run["results"])
    return sum(result["level"] == "error" for result in run["results"])


for form in ("json", "sarif"):
    for arguments, status, errors in ENDINGS:
        command = ["colc", "--diagnostics-format=" + form] + arguments
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == status, (command, result)
        assert errorsOf(form, result.stderr) == errors, (command, result.stderr)
