"""The whole expert-parallel layer with PyTorch and NCCL, one process for each GPU: what the layer is compared with."""
import torch
import torch.distributed as dist
import torch.nn.functional as F


def rows_of(x, index, top_k):
    return x[index // top_k]


def activation(h):
    gate, up = h.chunk(2, dim=-1)
    return (F.silu(gate.float()) * up.float()).bfloat16()


def combine(y, place, valid, weights):
    """Sum over slots of weight * y[place], where valid."""
    values = torch.where(valid[..., None], y[place].float(), 0.0)
    return (values * weights[..., None]).sum(1).bfloat16()


def products(rank, rows, offsets, act):
    h = torch._grouped_mm(rows, rank.gate_up.transpose(1, 2), offs=offsets)
    return torch._grouped_mm(act(h), rank.down.transpose(1, 2), offs=offsets)


def gather_scatter(rank, compiled):
    """All tokens to everybody, the local experts' share of each, reduce-scatter of the sums. No host synchronisation."""
    take, act, add = (torch.compile(f, dynamic=False) if compiled else f for f in (rows_of, activation, combine))
    ranks, T, k, E = rank.info.ranks, rank.tokens, rank.info.top_k, rank.experts
    most = ranks * T * min(k, E)  # rows of the local experts, if every token visits as many of them as it can
    places = torch.arange(ranks * T * k, device=rank.device)
    experts = torch.arange(E, device=rank.device, dtype=torch.int32)

    def call():
        parts = (rank.x, rank.ids, rank.weights)
        x, ids, weights = (torch.empty(ranks * T, part.shape[1], device=part.device, dtype=part.dtype) for part in parts)
        for whole, part in zip((x, ids, weights), parts):
            dist.all_gather_into_tensor(whole, part)
        local = ids - rank.first
        valid = (local >= 0) & (local < E)
        keys, order = torch.sort(torch.where(valid, local, E).view(-1), stable=True)
        offsets = torch.searchsorted(keys, experts, right=True).to(torch.int32)
        place = torch.empty_like(places)
        place[order] = places
        y = products(rank, take(x, order[:most], k), offsets, act)
        part = add(y, place.clamp(max=most - 1).view(-1, k), valid, weights)
        out = torch.empty(T, x.shape[1], device=x.device, dtype=x.dtype)
        dist.reduce_scatter_tensor(out, part)
        return out

    return call


def all_to_all(rank, compiled):
    """Rows to the owners of their experts and back. The host has to know the counts."""
    take, act, add = (torch.compile(f, dynamic=True) if compiled else f for f in (rows_of, activation, combine))
    ranks, T, k, E = rank.info.ranks, rank.tokens, rank.info.top_k, rank.info.experts
    if E % ranks:
        raise ValueError("this variant wants as many experts on each rank")

    def call():
        flat = rank.ids.view(-1)
        _, order = torch.sort(flat, stable=True)
        counts = torch.bincount(flat, minlength=E)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts)
        sent, got = (c.view(ranks, -1).sum(1).tolist() for c in (counts, theirs))
        rows = torch.empty(sum(got), rank.x.shape[1], device=rank.device, dtype=rank.x.dtype)
        dist.all_to_all_single(rows, take(rank.x, order, k), got, sent)
        # from (source, expert) to expert
        expert = torch.arange(E // ranks, device=rank.device).repeat(ranks).repeat_interleave(theirs, output_size=sum(got))
        by_expert = torch.argsort(expert, stable=True)
        offsets = torch.cumsum(theirs.view(ranks, -1).sum(0), 0).to(torch.int32)
        y = torch.empty_like(rows)
        y[by_expert] = products(rank, rows[by_expert], offsets, act)
        back = torch.empty(T * k, y.shape[1], device=rank.device, dtype=y.dtype)
        dist.all_to_all_single(back, y, sent, got)
        place = torch.empty_like(order)
        place[order] = torch.arange(T * k, device=rank.device)
        return add(back, place.view(T, k), rank.ids >= 0, rank.weights)

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

    return replay
