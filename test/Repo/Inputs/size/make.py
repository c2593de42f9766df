# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes files that are just short enough, and files that are a line too long.

usage: make.py DIRECTORY
"""

import pathlib
import sys

root = pathlib.Path(sys.argv[1])


def write(path, lines):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def function(lines, head=("void f() {",), indent=""):
    body = [indent + "  f();"] * (lines - len(head) - 1)
    return [indent + line for line in head] + body + [indent + "}"]


TWO_LINES = ("static void f(int a,", "              int b) {")
FITS, TOO_LONG = function(70), function(71, TWO_LINES)

write("lib/Good.cpp", ["//"] * (500 - 2 * 70 - 1) + FITS + ["", *function(70, TWO_LINES)])
write("lib/Good.h", ["//"] * 200)
write("lib/Short.h", ["//"] * 180)
write("test/GoodTest.cpp", ["//"] * 300)
write("lib/Long.cpp", ["//"] * 501)
write("lib/Long.h", ["//"] * 201)
write("test/LongTest.cpp", ["//"] * 301)
write("test/Helper.cpp", ["//"] * 500)
write("lib/Function.cpp", ["namespace a {", "", *TOO_LONG, "} // namespace a"])
write("lib/Member.h", ["struct S {", *function(71, indent="  "), "};"])
write("lib/Excused.cpp", [*function(80), *["//"] * 440])
write("lib/Grown.h", ["//"] * 211)
write(
    "exceptions",
    [
        "# a comment",
        "lib/Excused.cpp 520 why",
        "lib/Excused.cpp:f 80 why it is so",
        "lib/Grown.h 210 why",
        "lib/Good.h 210 why",
        "lib/Short.h 210 why",
        "lib/Gone.h 210 why",
    ],
)
