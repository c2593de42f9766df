#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inner loops of device code, counted: instructions, loads and stores per 16 bytes that are stored.

usage: cuobjdump -sass FILE.cubin | sass.py [--function TEXT] [--all]

A loop is what lies between a backward branch and its target; only loops without another loop in them are told, and,
without --all, only those that load and store 16 bytes at a time.  A figure of a static listing says nothing about time:
it shows what a loop spends beside moving its data.
"""

import argparse
import re
import sys

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?);")
FUNCTION = re.compile(r"Function : (\S+)")
TARGET = re.compile(r"\b(?:BRA|BRX)\b.*?\b0x([0-9a-f]+)")
NOT_CODE = ("NOP",)


def functions(lines):
    """(name, [(address, text)]) of every function of a listing."""
    name, code = None, []
    for line in lines:
        found = FUNCTION.search(line)
        if found:
            if name:
                yield name, code
            name, code = found.group(1), []
            continue
        found = LINE.search(line)
        if found and name:
            code.append((int(found.group(1), 16), found.group(2)))
    if name:
        yield name, code


def innermost(code):
    """(first, last) addresses of the loops that have no other in them."""
    loops = []
    for address, text in code:
        found = TARGET.search(text)
        if found and int(found.group(1), 16) <= address:
            loops.append((int(found.group(1), 16), address))
    return [a for a in set(loops)
            if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]


def mnemonic(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]


def count(code, loop):
    """What one turn of a loop executes, predicated instructions counted as if they did."""
    names = [mnemonic(text) for address, text in code if loop[0] <= address <= loop[1]]
    names = [n for n in names if n not in NOT_CODE]
    wide = [n for n in names if ".128" in n]
    return {"instructions": len(names),
            "loads": sum(n.startswith(("LDG", "LD.")) for n in wide),
            "stores": sum(n.startswith(("STG", "ST.")) for n in wide),
            "other memory": sum(n.startswith(("LD", "ST", "ATOM", "RED")) for n in names) - sum(
                n.startswith(("LDG", "LD.", "STG", "ST.")) for n in wide)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--function", default="", help="only functions with this in their names")
    parser.add_argument("--all", action="store_true", help="loops without 16-byte accesses too")
    options = parser.parse_args()
    print("%-12s %12s %6s %7s %6s %22s" % ("loop", "instructions", "loads", "stores", "other", "instructions per 16 B"))
    for name, code in functions(sys.stdin):
        if options.function not in name:
            continue
        print(name)
        for loop in sorted(innermost(code)):
            c = count(code, loop)
            if not options.all and not (c["loads"] and c["stores"]):
                continue
            per = "%.2f" % (c["instructions"] / c["stores"]) if c["stores"] else "-"
            print("  0x%-8x %12d %6d %7d %6d %22s"
                  % (loop[0], c["instructions"], c["loads"], c["stores"], c["other memory"], per))
    return 0


if __name__ == "__main__":
    sys.exit(main())
