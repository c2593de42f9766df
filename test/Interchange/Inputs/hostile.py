# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are made to hurt a reader of XML: each gets one error with its slug,
within bounds of memory and time.

usage: hostile.py COLC DIR
"""

import os
import resource
import subprocess
import sys

ALGO = '<algo name="%s" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="%s" inplace="1">'
GPU = '<gpu id="%d" i_chunks="1" o_chunks="1" s_chunks="0">'
TB = '<tb id="0" send="1" recv="1" chan="0">'
STEP = '<step s="%d" type="cpy" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
START = ALGO % ("a", "allreduce") + GPU % 0 + TB
MIB = 1 << 20

LAUGHS = '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">%s]><algo>&l9;</algo>' % "".join(
    '<!ENTITY l%d "%s">' % (i, "&l%d;" % (i - 1) * 10) for i in range(1, 10))

# name: (slug, what the message has, bytes or text)
FILES = {
    "laughs": ("xml-syntax", "a document type", LAUGHS),
    "external": ("xml-syntax", "a document type",
                 '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + ALGO % ("&x;", "allreduce")),
    "parameter-entity": ("xml-syntax", "a document type",
                         '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://localhost:9/x.dtd"> %x;]><algo/>'),
    "unknown-entity": ("xml-syntax", "ntity", ALGO % ("&boo;", "allreduce")),
    "include": ("xml-structure", "no element is called 'include'",
                START.replace("<gpu", '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/><gpu', 1)),
    "deep": ("xml-structure", "'tb' does not stand in", START + TB * 1000000),
    "deep-unknown": ("xml-structure", "no element is called", START + "<a>" * 1000000),
    "long-value": ("xml-too-large", "an attribute of 8388608 bytes; the limit is 255",
                   ALGO % ("x" * 8 * MIB, "allreduce")),
    "longer-value": ("xml-syntax", "", ALGO % ("x" * 32 * MIB, "allreduce")),
    "long-value-of-references": ("xml-too-large", "an attribute of 1048576 bytes",
                                 ALGO % ("&amp;" * MIB, "allreduce")),
    "long-name": ("xml-syntax", "", START + "<" + "y" * 8 * MIB),
    "long-attribute-name": ("xml-syntax", "", "<algo " + "y" * 8 * MIB + '="1">'),
    "attributes": ("xml-too-large", "more than 32 attributes", "<algo " + " ".join('a%d=""' % i for i in range(100000)) + "/>"),
    "same-attribute": ("xml-syntax", "", '<algo name="a" name="b">'),
    "text": ("xml-structure", "text between elements", START + "x" * 32 * MIB),
    "cdata": ("xml-structure", "text between elements", START + "<![CDATA[x]]>"),
    "control-name": ("xml-value", "an attribute with a control character",
                     ALGO % ("right: contract right&#10;", "allreduce")),
    "control-coll": ("xml-value", "an attribute with a control character", ALGO % ("a", "all&#13;reduce")),
    "zero-reference": ("xml-syntax", "", ALGO % ("&#0;", "allreduce")),
    "zero-byte": ("bad-encoding", "not UTF-8", START + "\0"),
    "utf-16": ("bad-encoding", "not UTF-8", START.encode("utf-16")),
    "utf-16-declared": ("xml-syntax", "premature end of data", '<?xml version="1.0" encoding="UTF-16"?>' + START),
    "latin-1": ("bad-encoding", "not UTF-8", ('<?xml version="1.0" encoding="ISO-8859-1"?>' + ALGO % ("\xe4", "x")).encode("latin-1")),
    "unknown-encoding": ("xml-syntax", "premature end of data", '<?xml version="1.0" encoding="EBCDIC-7"?>' + START),
    "surrogate": ("bad-encoding", "not UTF-8", START.encode() + b"\xed\xa0\x80"),
    "too-large": ("file-too-large", "is larger than 64 MiB", "<!--" + " " * 64 * MIB + "-->"),
    "long-comment": ("xml-syntax", "", "<!--" + " " * 60 * MIB),
    "instructions": ("xml-syntax", "", "<?x y?>" * 1000000),
    "empty": ("xml-syntax", "the file is empty", ""),
    "blank": ("xml-syntax", "", " \n" * MIB),
    "cut": ("xml-syntax", "", START + STEP[:40]),
    "many-ranks": ("xml-value", "'ngpus' is 4097, not in 1..4096", START.replace('ngpus="2"', 'ngpus="4097"')),
    "many-channels": ("xml-value", "'chan' is 1024, not in 0..1023", START.replace('chan="0"', 'chan="1024"')),
    "many-chunks": ("xml-value", "'nchunksperloop' is 32769", START.replace('nchunksperloop="1"', 'nchunksperloop="32769"')),
    "number": ("xml-value", "'ngpus'", START.replace('ngpus="2"', 'ngpus="0x2"')),
}
FILES["elements"] = ("xml-too-large", "more than 1048576 elements",
                     START + "".join('<step s="%d" type="nop"/>' % i for i in range(1048576 - 2)))
# Right as XML, too much memory to be judged.
FILES["too-much-memory"] = (
    "xml-too-large", "too large to be judged",
    (ALGO % ("big", "allreduce")).replace('ngpus="2"', 'ngpus="4096"')
    + "".join((GPU % i).replace('s_chunks="0"', 's_chunks="32768"') + "</gpu>" for i in range(4096)) + "</algo>")

MOST_MEMORY = 600 * 1024  # KiB
MOST_SECONDS = 20


def check(colc, folder, name):
    slug, words, content = FILES[name]
    path = os.path.join(folder, name + ".xml")
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    run = subprocess.run([colc, path, "--check"], capture_output=True, text=True, errors="replace", timeout=300)
    os.remove(path)
    errors = [line for line in run.stderr.splitlines() if "error: " in line]
    if len(errors) == 1 and errors[0].endswith("[%s]" % slug) and words in errors[0] and len(errors[0]) < 1000 and \
            run.returncode in (1, 2):
        return True
    print("%s: exit status %d, %s" % (name, run.returncode, [line[:200] for line in errors]))
    return False


def main(colc, folder):
    os.makedirs(folder, exist_ok=True)
    good = all([check(colc, folder, name) for name in FILES])
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("most memory: %d MiB, all together %.1f s of CPU" % (usage.ru_maxrss // 1024, usage.ru_utime + usage.ru_stime))
    if usage.ru_maxrss > MOST_MEMORY or usage.ru_utime > MOST_SECONDS:
        print("too much")
        good = False
    print("%d files" % len(FILES))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
