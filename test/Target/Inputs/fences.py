# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that no store past the caches is published before its fence, in x86-64 machine code.

usage: fences.py OBJECT

On every path from a movnt*, an sfence comes before any store of a general register or a
constant (all words that tell another rank something are such), any call, any locked
instruction and any return. Payload is stored from vector registers there.
Prints the number of stores past the caches and of fences, or where the rule is broken.
"""

import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
SYMBOL = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# What writes to its last operand although that is memory; cmp, test, bt and prefetches do not.
READS_ONLY = re.compile(r"^(cmp|test|bt|prefetch|nop|ucomis|vucomis|comis|vcomis|vptest|ptest|j|mul|imul|div|idiv|push)")


def functions(path):
    """name -> [(address, mnemonic, operands)]"""
    command = ["llvm-objdump", "-d", "--no-show-raw-insn", "--no-leading-headers", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result, code = {}, None
    for line in text.splitlines():
        symbol = SYMBOL.match(line)
        if symbol:
            code = result.setdefault(symbol.group(1), [])
        elif code is not None:
            match = LINE.match(line)
            if match:
                operands = (match.group(3) or "").split("#")[0].strip()
                code.append((int(match.group(1), 16), match.group(2), operands))
    return result


def successors(code, index, addresses):
    address, mnemonic, operands = code[index]
    if mnemonic.startswith("ret") or mnemonic in ("ud2", "hlt"):
        return []
    if mnemonic.startswith("jmp"):
        match = re.match(r"0x([0-9a-f]+)", operands)
        if not match:  # through a table: anywhere in the function
            return list(range(len(code)))
        target = addresses.get(int(match.group(1), 16))
        return [] if target is None else [target]
    following = [index + 1] if index + 1 < len(code) else []
    if mnemonic.startswith("j"):
        match = re.match(r"0x([0-9a-f]+)", operands)
        target = addresses.get(int(match.group(1), 16)) if match else None
        if target is not None:
            following.append(target)
    return following


def publishes(mnemonic, operands):
    if mnemonic.startswith(("ret", "call", "lock", "xchg", "cmpxchg", "xadd")):
        return True
    if not operands.endswith(")") or READS_ONLY.match(mnemonic) or "mm" in operands:
        return False
    # The only operand of inc and the like, or the last of two.
    return mnemonic.startswith(("mov", "add", "sub", "inc", "dec", "and", "or", "xor", "set", "sh", "sa", "neg", "not"))


def broken(code):
    """The first instruction that a store past the caches reaches without a fence."""
    addresses = {address: i for i, (address, _, _) in enumerate(code)}
    work = [i for i, (_, mnemonic, _) in enumerate(code) if "movnt" in mnemonic]
    seen = set()
    work = [s for i in work for s in successors(code, i, addresses)]
    while work:
        index = work.pop()
        if index in seen:
            continue
        seen.add(index)
        _, mnemonic, operands = code[index]
        if mnemonic in ("sfence", "mfence"):
            continue
        if "movnt" not in mnemonic and publishes(mnemonic, operands):
            return code[index]
        work += successors(code, index, addresses)
    return None


def main(path):
    streams = fences = 0
    good = True
    for name, code in functions(path).items():
        streams += sum("movnt" in m for _, m, _ in code)
        fences += sum(m == "sfence" for _, m, _ in code)
        where = broken(code)
        if where:
            good = False
            print("%s: %x: '%s %s' comes before the fence" % ((name,) + where))
    print("%d stores past the caches, %d fences" % (streams, fences))
    return 0 if good else 1


sys.exit(main(sys.argv[1]))
