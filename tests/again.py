#!/usr/bin/env python3
"""again.py BUILD - tests that a clock judges and that failed are run once more, alone.

On a machine that has other work a clock can only be late, so such a test fails beside others now and then; a fault fails
alone too. One that crashed, or that a sanitizer stopped, was not late. Reads BUILD/meson-logs/testlog.json. What passes the
second time takes the place of its failure there, and is named on stderr. Fails when a test failed that no clock judges, or
twice, or when more failed than can be chance.
"""
import json
import os
import subprocess
import sys

JUDGED_BY_A_CLOCK = ("os", "cli", "live")
NO_LATENESS = ("Sanitizer", "runtime error:")
SKIPPED = 77  # a status from here on is no number of failed cases
CHANCE = 4


def read(path):
    """The tests of a log: pairs of a name, which others may have too, and the line."""
    with open(path, encoding="utf-8", errors="surrogateescape") as log:
        return [(json.loads(line)["name"], line) for line in log if line.strip()]


def has_failed(line):
    return json.loads(line)["result"] in ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT")


def may_be_late(name, line):
    """NAME is "project:suite / test", or "project:suite+suite / test"."""
    suites = name.split(" / ")[0].split(":")[-1].split("+")
    test = json.loads(line)
    said = test.get("stdout", "") + test.get("stderr", "")
    return (any(suite in JUDGED_BY_A_CLOCK for suite in suites) and
            (test["result"] == "TIMEOUT" or 0 <= test.get("returncode", -1) < SKIPPED) and
            not any(word in said for word in NO_LATENESS))


def run_alone(build, names):
    log = os.path.join(build, "meson-logs", "again.json")
    if os.path.exists(log):
        os.remove(log)
    tests = [name.split(" / ", 1)[1] for name in names]
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--num-processes", "1", "--print-errorlogs",
                    "--logbase", "again", *tests], stdout=sys.stderr, check=False)
    return dict(read(log)) if os.path.exists(log) else {}


def main(build):
    log = os.path.join(build, "meson-logs", "testlog.json")
    lines = read(log)
    failed = [(name, line) for name, line in lines if has_failed(line)]
    if not failed:
        return "no test failed; what went wrong stands above"
    late = [name for name, line in failed if may_be_late(name, line)]
    if len(failed) > CHANCE or len(late) < len(failed):
        return "%d failed" % len(failed)
    again = run_alone(build, late)
    for name in late:
        if name not in again or json.loads(again[name])["result"] != "OK":
            return "'%s' failed twice" % name
    with open(log, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.writelines(again[name] if name in late else line for name, line in lines)
    for name in late:
        print("again.py: '%s' failed beside others and passed alone" % name, file=sys.stderr)
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("again.py takes a build folder")
    WHY = main(sys.argv[1])
    if WHY is not None:
        sys.exit("again.py: %s" % WHY)
