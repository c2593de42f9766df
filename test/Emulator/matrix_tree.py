# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What there is to run on the emulator, by the sources and by the compiler (matrix.py)."""

import re
import subprocess
import sys

RANKS = 3
# So that parts are cut unevenly, and messages take several slots.
CALL = ["--ranks=%d" % RANKS, "--launches=2", "--back-to-back"]
CUT = ["--count=61", "--slot-bytes=128"]
# Of blocks with a scale no slot holds fewer than so many elements (lib/Support/BlockScale.h).
BLOCKED, TOGETHER = "mxe4m3", 16 * 32


def listOf(header, name):
    """The enumerators of an enum of coll.h."""
    body = re.search(r"typedef enum COLL_ENUM {([^}]*)} %s;" % name, header).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return [each.lower() for each in re.findall(r"\bCOLL_(\w+)", body)]


class Tree:
    """What the sources say there is."""

    def __init__(self, root):
        header = (root / "runtime/include/coll/coll.h").read_text()
        self.types, self.ops = listOf(header, "coll_dtype"), listOf(header, "coll_op")
        prelude = (root / "lib/Library/prelude.coll").read_text()
        contracts = dict(re.findall(r"^contract (\w+)[^{]*{([^}]*)}", prelude, re.M))
        functions = re.findall(r"coll_status coll_(\w+)\(", header)
        self.contracts = {name: contracts[name] for name in functions if name in contracts}
        self.schedules = {name: [] for name in self.contracts}
        for file in ("lib/Library/standard.coll", "lib/Library/nvls.coll",
                     "test/Emulator/Inputs/matrix.coll"):
            self.find(root / file, self.schedules)

    def find(self, file, schedules):
        """Adds the file's schedules of these contracts."""
        for name, head, contract in re.findall(r"^schedule (\w+)\(([^)]*)\) : (\w+)", file.read_text(), re.M):
            if contract in schedules:
                schedules[contract].append(Schedule(file, name, head))


class Schedule:
    def __init__(self, file, name, head):
        self.path, self.name = "%s:%s" % (file, name), name
        # 1 for the first and 0 for the second: a root that is not rank 0, and two ranks.
        values = [str(1 - i % 2) for i in range(head.count("launch "))]
        self.launch = ["--launch=" + ",".join(values)] if values else []
        self.text = None

    def report(self):
        if self.text is None:
            self.text = run(["colc", self.path, "--ranks=%d" % RANKS, "--target=host,cuda:sm_90",
                             "--emit=report"]).stdout
        return self.text

    def compile(self, folder, types, ops):
        """Of types and operations; the object."""
        file = folder / (self.name + ".o")
        run(["colc", self.path, "--ranks=%d" % RANKS, "--target=host,cuda:sm_90", "--ptxas=none",
             "--embed-bitcode", "--dtypes=" + types, "--ops=" + ops, "--emit=obj", "-o", str(file)])
        return file


def run(command, mayFail=False):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and not mayFail:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done


def whyNone(schedule, what):
    """The compiler's words for a type or an operation that a schedule cannot have."""
    done = run(["colc", schedule.path, "--ranks=%d" % RANKS, "--target=host", *what, "--emit=kernel",
                "-o", "/dev/null"], mayFail=True)
    said = re.search(r"error: (.*)(?:\n.*note: (.*))?", done.stderr)
    if done.returncode == 0 or not said:
        return None
    why = re.sub(r"no '\w+'", "no such type", said.group(1))
    cannot = re.match(r"schedule '\w+' cannot have elements of \w+", why)
    return said.group(2) if cannot and said.group(2) else why


def emulate(options, obj, schedule, protocol, more, cut=CUT):
    """A line of coll-emulate for every type, by type; and what it says that is wrong."""
    done = run(["coll-emulate", str(obj), schedule.name, *CALL, *cut, *schedule.launch, *protocol.options,
                "--seeds=%d" % options.seeds, "--first-seed=%d" % options.first_seed, "--how", *more],
               mayFail=True)
    lines = dict(re.findall(r"^.* ranks, (\w+), (\d+ seeds: right, no report.*)$", done.stdout, re.M))
    return lines, done.stderr.strip().split("\n")[-1] if done.returncode != 0 else ""
