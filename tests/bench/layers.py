"""Input of one rank of an expert-parallel layer, the layer by plain PyTorch, and the two grouped products alone."""
import torch
import torch.nn.functional as F


def first_expert(experts, ranks, rank):
    return rank * experts // ranks


class Rank:
    """Random input of one rank and the weights of its experts, the same for every process that makes it."""

    def __init__(self, info, rank, tokens, device, seed=1):
        self.info, self.rank, self.tokens, self.device = info, rank, tokens, device
        H, I, E, k = info.hidden, info.intermediate, info.experts, info.top_k
        self.first = first_expert(E, info.ranks, rank)
        self.experts = first_expert(E, info.ranks, rank + 1) - self.first
        random = torch.Generator(device=device)
        random.manual_seed(seed * 1000 + rank)
        normal = lambda *shape: torch.randn(*shape, device=device, dtype=torch.bfloat16, generator=random)
        self.x = normal(tokens, H)
        # k different experts for each token, all equally likely
        self.ids = torch.rand(tokens, E, device=device, generator=random).topk(k, dim=1).indices.to(torch.int32)
        self.weights = torch.rand(tokens, k, device=device, generator=random).softmax(dim=1)
        # gate and up of an expert one after the other, as one product wants them
        self.gate_up = torch.empty(self.experts, 2 * I, H, device=device, dtype=torch.bfloat16)
        self.down = torch.empty(self.experts, H, I, device=device, dtype=torch.bfloat16)
        for e in range(self.experts):
            self.gate_up[e] = normal(2 * I, H) * H**-0.5
            self.down[e] = normal(H, I) * I**-0.5
        self.out = torch.empty(tokens, H, device=device, dtype=torch.bfloat16)

    def forward_args(self, mok):
        H, I = self.info.hidden, self.info.intermediate
        half = lambda first: mok.Weights(base=self.gate_up.data_ptr() + first * H * 2, expert_stride=2 * I * H)
        return mok.ForwardArgs(x=self.x.data_ptr(), topk_ids=self.ids.data_ptr(), topk_weights=self.weights.data_ptr(),
                               out=self.out.data_ptr(), gate=half(0), up=half(I), down=mok.Weights(base=self.down.data_ptr()),
                               tokens=self.tokens)


def routes_of(ranks, owner, ids=None):
    """What the experts of `owner` get from all ranks, by expert: (token * top_k + slot over all ranks, rows of each expert)."""
    ids = torch.cat([r.ids.to(owner.device) for r in ranks]) if ids is None else ids
    local = ids.reshape(-1).long() - owner.first
    order = torch.argsort(torch.where((local >= 0) & (local < owner.experts), local, owner.experts), stable=True)
    counts = torch.bincount(local[(local >= 0) & (local < owner.experts)], minlength=owner.experts)
    return order[:int(counts.sum())], counts


def pair(owner, rows, counts):
    """The two grouped products on real group offsets, and nothing else; rows: the gathered tokens."""
    offsets = torch.cumsum(counts, 0).to(torch.int32)
    up, down = owner.gate_up.transpose(1, 2), owner.down.transpose(1, 2)
    gate, value = torch._grouped_mm(rows, up, offs=offsets).chunk(2, dim=-1)
    h = F.silu(gate) * value

    def call():
        torch._grouped_mm(rows, up, offs=offsets)
        torch._grouped_mm(h, down, offs=offsets)

    return call


def reference(ranks):
    """out[tokens, hidden] of all ranks in fp32, experts one after the other; h and y rounded to bf16 as the layer defines it. On
    the device of the first rank."""
    device, info = ranks[0].device, ranks[0].info
    x = torch.cat([r.x.to(device) for r in ranks])
    ids = torch.cat([r.ids.to(device) for r in ranks])
    y = torch.zeros(x.shape[0], info.top_k, info.hidden, device=device, dtype=torch.bfloat16)
    for owner in ranks:
        for e in range(owner.experts):
            token, slot = (ids == owner.first + e).nonzero(as_tuple=True)
            for piece in range(0, token.numel(), 8192):  # fp32 rows of a wide layer are large
                t, s = token[piece:piece + 8192], slot[piece:piece + 8192]
                gate, up = (x[t].float() @ owner.gate_up[e].to(device).float().t()).chunk(2, dim=1)
                y[t, s] = ((F.silu(gate) * up).bfloat16().float() @ owner.down[e].to(device).float().t()).bfloat16()
    weights = torch.cat([r.weights.to(device) for r in ranks])
    out = torch.zeros(x.shape[0], info.hidden, device=device)
    for slot in range(info.top_k):
        out += weights[:, slot, None] * y[:, slot].float()
    return out


def relative_error(out, right):
    """Of all values; a NaN gives NaN."""
    return ((out.float() - right).norm() / right.norm()).item()
