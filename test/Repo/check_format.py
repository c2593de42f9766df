#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every C and C++ file is as clang-format writes it.

usage: check_format.py ROOT
"""

import os
import subprocess
import sys

from repo_files import repoFiles, report

FILES_AT_A_TIME = 16


def main(root):
    files = [os.path.join(root, path) for path in repoFiles(root, (".cpp", ".h", ".c"), inputs=True)]
    if not files:
        return report(["%s: no source files" % root])
    findings = []
    for first in range(0, len(files), FILES_AT_A_TIME):
        command = ["clang-format", "--dry-run", "--Werror"] + files[first : first + FILES_AT_A_TIME]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            findings.append(run.stderr)
    return report(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
