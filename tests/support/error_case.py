#!/usr/bin/env python3
"""Runs mokgen on a description that is wrong, and compares what it says, to the letter, with what the file expects in its comments:

    -- args: explain %s -D model.top_k=9   command line; %s is the file (default: explain %s)
    -- exit: 1                             exit code (default 1)
    --| bad.lua:4:3: error: ...            stderr, one comment a line, in this order

Each case must also end within 2 s and 64 MB, and print nothing to stdout. `--update` rewrites the --| lines with what was said.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import threading
import time

SECONDS, KILOBYTES = 2.0, 64 << 10


def run(command, folder):
    """Returns (exit code, stdout, stderr, seconds, peak resident kilobytes)."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, LC_ALL="C", NO_COLOR="1"))
    timer = threading.Timer(60, process.kill)
    timer.start()
    texts = {}

    def drain(name, stream):
        texts[name] = stream.read().decode("utf-8", "replace")

    readers = [threading.Thread(target=drain, args=pair) for pair in (("out", process.stdout), ("err", process.stderr))]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, texts["out"], texts["err"], time.monotonic() - start, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--sanitized", action="store_true", help="time and memory are the sanitizer's: do not judge them")
    parser.add_argument("mokgen")
    parser.add_argument("case")
    options = parser.parse_args()

    with open(options.case, encoding="utf-8", errors="surrogateescape", newline="") as file:
        lines = file.read().split("\n")
    keys = dict(m.groups() for m in (re.match(r"-- (args|exit): (.*)$", line) for line in lines) if m)
    expected = [line[3:].removeprefix(" ") for line in lines if line.startswith("--|")]

    folder, name = os.path.split(os.path.abspath(options.case))
    arguments = [name if word == "%s" else word for word in keys.get("args", "explain %s").split()]
    code, out, err, seconds, kilobytes = run([os.path.abspath(options.mokgen), *arguments], folder)
    said = err.rstrip("\n").split("\n") if err else []

    if options.update:
        at = next((i for i, line in enumerate(lines) if line.startswith("--|")), None)
        rest = [line for line in lines if not line.startswith("--|")]
        if at is None:
            at = next((i for i, line in enumerate(rest) if not line.startswith("--")), len(rest))
        rest[at:at] = [("--| " + line).rstrip() for line in said]
        with open(options.case, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write("\n".join(rest))
        return 0

    wrong = []
    if code != int(keys.get("exit", "1")):
        wrong.append(f"exit code {code}, expected {keys.get('exit', '1')}")
    if out:
        wrong.append("text on stdout:\n" + out)
    if not expected and int(keys.get("exit", "1")) != 0:
        wrong.append("the case expects no message (no line starts with --|)")
    if [line.rstrip() for line in said] != [line.rstrip() for line in expected]:
        wrong.append("\n".join(difflib.unified_diff(expected, said, "expected", "said", lineterm="")))
    if not options.sanitized:
        if seconds > SECONDS:
            wrong.append(f"took {seconds:.2f} s, limit {SECONDS} s")
        if kilobytes > KILOBYTES:
            wrong.append(f"took {kilobytes >> 10} MB, limit {KILOBYTES >> 10} MB")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
