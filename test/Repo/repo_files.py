# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the repository, for the checks beside this module."""

import os
import pathlib
import subprocess


def repoFiles(root, suffixes, inputs=False):
    """Paths below `root` that end in one of `suffixes`, relative to it, sorted; of
    what tests read (Inputs), only if `inputs`.

    In a git checkout: what git tracks or would add.  Elsewhere (the bad examples
    under Inputs, an unpacked archive): every file outside build folders.
    """
    root = pathlib.Path(root)
    if (root / ".git").exists():
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=root, capture_output=True, check=True).stdout
        files = [pathlib.Path(os.fsdecode(name)) for name in names.split(b"\0") if name]
    else:
        files = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
        files = [path for path in files if not path.parts[0].startswith("build")]
    return sorted(
        path
        for path in files
        if path.name.endswith(tuple(suffixes))
        and (inputs or "Inputs" not in path.parts)
        and (root / path).is_file()
    )


def report(findings):
    """Prints the findings; the exit status of the check."""
    for finding in findings:
        print(finding)
    return 1 if findings else 0
