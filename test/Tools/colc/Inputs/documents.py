# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses what colc says in JSON and SARIF in every kind of ending.

usage: documents.py RIGHT WRONG SYNTAX-ERROR MISSING FIXABLE
"""

import json
import subprocess
import sys

right, wrong, syntax, missing, fixable = sys.argv[1:]
# (arguments, exit status, number of errors)
ENDINGS = [
    ([right, "--check"], 0, 0),
    ([right, "--ranks", "2", "--emit=asm"], 0, 0),
    ([wrong, "--check"], 1, 1),
    ([syntax, "--check"], 1, 1),
    ([missing, "--check"], 2, 1),
    ([fixable, "--check"], 1, 1),
    ([right, "--check", "--schedule", "none"], 2, 1),
    ([right, "--check", "--ranks", "2,2"], 2, 1),
    ([right, "--check", "-D", "K=1"], 2, 1),
    ([right, "--ranks", "2", "--emit=asm", "-o", "/dev/full"], 2, 1),
]


# Objects of SARIF 2.1.0 (OASIS standard, section 3): what they must have, and what else
# colc writes; each with the object that it is, or a list of, or a test of its value.
SARIF = {
    "log": ({"version": lambda v: v == "2.1.0", "runs": ["run"]}, {"$schema": lambda v: v.startswith("https://")}),
    "run": ({"tool": "tool"}, {"results": ["result"], "columnKind": lambda v: v == "unicodeCodePoints"}),
    "tool": ({"driver": "driver"}, {}),
    "driver": ({"name": lambda v: v == "colc"}, {"rules": ["rule"]}),
    "rule": ({"id": lambda v: v}, {"shortDescription": "message"}),
    "result": ({"message": "message"},
               {"ruleId": lambda v: v, "level": lambda v: v in ("error", "warning", "note", "none"),
                "locations": ["location"], "relatedLocations": ["location"], "fixes": ["fix"]}),
    "message": ({"text": lambda v: v}, {}),
    "location": ({}, {"physicalLocation": "physicalLocation", "message": "message"}),
    "physicalLocation": ({"artifactLocation": "artifactLocation"}, {"region": "region"}),
    "artifactLocation": ({"uri": lambda v: v and " " not in v}, {}),
    "region": ({"startLine": lambda v: v >= 1},
               {"startColumn": lambda v: v >= 1, "endLine": lambda v: v >= 1, "endColumn": lambda v: v >= 1}),
    "fix": ({"artifactChanges": ["artifactChange"]}, {"description": "message"}),
    "artifactChange": ({"artifactLocation": "artifactLocation", "replacements": ["replacement"]}, {}),
    "replacement": ({"deletedRegion": "region"}, {"insertedContent": "content"}),
    "content": ({}, {"text": lambda v: True}),
}


def validate(kind, value, seen):
    required, optional = SARIF[kind]
    assert isinstance(value, dict) and set(required) <= set(value), (kind, value)
    seen.add(kind)
    for key, of in value.items():
        rule = required.get(key) or optional.get(key)
        assert rule, (kind, "has no", key)
        if callable(rule):
            assert rule(of), (kind, key, of)
        elif isinstance(rule, str):
            validate(rule, of, seen)
        else:
            assert isinstance(of, list) and (of or key in ("rules", "results")), (kind, key)
            for element in of:
                validate(rule[0], element, seen)


def errorsOf(form, text):
    document = json.loads(text)
    if form == "json":
        assert document["errors"] == sum(d["severity"] == "error" for d in document["diagnostics"])
        return document["errors"]
    validate("log", document, seen)
    (run,) = document["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert all(result["ruleId"] in rules for result in run["results"])
    return sum(result["level"] == "error" for result in run["results"])


seen = set()
for form in ("json", "sarif"):
    for arguments, status, errors in ENDINGS:
        command = ["colc", "--diagnostics-format=" + form] + arguments
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == status, (command, result)
        assert errorsOf(form, result.stderr) == errors, (command, result.stderr)
assert seen == set(SARIF), set(SARIF) - seen
