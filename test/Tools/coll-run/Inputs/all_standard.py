# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every standard schedule that moves data, at sizes that a message's way depends on, with the options given.

coll-run checks every element; its exit status is this one's.
"""

import os
import pathlib
import re
import subprocess
import sys

LIBRARY = pathlib.Path(__file__).resolve().parents[4] / "lib" / "Library" / "standard.coll"
# Of the larger buffer: below, at and above what is moved by the kernel, some slices and a bit, many rounds.
COUNTS = "4095,4096,4099,16385,98311,1048577"


def main(options):
    schedules = re.findall(r"^schedule (std_\w+)", LIBRARY.read_text(encoding="utf-8"), re.MULTILINE)
    for schedule in schedules:
        if schedule == "std_barrier" or schedule.endswith("v"):
            continue
        launch = ["-r", "1"] if "root" in LIBRARY.read_text().split(schedule + "(")[1].split(")")[0] else []
        command = ["coll-run", "%s:%s" % (LIBRARY, schedule), "--counts=" + COUNTS, "-n", "2", "-w", "0"]
        result = subprocess.run(command + launch + options, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            print(schedule, " ".join(map(str, options)), os.environ.get("COLL_CMA"))
            print(result.stdout, result.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
