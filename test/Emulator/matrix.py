# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every protocol x collective x type, and every operation, of device code on the emulator: the
bits of the host's kernels, and no report.

usage: matrix.py ROOT FOLDER [--operations] [--via WIRES] [--sample] [--part I/N] [--seeds N]
                 [--first-seed N] [--table FILE]

Which cells there are is written down nowhere: collectives are the functions of coll.h that have a
contract, types and operations are its, schedules are the library's (and those of
Inputs/matrix.coll, where it has none for a protocol), and a protocol is a line of PROTOCOLS.
A cell is good if the emulator says so and that messages have gone by the protocol. It may be
without if the compiler says why: then none of its messages may go so. Anything else is an error.
Schedules run in place besides, where their contract offers that, for one type.

--operations: instead of all collectives, the first that reduces with every operation.
--via: all collectives on narrower wires (`via e4m3`), by the schedules of Inputs/via.coll.
--sample: one type of each cell. --part: every N-th collective, from the I-th on.
--table: what is printed stands in FILE.
"""

import argparse
import pathlib
import re
import sys

from matrix_tree import BLOCKED, CUT, TOGETHER, Tree, emulate, whyNone


class Protocol:
    """`options` of coll-emulate that lead there, its word for such messages, and what the
    compiler's report says of plans that have it (and, as a group, for what), and that have not
    (and, as a group, why)."""

    def __init__(self, options, word, has, why, inPlace=True):
        self.options, self.word, self.inPlace = options, word, inPlace
        self.has, self.why = re.compile(has, re.M), re.compile(why, re.M)


PROTOCOLS = {
    "slots": Protocol([], "in slots", r"sends .* in [1-9]\d* message", r"()"),
    "packets": Protocol(["--small"], "of packets", r"sm_90: packets", r"no packets \((.*?)\)"),
    "lines": Protocol(["--lines"], "of lines", r"sm_90: packets, lines", r"no (?:packets|lines) \((.*?)\)"),
    "direct": Protocol(["--registered"], r"(?:put|got)", r"(?:[1-9]\d* messages? put|put, [1-9]\d* got)",
                       r"put, 0 got, \d+ in slots \(\d+ ([^;\n]*)\)"),
    "multimem": Protocol(["--registered", "--multicast"], "by multimem", r", multimem (.*)",
                         r"no multimem \((.*)\)"),
}
# What the hardware adds; stores are of every type.
SUMS = re.compile(r"sums of ([\w, ]*\w)(?: and stores)?$")


def hasGone(line, protocol):
    return any(int(count) for count in re.findall(r"(\d+) " + protocol.word, line))


def typesOf(protocol, report, types, op):
    """What the report says the protocol is for."""
    said = protocol.has.search(report)
    sums = said and said.groups() and SUMS.match(said.group(1))
    if not sums or "stores" in said.group(1):
        return types
    return [t for t in types if t in re.split(r", | and ", sums.group(1)) and op == "sum"]


class Matrix:
    def __init__(self, options):
        self.options, self.tree = options, Tree(options.root)
        self.wrong, self.good, self.table, self.whys = [], 0, [], []
        self.schedules, self.wire = self.tree.schedules, None

    def judge(self, schedule, obj, name, types, op="sum"):
        """The cells of one schedule by one protocol: which of the types are good."""
        protocol = PROTOCOLS[name]
        mayGo = typesOf(protocol, schedule.report(), types, op)
        lines, said = {}, ""
        for some, cut in self.cuts(types):
            more, wrong = emulate(self.options, obj, schedule, protocol,
                                  ["--dtypes=" + ",".join(some), "--op=" + op], cut)
            lines, said = {**lines, **more}, said or wrong
        good = []
        for each in types:
            where = "%s, %s, %s, %s" % (schedule.name, name, each, op)
            if each not in lines:
                self.wrong.append("%s: %s" % (where, said or "not run"))
            elif hasGone(lines[each], protocol) != (each in mayGo):
                self.wrong.append("%s: %s, but the report says otherwise" % (where, lines[each]))
            elif each in mayGo:
                good.append(each)
        self.good += len(good)
        return good

    def cuts(self, types):
        """Which types run with which count and slots: messages of several slots."""
        if self.wire != BLOCKED:
            return [(types, CUT)]
        bits = {each: int(re.search(r"\d+", each).group()) for each in types}
        return [([each], ["--count=%d" % (2 * TOGETHER + 61), "--slot-bytes=%d" % (TOGETHER * bits[each] // 8)])
                for each in types]

    def why(self, text):
        """A reason as a number of the notes below the table."""
        if text not in self.whys:
            self.whys.append(text)
        return "no (%d)" % (1 + self.whys.index(text))

    def namesOf(self, good, declined):
        """`declined`: the compiler's words, by type."""
        rest = [each for each in self.tree.types if each not in good]
        if not rest:
            return "all"
        whys = sorted({declined[each] for each in rest if declined.get(each)})
        text = "all but " + ", ".join(rest) if len(rest) <= len(good) else ", ".join(good)
        return " ".join([text, *("(%s)" % self.why(why)[4:-1] for why in whys)])

    def cell(self, contract, name, types, declined, objects, shift):
        protocol, reduces = PROTOCOLS[name], bool(declined)
        schedule, why = choose(self.schedules[contract], protocol)
        if not schedule:
            if not why:
                self.wrong.append("%s, %s: no schedule has it, and the compiler does not say why" % (contract, name))
            return self.why(why or "?")
        some = types
        if self.options.sample:
            mayGo = typesOf(protocol, schedule.report(), types, "sum")
            some = [mayGo[shift % len(mayGo)]]
        key = schedule.name, some[0] if self.options.sample and reduces else ""
        if key not in objects:
            wanted = ",".join(some) if reduces else "f32"
            objects[key] = schedule.compile(self.options.folder, wanted, "sum")
        good = self.judge(schedule, objects[key], name, some)
        if "inplace" in self.tree.contracts[contract]:
            self.inPlace(schedule, objects[key], name, some[0])
        return self.namesOf(good, {**declined, **{t: "the hardware adds no such type" for t in types
                                                  if t not in typesOf(protocol, schedule.report(), types, "sum")}})

    def inPlace(self, schedule, obj, name, each):
        """The bits that it has out of place. Whether messages go by the protocol there, too, is
        the contract's affair."""
        lines, said = emulate(self.options, obj, schedule, PROTOCOLS[name], ["--dtypes=" + each, "--in-place"],
                              self.cuts([each])[0][1])
        if each in lines:
            self.good += 1
        else:
            self.wrong.append("%s, %s, %s in place: %s" % (schedule.name, name, each, said))

    def collective(self, contract, number):
        """All protocols of one collective: a line of the table."""
        schedules, reduces = self.schedules[contract], "reduce(" in self.tree.contracts[contract]
        if not schedules:
            self.wrong.append("%s: no schedule" % contract)
            return
        # What only moves is moved by one kernel, whatever its type.
        reduces = reduces or self.wire is not None
        declined = {each: whyNone(schedules[0], ["--dtypes=" + each]) for each in self.tree.types if reduces}
        types = [each for each in self.tree.types if not declined.get(each)]
        objects = {}
        cells = [self.cell(contract, name, types, declined, objects, number + 3 * at)
                 for at, name in enumerate(PROTOCOLS)]
        label = contract + (" via " + self.wire if self.wire else "")
        self.table.append("| %s | %s |" % (label, " | ".join(cells)))

    def via(self, wire):
        """From now on collectives are those whose messages are of another type."""
        text = (self.options.root / "test/Emulator/Inputs/via.coll").read_text()
        file = self.options.folder / (wire + ".coll")
        file.write_text(text.replace("via wire", "via " + wire))
        self.wire, self.schedules = wire, {name: [] for name in self.tree.contracts}
        self.tree.find(file, self.schedules)

    def collectives(self):
        part, parts = map(int, self.options.part.split("/"))
        for number, contract in enumerate(self.tree.contracts):
            if number % parts == part:
                self.collective(contract, number)

    def operations(self):
        """Every operation on every type, by every protocol; each has its loops for all steps, so
        one collective is enough."""
        contract = next(each for each, text in self.tree.contracts.items() if "reduce(" in text)
        for op in self.tree.ops:
            cells, objects = [], {}
            for name, protocol in PROTOCOLS.items():
                schedule, why = choose(self.schedules[contract], protocol)
                if not schedule:
                    cells.append(self.why(why or "?"))
                    continue
                declined = {t: whyNone(schedule, ["--dtypes=" + t, "--ops=" + op]) for t in self.tree.types}
                types = [each for each in self.tree.types if not declined[each]]
                if schedule.name not in objects:
                    objects[schedule.name] = schedule.compile(self.options.folder, ",".join(types), op)
                good = self.judge(schedule, objects[schedule.name], name, types, op)
                cells.append(self.namesOf(good, declined))
            self.table.append("| %s, %s | %s |" % (contract, op, " | ".join(cells)))

    def lines(self):
        yield "| | %s |" % " | ".join(PROTOCOLS)
        yield "|---" * (1 + len(PROTOCOLS)) + "|"
        yield from self.table
        yield ""
        for number, why in enumerate(self.whys):
            yield "(%d) %s%s" % (number + 1, why, "." if number + 1 == len(self.whys) else ";")


def choose(schedules, protocol):
    """The first that has the protocol, by the compiler's report; else why the first has not."""
    for schedule in schedules:
        if protocol.has.search(schedule.report()):
            return schedule, None
    said = protocol.why.search(schedules[0].report())
    return None, said.group(1) if said else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--operations", action="store_true")
    parser.add_argument("--via", default="")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    matrix = Matrix(options)
    if options.operations:
        matrix.operations()
    elif options.via:
        for wire in options.via.split(","):
            matrix.via(wire)
            matrix.collectives()
    else:
        matrix.collectives()
    table = "\n".join(matrix.lines())
    print(table)
    if options.table and table not in options.table.read_text():
        matrix.wrong.append("%s has another table" % options.table)
    for wrong in matrix.wrong:
        print("WRONG " + wrong)
    print("%d cells right, %d WRONG" % (matrix.good, len(matrix.wrong)))
    sys.exit(1 if matrix.wrong else 0)


main()
