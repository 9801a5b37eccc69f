#!/usr/bin/env python3
"""The layer on several GPUs against PyTorch with NCCL and against the two grouped products alone, in blocks in turn in one run.

    layer_vs_nccl.py --ranks N [--only NAME[,NAME..]] [--warm SECONDS] [--measure SECONDS]

One process for each GPU runs NCCL and the products; the first one also holds libmok with all GPUs. Of the NCCL variants the
fastest counts for the last column. While the first process measures alone, the others wait on the host: a GPU that two processes
use at once is given to them in turns. Otherwise like layer_vs_pair.py.
"""
import argparse
import datetime
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
PATIENCE = datetime.timedelta(minutes=2)  # with a process that does not come
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
        """The relative error, and what is right."""
        self.first, right = self.once(), reference(self.ranks)
        error = relative_error(self.first, right)
        if not error <= LIMIT:
            raise ValueError(f"relative L2 error {error:.3e}, the limit is {LIMIT}")
        for repeat in range(REPEATS - 1):
            self.check_again(f"launch {repeat + 2}")
        return error, right

    def check_again(self, what="a launch after the measured ones"):
        if not torch.equal(self.once().view(torch.int16), self.first.view(torch.int16)):
            raise ValueError(f"{what} has other bits than the first")

    def close(self):
        for workspace in self.workspaces:
            workspace.destroy()
        for kernel in self.kernels:
            kernel.unload()


def block_ms(call, devices):
    """Milliseconds of one call, of BLOCK in a row behind one that does not count, on the device where it takes longest."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in devices]
    call()
    for start, device in zip(events, devices):
        start[0].record(torch.cuda.current_stream(device))
    for _ in range(BLOCK):
        call()
    for end, device in zip(events, devices):
        end[1].record(torch.cuda.current_stream(device))
    for device in devices:
        torch.cuda.synchronize(device)
    return max(start.elapsed_time(end) for start, end in events) / BLOCK


def slowest(value, host):
    """The largest of all processes' values; they meet on the host."""
    number = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(number, dist.ReduceOp.MAX, group=host)
    return number.item()


def rounds(calls, seconds, host):
    """Blocks of all calls in turn until the time is over: a list of ms for each."""
    times, end = {name: [] for name in calls}, time.monotonic() + seconds
    while slowest(float(time.monotonic() < end or not times["layer"]), host):
        for name, (call, devices) in calls.items():
            times[name].append(slowest(block_ms(call, devices) if call else 0.0, host))
    return times


def quartiles(values):
    values = sorted(values)
    return values[len(values) // 4], statistics.median(values), values[len(values) - 1 - len(values) // 4]


def check_variant(variant, call, right, host):
    """What the first process gets, in a second call too: a graph's replays are not its capture."""
    call()
    out = call()
    wrong = relative_error(out, right) if right is not None else 0.0
    if slowest(float(not wrong <= NCCL_LIMIT), host):
        raise ValueError(f"NCCL {variant}: relative error {wrong:.3e}")


def run_shape(name, tokens, must, options, me, host):
    device = f"cuda:{me}"
    package = os.path.join(here, "packages", f"{name}-{options.ranks}.mok")
    info = info_of(package)
    mine = Rank(info, me, tokens, device)
    ids = torch.empty(info.ranks * tokens, info.top_k, device=device, dtype=torch.int32)
    dist.all_gather_into_tensor(ids, mine.ids)
    x = torch.empty(info.ranks * tokens, info.hidden, device=device, dtype=torch.bfloat16)
    dist.all_gather_into_tensor(x, mine.x)
    order, counts = routes_of(None, mine, ids)
    failure, error, layer, right = "", 0.0, None, None
    try:
        if me == 0:
            layer = Everywhere(package, info, tokens)
            error, right = layer.check()
            right = right[:tokens]
    except (mok.Error, RuntimeError, ValueError) as found:
        failure = str(found)
    if slowest(float(bool(failure)), host):
        raise ValueError(failure or "see the first process")

    calls = {"layer": (layer.call if layer else None, range(info.ranks)),
             "pair": (pair(mine, x[order // info.top_k], counts), [me])}
    del x
    for variant, make in (("gather/scatter, graph", lambda: graphed(gather_scatter(mine))),
                          ("all-to-all", lambda: all_to_all(mine))):
        calls[variant] = (make(), [me])
        check_variant(variant, calls[variant][0], right, host)
    rounds(calls, options.warm, host)
    times = rounds(calls, options.measure, host)
    for variant in list(calls)[2:]:  # and after the measured ones
        check_variant(variant, calls[variant][0], right, host)
    flops = 6 * info.hidden * info.intermediate * slowest(float(counts.sum()), host)
    if layer:
        layer.check_again()
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
    dist.init_process_group("nccl", device_id=torch.device("cuda", me), timeout=PATIENCE)
    host = dist.new_group(backend="gloo", timeout=PATIENCE)
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
                run_shape(name, tokens, must, options, me, host)
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
    dist.barrier(host)
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--warm", type=float, default=3)
    parser.add_argument("--measure", type=float, default=5)
    given = parser.parse_args()
    if torch.cuda.device_count() < given.ranks:
        sys.exit(f"{given.ranks} GPUs are needed, PyTorch sees {torch.cuda.device_count()}")
    processes.spawn(process, args=(given, 29500 + os.getpid() % 400), nprocs=given.ranks)
