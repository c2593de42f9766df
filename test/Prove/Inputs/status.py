# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""status.py N COMMAND...: run it, pass on what it says, succeed if its exit status is N."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit("exit status %d, not %s" % (status, sys.argv[1]))
