# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What both lit suites (the files under test/, the GoogleTest programs) share.

Tiers.  A test belongs to the quick tier unless one of its first lines says
`TIER: all` or `TIER: nightly`; a unit test says it in CMake.  `-D tiers=quick,all`
picks the tiers of a run.  A test of another tier is not in the run at all, and so
is not a skipped test.
"""

import os
import re

import lit.formats
import lit.util

TIER_LINE = re.compile(r"\bTIER:\s*(\w+)")
TIERS = ("quick", "all", "nightly")
HEAD_LINES = 20


def tiersOf(lit_config):
    tiers = lit_config.params.get("tiers", "quick").split(",")
    for tier in tiers:
        if tier not in TIERS:
            lit_config.fatal("no such tier: %r" % tier)
    return tiers


def tierOfFile(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for _, line in zip(range(HEAD_LINES), file):
            match = TIER_LINE.search(line)
            if match:
                return match.group(1)
    return "quick"


class TieredShTest(lit.formats.ShTest):
    """ShTest, restricted to the tests of the chosen tiers."""

    def __init__(self, tiers):
        super().__init__(execute_external=False)
        self.tiers = tiers

    def getTestsInDirectory(self, testSuite, path_in_suite, litConfig, localConfig):
        for test in super().getTestsInDirectory(
            testSuite, path_in_suite, litConfig, localConfig
        ):
            tier = tierOfFile(test.getSourcePath())
            if tier not in TIERS:
                litConfig.error("%s: no such tier: %r" % (test.getSourcePath(), tier))
            if tier in self.tiers:
                yield test


class UnitTest(lit.formats.GoogleTest):
    """GoogleTest, restricted to the programs that this build declares: a program
    whose source is gone stays in the build folder."""

    def __init__(self, declared, tiers):
        super().__init__("unit", "")
        self.names = set()
        for entry in filter(None, declared):
            tier, name = entry.split(":")
            if tier in tiers:
                self.names.add(name)

    def get_num_tests(self, path, litConfig, localConfig):
        if os.path.basename(path) not in self.names:
            return 0
        return super().get_num_tests(path, litConfig, localConfig)


def setup(config, lit_config):
    """Environment and features that every test sees, whatever the caller's."""
    bin_dir = os.path.join(config.coll_obj_root, "bin")
    path = [bin_dir, os.path.join(config.coll_llvm_dir, "bin"), os.environ["PATH"]]
    env = config.environment
    env["PATH"] = os.pathsep.join(path)
    env["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
    env["COLL_TEST_TIERS"] = ",".join(tiersOf(lit_config))
    scores = os.path.join(config.coll_obj_root, "results", "scores")
    scores = lit_config.params.get("scores", scores)
    os.makedirs(scores, exist_ok=True)
    env["COLL_TEST_SCORES"] = scores
    env["LC_ALL"] = "C.UTF-8"
    # The tests decide how a rank finds its peers, not the shell they start from.
    for name in [n for n in env if n.startswith(("COLL_", "OMPI_", "PMI", "SLURM"))]:
        if not name.startswith("COLL_TEST_"):
            del env[name]
    # Open MPI refuses to run as root, or with more ranks than cores, unless told.
    env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"

    # LLVM's allocators poison their slabs from inlined code only, so an
    # instrumented build and an uninstrumented libMLIR disagree about them.
    env["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_odr_violation=1"
    env["UBSAN_OPTIONS"] = "print_stacktrace=1"
    env["TSAN_OPTIONS"] = "halt_on_error=0"
    symbolizer = os.path.join(config.coll_llvm_dir, "bin", "llvm-symbolizer")
    for tool in ("ASAN", "TSAN", "UBSAN"):
        env[tool + "_OPTIONS"] += ":external_symbolizer_path=" + symbolizer

    for sanitizer in filter(None, config.coll_sanitize.split(",")):
        config.available_features.add(sanitizer + "-sanitizer")
    if not config.coll_sanitize:
        config.available_features.add("no-sanitizer")
    if lit.util.which("mpirun", env["PATH"]):
        config.available_features.add("mpirun")
    if lit.util.which("mpiexec.hydra", env["PATH"]):
        config.available_features.add("hydra")
