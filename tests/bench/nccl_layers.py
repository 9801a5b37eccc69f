"""The whole expert-parallel layer with PyTorch, NCCL and Triton, one process for each GPU: what the layer is compared with.

How many rows a rank gets only its device knows. Kernels that go row by row therefore stop at a count in device memory, and arrays
are as long as they can become; so gather_scatter waits for nothing and can be captured in a graph.
"""
import torch
import torch.distributed as dist
import triton
import triton.language as tl

MOST_COLUMNS = 1024  # of one program of add_rows


@triton.jit
def take_rows(out, x, routes, count, top_k, columns, COLUMNS: tl.constexpr):
    """out[i] = x[routes[i] // top_k] for i < count."""
    i = tl.program_id(0).to(tl.int64)
    if i < tl.load(count):
        column = tl.arange(0, COLUMNS)
        token = (tl.load(routes + i) // top_k).to(tl.int64)
        row = tl.load(x + token * columns + column, mask=column < columns)
        tl.store(out + i * columns + column, row, mask=column < columns)


@triton.jit
def activate_rows(out, h, count, columns, COLUMNS: tl.constexpr):
    """out[i] = silu(h[i, :columns]) * h[i, columns:] for i < count, rounded once."""
    i = tl.program_id(0).to(tl.int64)
    if i < tl.load(count):
        column = tl.arange(0, COLUMNS)
        here = h + i * 2 * columns + column
        gate = tl.load(here, mask=column < columns).to(tl.float32)
        up = tl.load(here + columns, mask=column < columns).to(tl.float32)
        tl.store(out + i * columns + column, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=column < columns)


@triton.jit
def add_rows(out, y, place, weights, columns, TOP_K: tl.constexpr, COLUMNS: tl.constexpr):
    """out[token] = sum over slots of weights * y[place]; place -1: nothing."""
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for slot in tl.static_range(TOP_K):
        at = tl.load(place + token * TOP_K + slot).to(tl.int64)
        row = tl.load(y + at * columns + column, mask=(column < columns) & (at >= 0), other=0.0)
        total += row.to(tl.float32) * tl.load(weights + token * TOP_K + slot)
    tl.store(out + token * columns + column, total.to(tl.bfloat16), mask=column < columns)


@triton.jit
def invert(place, routes, count, routes_count, BLOCK: tl.constexpr):
    """place[routes[i]] = i, or -1 from i = count on."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < routes_count
    route = tl.load(routes + i, mask=inside, other=0)
    tl.store(place + route, tl.where(i < tl.load(count), i, -1), mask=inside)


def take(x, routes, most, count, top_k=1):
    out = torch.empty(most, x.shape[1], device=x.device, dtype=x.dtype)
    width = triton.next_power_of_2(x.shape[1])
    take_rows[(most,)](out, x, routes, count, top_k, x.shape[1], COLUMNS=width, num_warps=8)
    return out


def activate(h, count):
    columns = h.shape[1] // 2
    out = torch.empty(h.shape[0], columns, device=h.device, dtype=h.dtype)
    width = triton.next_power_of_2(columns)
    activate_rows[(h.shape[0],)](out, h, count, columns, COLUMNS=width, num_warps=8 if width > 2048 else 4)
    return out


def combine(y, place, weights):
    tokens, top_k = weights.shape
    out = torch.empty(tokens, y.shape[1], device=y.device, dtype=y.dtype)
    grid = (tokens, triton.cdiv(y.shape[1], MOST_COLUMNS))
    add_rows[grid](out, y, place, weights, y.shape[1], TOP_K=top_k, COLUMNS=MOST_COLUMNS, num_warps=4)
    return out


def places_of(routes, count):
    place = torch.empty(routes.numel(), device=routes.device, dtype=torch.int32)
    invert[(triton.cdiv(routes.numel(), 1024),)](place, routes, count, routes.numel(), BLOCK=1024)
    return place


def grouped(ids, first, experts):
    """Routes (token * top_k + slot) of the experts first .. first + experts - 1 by expert, all others behind them; and where each
    expert's routes end, as the grouped product wants it."""
    local = ids.reshape(-1) - first
    # 16 bits: half the passes of a radix sort
    keys = torch.where((local >= 0) & (local < experts), local, experts).to(torch.int16)
    keys, routes = torch.sort(keys, stable=True)
    numbers = torch.arange(experts, device=ids.device, dtype=torch.int16)
    return routes, torch.searchsorted(keys, numbers, right=True, out_int32=True)


def products(rank, rows, ends):
    h = torch._grouped_mm(rows, rank.gate_up.transpose(1, 2), offs=ends)
    return torch._grouped_mm(activate(h, ends[-1:]), rank.down.transpose(1, 2), offs=ends)


def gather_scatter(rank):
    """All tokens to everybody, the local experts' share of each, reduce-scatter of the sums. No host synchronisation."""
    ranks, T, k, E = rank.info.ranks, rank.tokens, rank.info.top_k, rank.experts
    most = ranks * T * min(k, E)  # rows of the local experts, if every token visits as many of them as it can

    def everybodys(part, async_op=False):
        whole = torch.empty(ranks * T, part.shape[1], device=part.device, dtype=part.dtype)
        return whole, dist.all_gather_into_tensor(whole, part, async_op=async_op)

    def call():
        routing, _ = everybodys(torch.cat((rank.ids, rank.weights.view(torch.int32)), 1))
        x, arrival = everybodys(rank.x, async_op=True)  # beside the sorting
        weights = routing[:, k:].contiguous().view(torch.float32)
        routes, ends = grouped(routing[:, :k], rank.first, E)
        place = places_of(routes, ends[-1:])
        arrival.wait()
        y = products(rank, take(x, routes, most, ends[-1:], k), ends)
        out = torch.empty(T, x.shape[1], device=x.device, dtype=x.dtype)
        dist.reduce_scatter_tensor(out, combine(y, place, weights))
        return out

    return call


def positions(counts, rows):
    """Rows lie by source and then by expert, counts[source, expert] of them, `rows` in all: where each goes by expert and then by
    source."""
    by_source, by_expert = counts.reshape(-1), counts.t().reshape(-1)
    starts = (torch.cumsum(by_expert, 0) - by_expert).view(counts.shape[1], -1).t().reshape(-1)
    shift = starts - (torch.cumsum(by_source, 0) - by_source)
    return torch.arange(rows, device=counts.device) + shift.repeat_interleave(by_source, output_size=rows)


def all_to_all(rank):
    """Rows to the owners of their experts and back. The host has to know the counts."""
    ranks, T, k, E = rank.info.ranks, rank.tokens, rank.info.top_k, rank.info.experts
    if E % ranks:
        raise ValueError("this variant wants as many experts on each rank")

    def call():
        routes, ends = grouped(rank.ids, 0, E)
        counts = torch.diff(ends, prepend=ends.new_zeros(1)).long()
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts)
        sent, got = torch.stack((counts, theirs)).view(2, ranks, -1).sum(2).tolist()  # the one wait for the device
        rows = torch.empty(sum(got), rank.x.shape[1], device=rank.device, dtype=rank.x.dtype)
        dist.all_to_all_single(rows, take(rank.x, routes, sum(sent), ends[-1:], k), got, sent)
        theirs = theirs.view(ranks, -1)
        place = positions(theirs, sum(got))
        local_ends = torch.cumsum(theirs.sum(0), 0).to(torch.int32)
        y = products(rank, take(rows, places_of(place, local_ends[-1:]), sum(got), local_ends[-1:]), local_ends)
        back = torch.empty(sum(sent), y.shape[1], device=rank.device, dtype=y.dtype)
        dist.all_to_all_single(back, take(y, place, sum(got), local_ends[-1:]), sent, got)
        return combine(back, places_of(routes, ends[-1:]).view(T, k), rank.weights)

    return call


def graphed(call):
    """The same as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()

    def replay():
        graph.replay()
        return out

    # The graph reads memory of tensors that the call made or was given before it was captured; it does not keep them.
    replay.captured = call
    return replay
