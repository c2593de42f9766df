# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that must end with a given exit status.

usage: exits.py STATUS COMMAND...
"""

import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
if status != int(sys.argv[1]):
    print("exits.py: exit status %d instead of %s: %s" % (status, sys.argv[1], " ".join(sys.argv[2:])), file=sys.stderr)
    sys.exit(1)
