# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs that the `// RUN` lines of examples/language name on local processes.

`RUN NAME A=1 B=2` names a schedule, the sizes of its rank space in the order of the
schedule, its parameters and launch values. Lines with `expect=` must be rejected, by
colc and so by coll-run.
"""

import pathlib
import re
import subprocess
import sys

COUNTS = "0,1,37,1021"


def rankNames(text, schedule):
    """The names of the rank dimensions and of the launch parameters of a schedule."""
    head = re.search(r"schedule\s+%s\s*\(" % schedule, text)
    header = text[head.end():text.index("{", head.end())]
    ranks = re.match(r"\s*ranks\s+(?:\(([^)]*)\)|(\w+))", header)
    names = [n.strip() for n in (ranks.group(1) or ranks.group(2)).split(",")]
    return names, re.findall(r"launch\s+(\w+)\s+in", header)


def command(path, text, line):
    schedule, *settings = line.split()
    values = dict(s.split("=") for s in settings)
    expect = values.pop("expect", None)
    dims, launches = rankNames(text, schedule)
    ranks = ",".join(values.pop(d) for d in dims)
    arguments = ["coll-run", f"{path}:{schedule}", "--ranks", ranks, "-n", "1", "-w", "0",
                 "--csv", "--counts", COUNTS, "-d", "f32,bf16"]
    for name in launches:
        arguments += ["-r", values.pop(name, "0")]
    for name, value in values.items():
        arguments += ["-D", f"{name}={value}"]
    return arguments, expect


def main():
    failed = ran = rejected = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.coll")):
        text = path.read_text()
        for line in re.findall(r"^// RUN (.*?)(?:\s{2,}\(.*)?$", text, re.M):
            arguments, expect = command(path, text, line)
            result = subprocess.run(arguments, capture_output=True, text=True)
            rows = result.stdout.splitlines()[1:]
            right = result.returncode == 0 and rows and all(r.endswith(",0") for r in rows)
            wanted = result.returncode == 1 and not rows if expect else right
            ran += not expect
            rejected += bool(expect)
            if not wanted:
                failed += 1
                print(f"{path.name}: RUN {line}: exit {result.returncode}")
                print("\n".join(rows[:5]), result.stderr[-2000:])
    print(f"{ran} programs run, {rejected} rejected, {failed} not as expected")
    return failed != 0


sys.exit(main())
