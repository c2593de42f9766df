# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles device kernels for several chips and holds them to bounds.

assemble.py BUILD-ROOT FILE.coll[:SCHEDULE] RANKS DTYPES OPS CHIP...

No spills, no stack, and registers for the threads of a block on one multiprocessor.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ALL_REGISTERS = 65536


def findPtxas(build):
    own = os.path.join(build, "cuda", "bin", "ptxas")
    usual = "/usr/local/cuda/bin/ptxas"
    for path in (own, shutil.which("ptxas"), usual):
        if path and os.access(path, os.X_OK):
            return path
    sys.exit("no ptxas: ./dev setup installs one")


def kernelsOf(text):
    """Name, registers, stack and spills of every kernel in the output of ptxas -v."""
    use = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    pattern = r"entry function '(\w+)' .*?" + use + r".*?Used (\d+) registers"
    for match in re.finditer(pattern, text, re.DOTALL):
        name, *numbers = match.groups()
        yield name, [int(n) for n in numbers]


def main():
    build, file, ranks, dtypes, ops, *chips = sys.argv[1:]
    ptxas = findPtxas(build)
    for chip in chips:
        command = [os.path.join(build, "bin", "colc"), file, "--ranks", ranks,
                   "--dtypes", dtypes, "--ops", ops, "--target=cuda:sm_" + chip,
                   "--emit=ptx"]
        ptx = subprocess.run(command, check=True, capture_output=True).stdout
        threads = int(re.search(rb"\.reqntid (\d+)", ptx).group(1))
        with tempfile.NamedTemporaryFile(suffix=".ptx") as source:
            source.write(ptx)
            source.flush()
            done = subprocess.run(
                [ptxas, "-v", "--fmad=false", "-arch=sm_" + chip, "-o", os.devnull,
                 source.name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        count = 0
        for name, (stack, stores, loads, registers) in kernelsOf(done.stderr + done.stdout):
            count += 1
            if stack or stores or loads or registers * threads > ALL_REGISTERS:
                sys.exit("sm_%s: %s: %d registers, %d threads, %d bytes of stack, "
                         "%d and %d spilled" % (chip, name, registers, threads, stack,
                                                stores, loads))
        if count != len(re.findall(rb"^\.visible \.entry", ptx, re.MULTILINE)):
            sys.exit("sm_%s: kernels are missing in what ptxas says" % chip)
        print("sm_%s: %d kernels" % (chip, count))


main()
