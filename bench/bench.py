#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiling and running a schedule costs, against the bounds we promise.

usage: bench.py [--compile] [--run]      (default: both)
       bench.py --compare [--quick] [--ranks LIST] [--sizes LIST] [--csv FILE] [--json FILE] [--svg FILE] [--page FILE]

CPU time and peak memory are the child's own (wait4), the best of several runs: on a
busy machine the minimum is what repeats.  Exit status 1 if a bound is exceeded.
--compare times our collectives beside other libraries and the machine's limits, see compare.py.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import compare

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
LIBRARY = ROOT / "lib" / "Library"
RING = str(ROOT / "examples" / "ring.coll")
REPEATS = 3
MIB = 1 << 20

F32_SUM = ["--dtypes=f32", "--ops=sum"]
ALL_VARIANTS = [
    "--dtypes=f16,bf16,f32,f64,i8,u8,i32,u32,i64,u64",
    "--ops=sum,prod,min,max,avg,premul_sum",
]
# (what, arguments, CPU seconds, peak MiB or None, object MiB or None)
COMPILE = [
    ("ring, 8 ranks, f32 sum", [RING, "--ranks", "8"] + F32_SUM, 0.3, None, None),
    ("ring, 128 ranks, f32 sum", [RING, "--ranks", "128"] + F32_SUM, 1.0, None, None),
    ("ring, 8 ranks, default variants", [RING, "--ranks", "8"], 1.5, None, None),
    ("ring, 8 ranks, all variants", [RING, "--ranks", "8"] + ALL_VARIANTS, 15.0, None, 2),
    ("check the ring at 1024 ranks", [RING, "--check", "--ranks", "1024"], 0.3, 256, None),
    ("check the ring at 4096 ranks", [RING, "--check", "--ranks", "4096"], 0.5, 256, None),
    ("check the ring at 65536 ranks", [RING, "--check", "--ranks", "65536"], 2.0, 512, None),
]
# Device code of f32 and bf16, with the assembler, a chip at a time: CPU seconds a kernel.
DEVICE = [
    ("ring", [RING, "--ranks", "8"]),
    ("double tree", [str(LIBRARY / "tree.coll") + ":allreduce_double_tree", "--ranks", "8"]),
    ("hierarchical", [str(LIBRARY / "hier.coll") + ":allreduce_hier", "--ranks", "2,4"]),
    ("two-shot", [str(LIBRARY / "nvls.coll") + ":allreduce_two_shot", "--ranks", "8"]),
]
CHIPS = (80, 90, 100)
KERNEL_BOUND = 1.0
RUN_RANKS = (2, 4, 8)


def measure(command):
    """(exit status, CPU seconds, wall seconds, peak bytes) of one run."""
    start = time.monotonic()
    # What it prints is not what is measured.
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - start
    cpu = usage.ru_utime + usage.ru_stime
    return os.waitstatus_to_exitcode(status), cpu, wall, usage.ru_maxrss * 1024


def cell(value, bound, unit):
    if bound is None:
        return "%8.2f %-3s          " % (value, unit), False
    over = value > bound
    return "%8.2f %-3s %s %-6g " % (value, unit, "> OVER" if over else "<", bound), over


def benchCompile(folder):
    """Prints one line per entry of COMPILE; True if all kept their bounds."""
    good = True
    print("%-34s %-22s %-22s %s" % ("colc", "CPU", "peak memory", "object"))
    for what, arguments, cpuBound, peakBound, sizeBound in COMPILE:
        output = pathlib.Path(folder) / "plan.o"
        command = [str(BIN / "colc")] + arguments
        if "--check" not in arguments:
            command += ["-o", str(output)]
        runs = [measure(command) for _ in range(REPEATS)]
        if any(run[0] for run in runs):
            print("%-34s FAILED: %s" % (what, " ".join(command)))
            good = False
            continue
        cells = [cell(min(run[1] for run in runs), cpuBound, "s"),
                 cell(min(run[3] for run in runs) / MIB, peakBound, "MiB")]
        if output.exists():
            cells.append(cell(output.stat().st_size / MIB, sizeBound, "MiB"))
            output.unlink()
        line = "%-34s %s" % (what, " ".join(text for text, _ in cells))
        print(line.rstrip(), flush=True)
        good = good and not any(over for _, over in cells)
    return good


def kernelsOf(cubin):
    """How many kernels a cubin has, by the sections of their code."""
    names = set(re.findall(rb"\0\.text\.(\w+_kernel_\w+)(?=\0)", cubin.read_bytes()))
    return len(names)


def benchDevice(folder):
    """Prints what a kernel costs, by schedule and chip; True if all kept the bound."""
    good = True
    print("\n%-34s %s" % ("colc --emit=cubin, f32 and bf16 sum", "CPU of a kernel"))
    for what, arguments in DEVICE:
        for chip in CHIPS:
            output = pathlib.Path(folder) / "plan.cubin"
            command = [str(BIN / "colc")] + arguments + [
                "--dtypes=f32,bf16", "--ops=sum", "--target=cuda:sm_%d" % chip, "--emit=cubin",
                "-o", str(output)]
            runs = [measure(command) for _ in range(REPEATS)]
            if any(run[0] for run in runs) or not output.exists():
                print("%-34s FAILED: %s" % (what, " ".join(command)))
                good = False
                continue
            kernels = kernelsOf(output)
            text, over = cell(min(run[1] for run in runs) / kernels, KERNEL_BOUND, "s")
            print("%-34s %s of %d kernels" % ("%s, sm_%d" % (what, chip), text, kernels), flush=True)
            good = good and not over
            output.unlink()
    return good


def benchRun():
    """coll-run's own tables, one per rank count; True if all were right."""
    good = True
    for ranks in RUN_RANKS:
        command = [str(BIN / "coll-run"), RING, "--ranks", str(ranks),
                   "-b", "8", "-e", "64M", "-f", "4"]
        print("\n%s" % " ".join(["coll-run"] + command[1:]), flush=True)
        good = subprocess.run(command, check=False).returncode == 0 and good
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true", help="only what compiling costs")
    parser.add_argument("--run", action="store_true", help="only what running costs")
    parser.add_argument("--compare", action="store_true", help="beside other libraries and the machine's limits")
    parser.add_argument("--quick", action="store_true", help="of --compare: one round, not three")
    parser.add_argument("--ranks", default="2,4,8", help="of --compare: 2, 4 and 8 are there")
    parser.add_argument("--sizes", default=",".join(map(str, compare.SIZES)), help="of --compare, in bytes")
    for kind in ("csv", "json", "svg", "page"):
        parser.add_argument("--" + kind, metavar="FILE", help="what --compare measures, as such a file")
    options = parser.parse_args()
    if options.compare:
        with tempfile.TemporaryDirectory() as folder:
            return compare.main([int(r) for r in options.ranks.split(",")],
                                [int(s) for s in options.sizes.split(",")], folder,
                                options.csv, options.json, options.svg, options.quick, options.page)
    both = options.compile == options.run
    good = True
    if both or options.compile:
        with tempfile.TemporaryDirectory() as folder:
            good = benchCompile(folder)
            good = benchDevice(folder) and good
    if both or options.run:
        good = benchRun() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
