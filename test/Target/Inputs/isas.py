# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether instruction sets give the same bits: runs schedules under each and compares every output.

usage: isas.py FOLDER LIBRARY ISA ISA
"""

import filecmp
import os
import shutil
import subprocess
import sys

# Formats whose conversions are written differently, divisions, factors, fp8 on the wire.
RUNS = [
    ("ring.coll:allreduce_ring", "bf16", "sum"),
    ("ring.coll:allreduce_ring", "f16", "avg"),
    ("tree.coll:allreduce_rhd", "f32", "premul_sum"),
    ("ring.coll:allreduce_fp8", "f32", "sum"),
]


def dump(folder, library, isa, run):
    schedule, dtype, op = run
    command = ["coll-run", "%s/%s" % (library, schedule), "--ranks", "3", "-d", dtype, "-o", op, "--counts", "1021",
               "-n", "1", "-w", "0", "--isa", isa, "--dump", folder, "--csv"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name for name in os.listdir(folder) if ".out." in name}


def main(base, library, first, second):
    shutil.rmtree(base, ignore_errors=True)
    for i, run in enumerate(RUNS):
        folders = [os.path.join(base, "%d.%s" % (i, isa)) for isa in (first, second)]
        names, others = (dump(folder, library, isa, run) for folder, isa in zip(folders, (first, second)))
        assert names == others and len(names) == 3, (names, others)
        same, differ, broken = filecmp.cmpfiles(*folders, names, shallow=False)
        assert len(same) == 3, (run, differ, broken)
        # Not because nothing was written.
        assert os.path.getsize(os.path.join(folders[0], "rank0.out.bin")) > 0
    print("%s and %s: the same bits" % (first, second))


main(*sys.argv[1:])
