#!/usr/bin/env python3
"""needed.py BUILD SUITE... - the files that tests of these suites need, for ninja, a line each.

What a test looks at lies in a folder `targets` beside it: those are needed whoever names them.
"""
import json
import os
import subprocess
import sys


def ask(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, what], stdout=subprocess.PIPE, check=True).stdout)


def main(build, suites):
    top = os.path.abspath(build)
    files = {target["id"]: target["filename"] for target in ask(build, "--targets")}
    for names in files.values():
        yield from (os.path.relpath(name, top) for name in names if os.path.basename(os.path.dirname(name)) == "targets")
    for test in ask(build, "--tests"):
        if not any(suite.split(":")[-1] in suites for suite in test["suite"]):
            continue
        needed = [name for part in test["depends"] for name in files.get(part, [])]
        if test["cmd"][0].startswith(top + os.sep):
            needed.append(test["cmd"][0])
        yield from (os.path.relpath(name, top) for name in needed)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("needed.py takes a build folder and suites")
    print("\n".join(sorted(set(main(sys.argv[1], sys.argv[2:])))))
