# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite of the files under test/.

`lit test/Frontend` works too: without a build's site configuration, that of build/
(or of `-D build=DIR`) is loaded.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
if not hasattr(config, "coll_obj_root"):
    build = lit_config.params.get("build", os.path.join(here, "..", "build"))
    site = os.path.join(build, "test", "lit.site.cfg.py")
    if not os.path.exists(site):
        lit_config.fatal("%s is missing: build first (./dev build)" % site)
    lit_config.load_config(config, os.path.abspath(site))
    raise SystemExit

sys.path.insert(0, here)
import coll_lit  # noqa: E402

config.name = "coll"
config.suffixes = [".coll", ".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = here
config.test_exec_root = os.path.join(config.coll_obj_root, "test")
config.test_format = coll_lit.TieredShTest(coll_lit.tiersOf(lit_config))
coll_lit.setup(config, lit_config)

sanitize = ""
if config.coll_sanitize:
    sanitize = " -fsanitize=" + config.coll_sanitize
examples = os.path.join(config.coll_src_root, "examples")
config.substitutions += [
    ("%src_root", config.coll_src_root),
    ("%build_root", config.coll_obj_root),
    ("%examples", examples),
    ("%python", '"%s"' % sys.executable),
    # Compile and link a program against the runtime of this build.
    ("%cc", config.coll_c_compiler + sanitize),
    ("%cxx", config.coll_cxx_compiler + sanitize),
    ("%runtime_include", os.path.join(config.coll_src_root, "runtime", "include")),
    ("%runtime_lib", os.path.join(config.coll_obj_root, "lib")),
]
if config.coll_runtime_only:
    # Nothing here runs without the compiler; the unit tests are a suite of their own.
    config.suffixes = []
