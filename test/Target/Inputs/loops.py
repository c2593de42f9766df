# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Describes the innermost loops of an x86-64 function that touch vectors, one a line.

usage: loops.py OBJECT SYMBOL

  load 32 x8, store 32 x4, addps x4, control x3
  load 4 x2, store 4 x1, addss x1, control x3
  load 64 x4, stream 64 x4, control x3

A load or store is any memory operand, with its bytes, a stream a store past the caches; `addps` counts the instructions,
whether an operand lies in memory or not; `control` is the loop's own counting: add,
inc, sub, lea, cmp and the jump back.  Everything else stands under its own name, in
capitals where a loop has no business to have it: CALL, JUMP, STACK, or the mnemonic.
"""

import collections
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
CONTROL = re.compile(r"^(add|inc|sub|dec|lea|cmp|test)[lq]?$")
MOVE = re.compile(r"^v?mov(ntps|ntpd|ntdq|ups|aps|upd|apd|dqu|dqa|dqu64|dqu32|dqu8|dqa64|dqa32)$")
VECTOR_BYTES = {"x": 16, "y": 32, "z": 64}


def disassemble(path, symbol):
    """[(address, mnemonic, operands)] of one function."""
    command = ["llvm-objdump", "-d", "--no-show-raw-insn", "--no-leading-headers",
               "--disassemble-symbols=" + symbol, path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    matches = filter(None, map(LINE.match, text.splitlines()))
    # Comments, such as "# imm = 0x400", are no operands.
    return [(int(m.group(1), 16), m.group(2), (m.group(3) or "").split("#")[0].strip()) for m in matches]


def targetOf(mnemonic, operands):
    if not mnemonic.startswith("j"):
        return None
    match = re.match(r"0x([0-9a-f]+)", operands)
    return int(match.group(1), 16) if match else None


def innermostLoops(code):
    """Bodies between the target of a jump back and that jump, without another such jump inside."""
    back = []
    for address, mnemonic, operands in code:
        target = targetOf(mnemonic, operands)
        if target is not None and code[0][0] <= target <= address:
            back.append((target, address))
    for begin, end in back:
        if not any(begin <= e < end for _, e in back):
            yield [entry for entry in code if begin <= entry[0] <= end]


def widthOf(mnemonic, operands):
    """Bytes of an instruction's memory operand; 0: unknown."""
    if MOVE.match(mnemonic) or re.search(r"p[sd]$", mnemonic):
        return max(VECTOR_BYTES[r] for r in re.findall(r"%([xyz])mm", operands))
    if "mm" in operands:
        return {"ss": 4, "vd": 4, "sd": 8, "vq": 8}.get(mnemonic[-2:], 0)
    return {"b": 1, "w": 2, "l": 4, "q": 8}.get(mnemonic[-1], 0)


def describe(loop):
    counts = collections.Counter()
    for address, mnemonic, operands in loop:
        if "(%rsp" in operands:
            counts["STACK"] += 1
        elif mnemonic.startswith("call"):
            counts["CALL"] += 1
        elif mnemonic.startswith("j"):
            counts["control" if address == loop[-1][0] else "JUMP"] += 1
        elif CONTROL.match(mnemonic) and "mm" not in operands and ("(" not in operands or mnemonic[:3] == "lea"):
            counts["control"] += 1
        else:
            if "(" in operands:
                side = "load" if not operands.endswith(")") else "stream" if "movnt" in mnemonic else "store"
                counts["%s %d" % (side, widthOf(mnemonic, operands))] += 1
            if not MOVE.match(mnemonic):
                counts[mnemonic.removeprefix("v")] += 1
            elif "(" not in operands:
                counts["copy"] += 1
    return ", ".join("%s x%d" % item for item in sorted(counts.items(), key=rank))


def rank(item):
    order = ["load", "store", "stream"]
    word = item[0].split()[0]
    return (order.index(word) if word in order else 4 if word == "control" else 3, item[0])


def main(path, symbol):
    for loop in innermostLoops(disassemble(path, symbol)):
        if any("mm" in operands for _, _, operands in loop):
            print(describe(loop))


main(*sys.argv[1:])
