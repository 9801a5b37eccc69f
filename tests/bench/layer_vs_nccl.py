#!/usr/bin/env python3
"""The layer on several GPUs against PyTorch with NCCL and against the two grouped products alone, in blocks in turn in one run.

    layer_vs_nccl.py --ranks N [--only NAME[,NAME..]] [--warm SECONDS] [--measure SECONDS] [--eager]

One process for each GPU runs NCCL and the products; the first one also holds libmok with all GPUs. Of the NCCL variants the
fastest counts for the last column. --eager: without torch.compile. Otherwise like layer_vs_pair.py.
"""
import argparse
import os
import statistics
import sys
import time
import traceback
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

import mok
from layers import Rank, pair, reference, relative_error, routes_of
from nccl_layers import all_to_all, gather_scatter, graphed

BLOCK, REPEATS, LIMIT, NCCL_LIMIT = 10, 10, 5e-3, 2e-2
here = os.path.dirname(os.path.abspath(__file__))


def shapes(only):
    with open(os.path.join(here, "shapes.txt"), encoding="utf-8") as file:
        for line in file:
            fields = [field.strip() for field in line.split("#")[0].split("|")]
            if len(fields) >= 5 and (not only or fields[0] in only):
                yield fields[0], int(fields[2]), float(fields[4])


def info_of(package):
    """What the manifest says of the layer, by libmok's names."""
    names = ("ranks", "hidden", "intermediate", "experts", "top_k")
    with open(os.path.join(package, "manifest.txt"), encoding="ascii") as file:
        lines = dict(line.rstrip("\n").split(" ", 1) for line in file if " " in line)
    return SimpleNamespace(**{name: int(lines[name]) for name in names})


class Everywhere:
    """The layer through libmok, all GPUs from this process."""

    def __init__(self, package, info, tokens):
        self.library = mok.Library(os.path.join(here, "libmok.so"))
        self.devices = range(info.ranks)
        self.kernels = [self.library.load(package, d) for d in self.devices]
        self.workspaces = self.library.create(self.kernels)
        self.ranks = [Rank(info, r, tokens, f"cuda:{r}") for r in self.devices]
        self.args = [mok.forward_args([rank.forward_args(mok)]) for rank in self.ranks]

    def call(self):
        for workspace, args in zip(self.workspaces, self.args):
            workspace.forward(args, None)  # the default stream of each device

    def once(self):
        for rank in self.ranks:
            rank.out.fill_(float("nan"))
        self.synchronize()
        self.call()
        self.synchronize()
        for workspace in self.workspaces:
            workspace.check()
        return torch.cat([rank.out.to("cuda:0") for rank in self.ranks])

    def synchronize(self):
        for d in self.devices:
            torch.cuda.synchronize(d)

    def check(self):
        first = self.once()
        error = relative_error(first, reference(self.ranks))
        if not error <= LIMIT:
            raise ValueError(f"relative L2 error {error:.3e}, the limit is {LIMIT}")
        for repeat in range(REPEATS - 1):
            if not torch.equal(self.once().view(torch.int16), first.view(torch.int16)):
                raise ValueError(f"launch {repeat + 2} has other bits than the first")
        return error

    def close(self):
        for workspace in self.workspaces:
            workspace.destroy()
        for kernel in self.kernels:
            kernel.unload()


def block_ms(call, devices):
    """Milliseconds of one call, of BLOCK in a row, on the device where it takes longest."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in devices]
    for start, device in zip(events, devices):
        start[0].record(torch.cuda.current_stream(device))
    for _ in range(BLOCK):
        call()
    for end, device in zip(events, devices):
        end[1].record(torch.cuda.current_stream(device))
    for device in devices:
        torch.cuda.synchronize(device)
    return max(start.elapsed_time(end) for start, end in events) / BLOCK


def slowest(value, device):
    number = torch.tensor([value], device=device, dtype=torch.float64)
    dist.all_reduce(number, dist.ReduceOp.MAX)
    return number.item()


def rounds(calls, seconds, device):
    """Blocks of all calls in turn until the time is over: a list of ms for each."""
    times, end = {name: [] for name in calls}, time.monotonic() + seconds
    while slowest(float(time.monotonic() < end or not times["layer"]), device):
        for name, (call, devices) in calls.items():
            dist.barrier()
            torch.cuda.synchronize()
            times[name].append(slowest(block_ms(call, devices) if call else 0.0, device))
    return times


def quartiles(values):
    values = sorted(values)
    return values[len(values) // 4], statistics.median(values), values[len(values) - 1 - len(values) // 4]


def run_shape(name, tokens, must, options, me):
    device = f"cuda:{me}"
    package = os.path.join(here, "packages", f"{name}-{options.ranks}.mok")
    info = info_of(package)
    mine = Rank(info, me, tokens, device)
    ids = torch.empty(info.ranks * tokens, info.top_k, device=device, dtype=torch.int32)
    dist.all_gather_into_tensor(ids, mine.ids)
    x = torch.empty(info.ranks * tokens, info.hidden, device=device, dtype=torch.bfloat16)
    dist.all_gather_into_tensor(x, mine.x)
    order, counts = routes_of(None, mine, ids)
    layer = Everywhere(package, info, tokens) if me == 0 else None
    failure, error = "", 0.0
    try:
        error = layer.check() if layer else 0.0
    except (mok.Error, RuntimeError, ValueError) as found:
        failure = str(found)
    if slowest(float(bool(failure)), device):
        raise ValueError(failure or "see the first process")

    calls = {"layer": (layer.call if layer else None, range(info.ranks)),
             "pair": (pair(mine, x[order // info.top_k], counts), [me])}
    del x
    right = reference(layer.ranks)[:tokens] if layer else None
    for variant, make in (("gather/scatter, graph", lambda: graphed(gather_scatter(mine, not options.eager))),
                          ("all-to-all", lambda: all_to_all(mine, not options.eager))):
        call = make()
        wrong = relative_error(call(), right) if layer else 0.0
        if slowest(float(not wrong <= NCCL_LIMIT), device):
            raise ValueError(f"NCCL {variant}: relative error {wrong:.3e}")
        calls[variant] = (call, [me])
    del right
    rounds(calls, options.warm, device)
    times = rounds(calls, options.measure, device)
    flops = 6 * info.hidden * info.intermediate * slowest(float(counts.sum()), device)
    if layer:
        layer.close()
        middle = {which: statistics.median(values) for which, values in times.items()}
        least, ours, most = quartiles(times["layer"])
        low, ratio, high = quartiles([a / b for a, b in zip(times["layer"], times["pair"])])
        best = min((which for which in middle if which not in ("layer", "pair")), key=middle.get)
        others = ", ".join(f"{which} {ms:.3f}" for which, ms in middle.items() if which not in ("layer", "pair"))
        shape = f"{info.hidden}/{info.intermediate}/{info.experts}/{info.top_k}"
        print(f"| {name} | {shape} | {ours:.3f} ({least:.3f} {most:.3f}) | {flops / ours / 1e9:.0f} | "
              f"{middle['pair']:.3f} | **{ratio:.3f}** ({low:.3f} {high:.3f}) | {must:.2f} | {others} | "
              f"**{middle[best] / ours:.2f}** | {error:.1e} | {len(times['layer'])} |", flush=True)


def process(me, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(me), WORLD_SIZE=str(options.ranks))
    torch.cuda.set_device(me)
    dist.init_process_group("nccl", device_id=torch.device("cuda", me))
    torch.backends.cuda.matmul.allow_tf32 = False
    if me == 0:
        print(f"{options.ranks} x {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
              f"NCCL {torch.cuda.nccl.version()}; blocks of {BLOCK} calls, {options.warm:g} s warm-up, {options.measure:g} s\n")
        print("| shape, tokens per GPU | H/I/E/k | layer ms (quartiles) | TF/s per GPU | pair ms | layer / pair (quartiles) | "
              "must | NCCL ms | best NCCL / layer | rel L2 | blocks |")
        print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    failed = 0
    for name, tokens, must in shapes(set(filter(None, options.only.split(",")))):
        start = time.monotonic()
        try:
            with torch.no_grad():
                run_shape(name, tokens, must, options, me)
        except (mok.Error, RuntimeError, ValueError) as error:
            failed += 1
            if me == 0:
                print(f"| {name} | failed: {str(error).splitlines()[0]} |", flush=True)
            print(f"{name}: process {me}: {error}", file=sys.stderr)
            traceback.print_exc()
            if isinstance(error, torch.AcceleratorError):  # nothing works in this process any more
                sys.exit(1)
        torch.cuda.empty_cache()
        if me == 0:
            print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--warm", type=float, default=3)
    parser.add_argument("--measure", type=float, default=5)
    parser.add_argument("--eager", action="store_true")
    given = parser.parse_args()
    if torch.cuda.device_count() < given.ranks:
        sys.exit(f"{given.ranks} GPUs are needed, PyTorch sees {torch.cuda.device_count()}")
    processes.spawn(process, args=(given, 29500 + os.getpid() % 400), nprocs=given.ranks)
