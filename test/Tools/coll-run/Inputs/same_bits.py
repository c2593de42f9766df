# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs all schedules of a file on the same inputs and compares their outputs, bit by bit.

usage: same_bits.py FOLDER FILE.coll
"""

import os
import re
import shutil
import subprocess
import sys

RANKS = 3
# Not divisible by anything; several slots, rounds and slices.
COUNTS = ("5003", "70001")
# Rings are a communicator's; a plan that was verified with deeper ones is refused.
DEEP_RINGS = {"COLL_SLOTS": "8"}
SMALL_RINGS = {"COLL_SLOT_BYTES": "128", "COLL_SMALL_BYTES": "64"}


def outputs(folder, schedule, count, arguments=(), variables=None):
    command = ["coll-run", schedule, "--ranks", str(RANKS), "-d", "bf16", "--counts", count, "-n", "1", "-w", "0",
               "--csv", "--dump", folder, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(variables or {})})
    assert result.returncode == 0, (command, result.stderr)
    assert all(line.endswith(",0") for line in result.stdout.splitlines()[1:]), (command, result.stdout)
    files = []
    for rank in range(RANKS):
        with open("%s/rank%d.out.bin" % (folder, rank), "rb") as file:
            files.append(file.read())
    assert all(len(data) == 2 * int(count) for data in files)
    return files


def main(folder, path):
    with open(path, encoding="utf-8") as file:
        schedules = re.findall(r"^schedule (\w+)", file.read(), re.M)
    assert len(schedules) > 5
    shutil.rmtree(folder, ignore_errors=True)
    for count in COUNTS:
        expected = outputs(folder, path + ":" + schedules[0], count)
        for schedule in schedules[1:]:
            rings = DEEP_RINGS if schedule == "deep" else None
            assert outputs(folder, path + ":" + schedule, count, variables=rings) == expected, (schedule, count)
        assert outputs(folder, path + ":" + schedules[0], count, ["--in-place"]) == expected, ("in place", count)
        assert outputs(folder, path + ":" + schedules[0], count, variables=SMALL_RINGS) == expected, ("small rings", count)


main(*sys.argv[1:])
