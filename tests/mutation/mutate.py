#!/usr/bin/env python3
"""Every wait is needed, and its loss is noticed.

    mutate.py MOKGEN GOLDEN_KERNELS [-j N]

For every mok.wait line of some modules (--emit=mok:lower-to-cuda): with the line deleted
    emitted  --emit=cuda --no-check prints one call of mok_wait less and no new line
    static   `check` ends with exit 7 and names the protocol
    engine   `check --no-check`, where the static check only warns, ends with exit 7 by findings of its own
    host     `run --no-check`, for modules small enough, ends with exit 7: the compiled kernel finds it by itself
The module as it is must pass all of them. The last line is "N waits, N undetected".
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Folder of the golden kernel, replaced fields, tokens of a run on the host or None. One row block in the ring: all waits for a
# slot of the lap before come to matter in a small run.
ONE_BLOCK = {"schedule.ring_rows": 64, "schedule.minibatch_rows": 64, "schedule.tile_m": 64}
# Pairs of CTAs, and up tiles a minibatch ahead: rings of three minibatches of two blocks, that go round.
ROUNDS = {"schedule.cluster": 2, "schedule.ring_rows": 384, "schedule.minibatch_rows": 128, "schedule.tile_m": 64}
MODULES = [
    ("kimi-2xh200", {}, None),
    ("epilogue-4xh200", {}, None),
    ("epilogue-2xhost", {}, "40,33"),
    ("epilogue-2xhost", {"schedule.comm": "sms"}, "40,33"),
    ("relu2-4xhost", ONE_BLOCK, "100,90,100,64"),
    ("relu2-4xhost", {"workload.tokens_per_gpu": 400, "schedule.comm": "sms", **ROUNDS}, "400,390,400,364"),
    ("epilogue-2xhost", {"topology.gpus": 1, "workload.tokens_per_gpu": 200, "schedule.own_rows": "direct", **ROUNDS}, "200"),
]


class Tool:
    def __init__(self, mokgen, folder):
        self.mokgen, self.folder, self.count = os.path.abspath(mokgen), folder, 0

    def __call__(self, *arguments):
        return subprocess.run([self.mokgen, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL)

    def file(self, text):
        self.count += 1
        path = os.path.join(self.folder, "%d.mlir" % self.count)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def kernel(self, module):
        done = self("-q", "--no-check", "--from=mok", module, "--emit=cuda")
        text = done.stdout
        return text[text.find("MOK_WORKER"):] if done.returncode == 0 else None


def emitted(tool, module, before):
    after = tool.kernel(module)
    if after is None:
        return None
    waits = before.count("mok_wait(") - after.count("mok_wait(")
    new_lines = set(after.split("\n")) - set(before.split("\n"))
    return "1 fewer" if waits == 1 and not new_lines else None


def static(tool, module):
    done = tool("check", "-q", "--from=mok", module)
    return "exit 7" if done.returncode == 7 and "error: protocol" in done.stderr and "seeds=0" in done.stdout else None


def engine(tool, module):
    done = tool("check", "-q", "--no-check", "--from=mok", module)
    kind = re.search(r"error: protocol: ([a-z]+): ", done.stderr)
    return kind.group(1) if done.returncode == 7 and kind and "findings=0" not in done.stdout else None


def host(tool, module, tokens):
    done = tool("run", "-q", "--no-check", "--no-cache", "--from=mok", module, "--target", "host", "--tokens", tokens, "--seeds", 5)
    kind = re.search(r"under schedule seed (\d+):? ?(\w+)", done.stderr) or re.search(r"(deadlock) under schedule", done.stderr)
    return kind.group(kind.lastindex) if done.returncode == 7 and kind else None


def whole(tool, module, tokens):
    """What a module that nobody edited must do."""
    checked = tool("check", "--from=mok", module)
    if checked.returncode != 0 or " findings=0 " not in checked.stdout:
        return checked.stdout + checked.stderr
    if tokens:
        ran = tool("run", "-q", "--no-cache", "--from=mok", module, "--target", "host", "--tokens", tokens, "--seeds", 5)
        if ran.returncode != 0 or not ran.stdout.startswith("PASS"):
            return ran.stdout + ran.stderr
    return None


def mutate(tool, kernels, pool, name, fields, tokens):
    """Lines of the table and how many waits stay undetected."""
    flags = [part for key, value in fields.items() for part in ("-D", "%s=%s" % (key, value))]
    text = tool("-q", "--emit=mok:lower-to-cuda", os.path.join(kernels, name, "model.lua"), *flags).stdout
    lines = text.split("\n")
    title = " ".join([name] + ["%s=%s" % item for item in fields.items()])
    at = [i for i, line in enumerate(lines) if line.strip().startswith("mok.wait ")]
    original = tool.file(text)
    kernel = tool.kernel(original)
    if not at or kernel is None or kernel.count("mok_wait(") != len(at):
        return ["%s: %d waits in the module, no such kernel" % (title, len(at))], len(at), 1
    jobs = []
    for i in at:
        module = tool.file("\n".join(lines[:i] + lines[i + 1:]))
        found = [pool.submit(emitted, tool, module, kernel), pool.submit(static, tool, module), pool.submit(engine, tool, module)]
        if tokens:
            found.append(pool.submit(host, tool, module, tokens))
        jobs.append((re.match(r"\s*mok\.wait (@\w+\[[^]]*\])", lines[i]).group(1), found))
    problem = pool.submit(whole, tool, original, tokens).result()
    table, undetected = [title], 0
    if problem:
        table.append("  as it is: " + problem)
        undetected += 1
    for wait, found in jobs:
        results = [job.result() for job in found]
        undetected += None in results
        table.append("  %-36s %-9s %-8s %-12s %s" % (wait, *[r or "MISSED" for r in results], *([""] if not tokens else [])))
    return table, len(at), undetected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mokgen")
    parser.add_argument("kernels")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    waits = undetected = 0
    print("  %-36s %-9s %-8s %-12s %s" % ("wait that is deleted", "emitted", "static", "engine", "host"))
    with tempfile.TemporaryDirectory(prefix="mok-mutate-") as folder, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        tool = Tool(args.mokgen, folder)
        for name, fields, tokens in MODULES:
            table, count, missed = mutate(tool, args.kernels, pool, name, fields, tokens)
            print("\n".join(table), flush=True)
            waits, undetected = waits + count, undetected + missed
    print("%d waits, %d undetected" % (waits, undetected))
    return 0 if waits and not undetected else 1


if __name__ == "__main__":
    sys.exit(main())
