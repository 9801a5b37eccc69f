#!/usr/bin/env python3
"""Layers drawn at random, each run on the host target in several ways that must agree bitwise.

    soak.py MOKGEN [--first N] [--count N] [-j N] [--timeout SECONDS]

Configuration N is a pure function of N and of the tool's list of activations: a layer, a topology, token counts of each rank,
routing, tiles, and a ring for 1 to 4 laps. It runs as six kernels of the same tiles:
    first      5 schedules, every token against the reference (relative L2 error of at most 5e-3, the tool's own limit)
    ring       another ring and minibatch
    CTAs       another number of SMs in all and of communication SMs
    placement  rows moved by the epilogue instead of communication SMs, or the other way round
    own rows   of each rank: read and written in place instead of copied, or the other way round
    cluster    CTAs in pairs instead of alone, or the other way round
The others run 2 schedules and a sample of the tokens; all must print the same digest of all output. A failure shows
the description and the command. The last line is "N passed, N failed", of configurations.

Not in the default suite: 200 configurations take two cores about forty minutes. Run it before closing work on the protocol and
write the result to tests/bench/RESULTS.md.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SCHEDULES, OTHER_SCHEDULES = 5, 2
MOST_TOKENS = 300


class Draws:
    """A generator of our own: the sequence must not depend on Python's version."""

    def __init__(self, seed):
        self.state = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 32) * bound >> 32

    def between(self, least, most):
        return least + self.below(most - least + 1)

    def pick(self, *values):
        return values[self.below(len(values))]


Variant = collections.namedtuple("Variant", "comm ring_rows minibatch_rows sms comm_sms own_rows cluster")


class Configuration:
    def __init__(self, number, activations):
        self.number = number
        d = Draws(number)
        self.gpus = d.between(1, 8)
        self.hidden = 8 * d.between(8, 64)
        self.intermediate = 8 * d.between(8, 64)
        # Every fourth has an expert too few for its ranks, most others experts that the ranks do not divide.
        few = number % 4 == 0 and self.gpus > 1
        self.experts = d.between(1, self.gpus - 1) if few else d.between(self.gpus, 64)
        self.top_k = d.between(1, 10)
        self.shared = d.between(0, 2)
        self.clamp = d.pick(None, None, 0.5, 7.0)
        self.activation = d.pick(*activations)
        self.tokens = [d.pick(0, 1, *[d.between(0, MOST_TOKENS) for _ in range(6)])
                       for _ in range(self.gpus)]
        self.capacity = d.pick(max(self.tokens), MOST_TOKENS)
        self.routing = ("uniform", "zipf:1.0", "hot:%d" % d.below(self.experts), "dup", "uniform")[number % 5]
        self.mask = d.pick(0.2, 0.5, 0.95, 1) if number % 5 == 4 else d.pick(0, 0, 0, 0.1)
        self.row = d.pick("host", "host", "host", "H200")
        self.tile_m = d.pick(64, 64, 128)
        self.tile_n = 16 * d.between(1, 8)
        self.laps = 1 + number // 2 % 4  # wanted; where rows really go decides
        sms, other_sms = d.between(3, 12), d.between(3, 12)
        comm_sms, other_comm_sms = d.between(1, sms - 1), d.between(1, other_sms - 1)
        first = ("sms", "epilogue")[number % 2]
        other = ("epilogue", "sms")[number % 2]
        own, other_own = (("copy", "direct"), ("direct", "copy"))[number // 2 % 2]
        cluster = 1 + number // 4 % 2
        self.seed = d.between(0, 10**6)
        ring = self.ring(d, self.laps)
        another_ring = self.ring(d, 1 if self.laps > 1 else d.between(2, 4))
        if another_ring == ring:
            another_ring = (2 * ring[0], ring[1])
        self.variants = {
            "first": self.variant(first, ring, sms, comm_sms, own, cluster),
            "ring": self.variant(first, another_ring, sms, comm_sms, own, cluster),
            "CTAs": self.variant(first, ring, other_sms, other_comm_sms, own, cluster),
            "placement": self.variant(other, ring, sms, comm_sms, own, cluster),
            "cluster": self.variant(first, ring, sms, comm_sms, own, 3 - cluster),
            "own rows": self.variant(first, ring, sms, comm_sms, other_own, cluster),
        }

    def variant(self, comm, ring, sms, comm_sms, own_rows, cluster):
        """Pairs need even numbers of SMs in each role, and of row blocks in a minibatch."""
        rows, minibatch = ring
        if cluster == 2:
            sms, comm_sms = max(4, sms + sms % 2), comm_sms + comm_sms % 2
            comm_sms = min(comm_sms, sms - 2)
            minibatch += minibatch % (2 * self.tile_m)
            rows = -(-rows // minibatch) * minibatch
        alone = self.gpus == 1 and own_rows == "direct"  # nothing to move: no SMs to give to it
        return Variant(comm, rows, minibatch, sms, "auto" if alone else comm_sms, own_rows, cluster)

    def ring(self, d, laps):
        """Rows of ring and minibatch: about `laps` laps on the rank that gets most rows."""
        routes = sum(self.tokens) * self.top_k * (1 - self.mask)
        local = -(-self.experts // self.gpus)
        share = local / self.experts
        if self.routing.startswith("hot"):
            share = max(share, 1 / self.top_k)
        if self.routing.startswith("zipf"):
            total = sum(1 / e for e in range(1, self.experts + 1))
            share = sum(1 / e for e in range(1, local + 1)) / total
        blocks = math.ceil(routes * share / self.tile_m + 0.5 * min(local, routes * share))
        slots = max(1, -(-blocks // laps))
        pieces = d.pick(1, 1, 2, 4)
        minibatch = max(1, slots // pieces)
        slots = -(-slots // minibatch) * minibatch
        return slots * self.tile_m, minibatch * self.tile_m

    def description(self):
        clamp = "" if self.clamp is None else ", clamp = %s" % self.clamp
        v = self.variants["first"]
        return "\n".join([
            'model { name = "soak-%d", hidden = %d, intermediate = %d, experts = %d, top_k = %d, shared_experts = %d,'
            % (self.number, self.hidden, self.intermediate, self.experts, self.top_k, self.shared),
            '        activation = "%s"%s }' % (self.activation, clamp),
            'topology { gpu = { base = "%s", sms = %d }, gpus = %d }' % (self.row, v.sms, self.gpus),
            "workload { tokens_per_gpu = %d }" % self.capacity,
            'schedule { comm = "%s", comm_sms = %s, own_rows = "%s", cluster = %d,'
            % (v.comm, '"auto"' if v.comm_sms == "auto" else v.comm_sms, v.own_rows, v.cluster),
            '           tile_m = %d, tile_n = %d, ring_rows = %d, minibatch_rows = %d }'
            % (self.tile_m, self.tile_n, v.ring_rows, v.minibatch_rows),
        ]) + "\n"

    def flags(self, which):
        v = self.variants[which]
        full = which == "first"
        flags = ["--target", "host", "--tokens", ",".join(map(str, self.tokens)), "--routing", self.routing,
                 "--mask", str(self.mask), "--seed", str(self.seed), "--seeds", str(SCHEDULES if full else OTHER_SCHEDULES)]
        if self.capacity and not full:
            flags += ["--check", "sample:%d" % min(8, self.capacity)]
        for key, value in v._asdict().items():
            if key == "sms":
                flags += ["-D", "topology.gpu.sms=%d" % value]
            else:
                flags += ["-D", "schedule.%s=%s" % (key, value)]
        return flags

    def __str__(self):
        return "%d x %s, H=%d I=%d E=%d k=%d shared=%d %s%s, T=%s, %s mask %s, tiles %d x %d, %s, clusters of %d" % (
            self.gpus, self.row, self.hidden, self.intermediate, self.experts, self.top_k, self.shared, self.activation,
            "" if self.clamp is None else " clamp %s" % self.clamp, ",".join(map(str, self.tokens)), self.routing, self.mask,
            self.tile_m, self.tile_n, self.variants["first"].comm, self.variants["first"].cluster)


running = set()


def call(command, timeout):
    """Exit code, stdout and stderr; the process is in `running` meanwhile."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) as child:
        running.add(child)
        try:
            out, err = child.communicate(timeout=timeout)
            return child.returncode, out, err
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        finally:
            running.discard(child)


def run(mokgen, folder, configuration, timeout):
    """Runs all variants, each for at most so many seconds; (laps of each, what failed)."""
    model = os.path.join(folder, "%d.lua" % configuration.number)
    with open(model, "w", encoding="ascii") as file:
        file.write(configuration.description())
    laps, problems, digest = {}, [], None
    for which in configuration.variants:
        command = [mokgen, "run", "-q", "--json", "--no-cache", model] + configuration.flags(which)
        result = {}
        try:
            code, text, talk = call(command, timeout)
            if text:
                result = json.loads(text)
            fine = code == 0 and result.get("result") == "PASS" and not talk
            wrong = "exit code %d" % code
        except subprocess.TimeoutExpired:
            fine, wrong, talk = False, "no end within %d s" % timeout, ""
        except (OSError, ValueError) as error:
            fine, wrong, talk = False, "no run, or no JSON: %s" % error, ""
        laps[which] = result.get("laps", 0)
        if fine:
            digest = digest or result["digest"]
            if result["digest"] != digest:
                fine, wrong = False, "other bits: digest %s after %s" % (result["digest"], digest)
        if not fine:
            problems.append("%s: %s\n  mokgen %s\n%s" % (which, wrong, " ".join(command[1:]), talk))
    os.remove(model)
    return laps, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mokgen")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("-j", type=int, default=2, help="configurations that run at a time")
    parser.add_argument("--timeout", type=int, default=900, help="seconds that one run may take")
    args = parser.parse_args()
    start, lock = time.monotonic(), threading.Lock()
    passed = failed = 0
    seen = collections.Counter()

    def ended(number, _):
        with lock:
            print("ended from outside by %s: %d passed, %d failed" % (signal.Signals(number).name, passed, failed), flush=True)
        for child in list(running):
            child.kill()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    with tempfile.TemporaryDirectory(prefix="mok-soak-") as folder:
        # A copy: who builds in the meantime would change, or take away for a moment, what is tested.
        mokgen = shutil.copy2(args.mokgen, os.path.join(folder, "mokgen"))
        words = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "activations.sh")
        activations = subprocess.run([words, mokgen], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, ended)

        def one(number):
            nonlocal passed, failed
            configuration = Configuration(number, activations)
            began = time.monotonic()
            laps, problems = run(mokgen, folder, configuration, args.timeout)
            with lock:
                passed, failed = passed + (not problems), failed + bool(problems)
                for count in {laps["first"], laps["ring"]}:
                    seen["%d laps" % count if count < 4 else "4 laps or more"] += 1
                seen["E < R" if configuration.experts < configuration.gpus else
                     "E % R = 0" if configuration.experts % configuration.gpus == 0 else "E % R > 0"] += 1
                print("[%d/%d, %.0f s] configuration %d: %s, laps %d and %d: %s in %.1f s" % (
                    passed + failed, args.count, time.monotonic() - start, number, configuration, laps["first"], laps["ring"],
                    "FAIL" if problems else "ok", time.monotonic() - began), flush=True)
                for problem in problems:
                    print("  %s\n%s" % (problem, configuration.description()), flush=True)

        with concurrent.futures.ThreadPoolExecutor(max(1, args.j)) as pool:
            list(pool.map(one, range(args.first, args.first + args.count)))

    print("configurations with " + ", ".join("%s: %d" % (name, seen[name]) for name in sorted(seen)))
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
