# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs of coll-run that check every element have in common."""

import os
import subprocess
import sys


def checkedRows(command, environment=None):
    """Runs `coll-run ... --csv`; returns how many rows it printed, all of them right, or exits."""
    result = subprocess.run(command, capture_output=True, text=True,
                            env={**os.environ, **(environment or {})})
    lines = result.stdout.splitlines()[1:]
    wrong = [line for line in lines if not line.endswith(",0")]
    if result.returncode != 0 or wrong or not lines:
        print(" ".join(command), f": exit {result.returncode}, {len(lines)} rows")
        print("\n".join(wrong[:20]), result.stderr[-3000:])
        sys.exit(1)
    return len(lines)
