#!/usr/bin/env python3
"""The layer against PyTorch's two grouped products alone, on one GPU, alternating in blocks in the same process.

    layer_vs_pair.py [--only NAME[,NAME..]] [--warm SECONDS] [--measure SECONDS]

Uses shapes.txt, packages/ and libmok.so beside this file. A row is printed only after its output was compared with the layer in
fp32 and repeated with the same bits. Markdown to stdout, talk to stderr. Exit code 1 if a shape failed.
"""
import argparse
import os
import statistics
import sys
import time

import torch

import mok
from layers import Rank, pair, reference, relative_error, routes_of

BLOCK, REPEATS, LIMIT = 10, 10, 5e-3
here = os.path.dirname(os.path.abspath(__file__))


def shapes(only):
    with open(os.path.join(here, "shapes.txt"), encoding="utf-8") as file:
        for line in file:
            fields = [field.strip() for field in line.split("#")[0].split("|")]
            if len(fields) >= 4 and (not only or fields[0] in only):
                yield fields[0], int(fields[2]), float(fields[3])


def block_ms(call):
    """Milliseconds of one call, of BLOCK in a row."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(BLOCK):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / BLOCK


def measure(call, warm, seconds):
    """Blocks of one call alone: median ms."""
    times, end = [], time.monotonic() + warm
    while time.monotonic() < end:
        block_ms(call)
    end = time.monotonic() + seconds
    while not times or time.monotonic() < end:
        times.append(block_ms(call))
    return statistics.median(times)


def alternate(one, other, warm, seconds):
    """Blocks of both in turn: lists of ms."""
    end = time.monotonic() + warm
    while time.monotonic() < end:
        block_ms(one), block_ms(other)
    ones, others, end = [], [], time.monotonic() + seconds
    while not ones or time.monotonic() < end:
        ones.append(block_ms(one))
        others.append(block_ms(other))
    return ones, others


def quartiles(values):
    values = sorted(values)
    return values[len(values) // 4], statistics.median(values), values[len(values) - 1 - len(values) // 4]


def ceilings():
    """TFLOP/s of an 8192-cubed bf16 product and GB/s of a copy, both warm, here and now."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = measure(lambda: torch.matmul(a, b), 1, 1)
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = measure(lambda: target.copy_(source), 0.2, 0.5)
    return 2 * 8192**3 / product / 1e9, 2 * source.numel() / copy / 1e6


def run_shape(library, name, tokens, must, options, product_tflops, copy_gbs):
    kernel = library.load(os.path.join(here, "packages", name + "-1.mok"))
    info, [workspace] = kernel.info, library.create([kernel])
    rank = Rank(info, 0, tokens, "cuda")
    args = mok.forward_args([rank.forward_args(mok)])
    stream = torch.cuda.current_stream().cuda_stream
    layer = lambda: workspace.forward(args, stream)

    def once():
        rank.out.fill_(float("nan"))
        layer()
        torch.cuda.synchronize()
        workspace.check()
        return rank.out.clone()

    first = once()
    error = relative_error(first, reference([rank]))
    if not error <= LIMIT:
        raise ValueError(f"relative L2 error {error:.3e}, the limit is {LIMIT}")
    for repeat in range(REPEATS - 1):
        if not torch.equal(once().view(torch.int16), first.view(torch.int16)):
            raise ValueError(f"launch {repeat + 2} has other bits than the first")

    order, counts = routes_of([rank], rank)
    products = pair(rank, rank.x[order // info.top_k], counts)
    layer_ms, pair_ms = alternate(layer, products, options.warm, options.measure)
    workspace.check()
    if not torch.equal(once().view(torch.int16), first.view(torch.int16)):
        raise ValueError("a launch after the measured ones has other bits than the first")
    workspace.destroy()
    kernel.unload()

    routes = int(counts.sum())
    flops = routes * 6 * info.hidden * info.intermediate
    touched = int((counts > 0).sum()) * 3 * info.hidden * info.intermediate * 2 + 2 * tokens * info.hidden * 2
    floor = max(flops / product_tflops / 1e9, touched / copy_gbs / 1e6)
    low, middle, high = quartiles([a / b for a, b in zip(layer_ms, pair_ms)])
    ours, theirs = statistics.median(layer_ms), statistics.median(pair_ms)
    least, _, most = quartiles(layer_ms)
    shape = f"{info.hidden}/{info.intermediate}/{info.experts}/{info.top_k}"
    print(f"| {name} | {shape} | {ours:.3f} ({least:.3f} {most:.3f}) | "
          f"{flops / ours / 1e9:.0f} | {theirs:.3f} | {flops / theirs / 1e9:.0f} | **{middle:.3f}** ({low:.3f} {high:.3f}) | "
          f"{must:.2f} | {floor:.3f} | {100 * floor / ours:.0f} % | {error:.1e} | {len(layer_ms)} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--warm", type=float, default=3)
    parser.add_argument("--measure", type=float, default=5)
    options = parser.parse_args()
    library = mok.Library(os.path.join(here, "libmok.so"))
    torch.backends.cuda.matmul.allow_tf32 = False
    product_tflops, copy_gbs = ceilings()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, libmok {library.version()}; same run: 8192-cubed bf16 "
          f"product {product_tflops:.0f} TFLOP/s, copy {copy_gbs:.0f} GB/s; blocks of {BLOCK} calls, {options.warm:g} s warm-up, "
          f"{options.measure:g} s\n")
    print("| shape, tokens | H/I/E/k | layer ms (quartiles) | TF/s | pair ms | TF/s | layer / pair (quartiles) | must | "
          "floor ms | floor / layer | rel L2 | blocks |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    failed = 0
    for name, tokens, must in shapes(set(filter(None, options.only.split(",")))):
        start = time.monotonic()
        try:
            with torch.no_grad():
                run_shape(library, name, tokens, must, options, product_tflops, copy_gbs)
        except (mok.Error, RuntimeError, ValueError) as error:
            failed += 1
            print(f"| {name} | failed: {str(error).splitlines()[0]} |", flush=True)
            print(f"{name}: {error}", file=sys.stderr)
        torch.cuda.empty_cache()
        print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    product_after, _ = ceilings()
    print(f"\nAfterwards, hot: 8192-cubed product {product_after:.0f} TFLOP/s.")
    sys.exit(1 if failed else 0)


main()
