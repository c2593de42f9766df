# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite of the GoogleTest programs in bin/unit of the build folder."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
if not hasattr(config, "coll_obj_root"):
    build = lit_config.params.get("build", os.path.join(here, "..", "..", "build"))
    site = os.path.join(build, "test", "Unit", "lit.site.cfg.py")
    if not os.path.exists(site):
        lit_config.fatal("%s is missing: build first (./dev build)" % site)
    lit_config.load_config(config, os.path.abspath(site))
    raise SystemExit

sys.path.insert(0, os.path.dirname(here))
import coll_lit  # noqa: E402

config.name = "coll-unit"
config.test_source_root = os.path.join(config.coll_obj_root, "bin")
config.test_exec_root = os.path.join(config.coll_obj_root, "test", "Unit")
config.test_format = coll_lit.UnitTest(
    config.coll_unittests, coll_lit.tiersOf(lit_config)
)
coll_lit.setup(config, lit_config)
