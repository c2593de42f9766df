# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes programs that reach a bound of semantic analysis."""

import sys


def schedule(body):
    return "schedule s(ranks N) : allreduce { tmp t = in %s }" % body


def chain(first, link, count, body):
    links = [link.format(i=i, j=i - 1) for i in range(1, count)]
    return "\n".join([first] + links + [schedule(body)])


def nested(count, inside):
    loops = "".join("for r%d in all { " % i for i in range(count))
    return loops + inside + " }" * count


COPY = "def p0(chunks a) { copy a@0 -> a@1 }"
PROGRAMS = {
    "doubling": lambda: chain(
        COPY, "def p{i}(chunks a) {{ p{j}(a) p{j}(a) }}", 40, "p39(t)"
    ),
    "doubling-functions": lambda: chain(
        "let f0(x) = x", "let f{i}(x) = f{j}(x) + f{j}(x)", 40, "let y = f39(N)"
    ),
    "many-names": lambda: schedule(" ".join("let x%d = 1" % i for i in range(60000))),
    "calls": lambda: chain(COPY, "def p{i}(chunks a) {{ p{j}(a) }}", 300, "p299(t)"),
    "regions": lambda: chain(
        COPY, "def p{i}(chunks a) {{ " + nested(190, "p{j}(a)").replace("{ ", "{{ ")
        .replace(" }", " }}") + " }}", 4, "p3(t)"
    ),
    "iterators": lambda: schedule(
        "for %s { }" % ", ".join("i%d in all" % i for i in range(60000))
    ),
    "expressions": lambda: chain(
        "let f0(x) = x", "let f{i}(x) = f{j}(x)" + " + 1" * 900, 10, "let y = f9(N)"
    ),
    "values": lambda: chain(
        "let s0 = 0", "let s{i} = s{j}", 2000, "for i in 0 .. s1999 { copy t@0 -> t@1 }"
    ),
    "statements": lambda: schedule(" ".join(["copy t@0 -> t@1"] * 60000)),
    "list": lambda: schedule(
        "let l = [%s] for r in l { copy t@r -> t@l[r] }"
        % ", ".join(str(i) for i in range(60000))
    ),
}
print(PROGRAMS[sys.argv[1]]())
