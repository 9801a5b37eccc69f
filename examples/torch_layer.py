#!/usr/bin/env python3
"""Swaps the MoE layers of a small PyTorch model for one kernel that mokgen writes, and compares the logits.

    torch_layer.py [--host] [--compile] [--mokgen build/mokgen | --package layer.mok]

Needs PyTorch and, without --host, a Hopper GPU. --host: on the CPU, with the same kernel on emulated SMs. --compile: through
torch.compile. --package: one built elsewhere from DESCRIPTION; MOK_LIBRARY then names libmok.so. Exit code 0 if the two models agree. Under torchrun every process does it on its own GPU.
"""
import argparse
import copy
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "runtime", "python"))
import mok
import mok.host
import mok.torch

VOCABULARY, LAYERS, TOKENS = 96, 2, 48
HIDDEN, INTERMEDIATE, EXPERTS, TOP_K = 128, 64, 8, 2
LIMIT = 1e-2  # relative error of the logits

DESCRIPTION = f"""
model {{ hidden = {HIDDEN}, intermediate = {INTERMEDIATE}, experts = {EXPERTS}, top_k = {TOP_K}, shared_experts = 1 }}
topology {{ gpu = "%s", gpus = 1 }}
workload {{ tokens_per_gpu = {TOKENS} }}
"""


class MoE(nn.Module):
    """The layer as PyTorch writes it: a router and a loop over experts."""

    def __init__(self):
        super().__init__()
        weight = lambda *shape: nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)
        self.router = nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.gate, self.up = weight(EXPERTS, INTERMEDIATE, HIDDEN), weight(EXPERTS, INTERMEDIATE, HIDDEN)
        self.down = weight(EXPERTS, HIDDEN, INTERMEDIATE)
        self.shared_gate, self.shared_up = weight(INTERMEDIATE, HIDDEN), weight(INTERMEDIATE, HIDDEN)
        self.shared_down = weight(HIDDEN, INTERMEDIATE)

    def route(self, x):
        """int32 and float32, both [T, k]."""
        weights, ids = self.router(x).float().softmax(-1).topk(TOP_K, sorted=False)
        return ids.to(torch.int32), weights / weights.sum(-1, keepdim=True)

    def forward(self, x):  # [T, H]
        ids, weights = self.route(x)
        expert = lambda rows, gate, up, down: F.linear(F.silu(F.linear(rows, gate)) * F.linear(rows, up), down).float()
        out = expert(x, self.shared_gate, self.shared_up, self.shared_down)
        for e in range(EXPERTS):
            token, slot = (ids == e).nonzero(as_tuple=True)
            y = expert(x[token], self.gate[e], self.up[e], self.down[e])
            out.index_add_(0, token, y * weights[token, slot, None])
        return out.to(x.dtype)


class MokMoE(nn.Module):
    """The same layer with the same parameters, in one kernel. All layers of a model can share a workspace."""

    def __init__(self, layer, workspace):
        super().__init__()
        self.layer, self.workspace = layer, workspace

    def forward(self, x):
        ids, weights = self.layer.route(x)
        m = self.layer
        return mok.torch.moe_layer(self.workspace, x, ids, weights,
                                   mok.Weights(m.gate, m.up, m.down, m.shared_gate, m.shared_up, m.shared_down))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.norms = nn.ModuleList(nn.RMSNorm(HIDDEN) for _ in range(LAYERS))
        self.layers = nn.ModuleList(MoE() for _ in range(LAYERS))
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens):  # [T] -> [T, VOCABULARY]
        x = self.embedding(tokens)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x)


def build(mokgen, host, folder):
    """A package for this model's layers."""
    description, package = os.path.join(folder, "layer.lua"), os.path.join(folder, "layer.mok")
    with open(description, "w", encoding="utf-8") as file:
        file.write(DESCRIPTION % ("host" if host else "auto"))
    subprocess.run([mokgen, "build", "-q", *(["--target", "host"] if host else []), description, "-o", package], check=True)
    return package


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--package")
    parser.add_argument("--mokgen", default=os.path.join(root, "build", "mokgen"))
    options = parser.parse_args()
    device = "cpu" if options.host else f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
    os.environ.setdefault("MOK_LIBRARY", os.path.join(os.path.dirname(options.mokgen), "libmok.so"))
    with tempfile.TemporaryDirectory() as folder:
        package = options.package or build(options.mokgen, options.host, folder)
        workspace = (mok.host.load(package, native_code=True).workspace() if options.host
                     else mok.torch.load(package, device=device))

    torch.manual_seed(1)
    plain = Model().to(device, torch.bfloat16)
    swapped = copy.deepcopy(plain)
    swapped.layers = nn.ModuleList(MokMoE(layer, workspace) for layer in swapped.layers)
    backend = "aot_eager" if options.host else "inductor"
    run = torch.compile(swapped, fullgraph=True, backend=backend) if options.compile else swapped
    tokens = torch.randint(VOCABULARY, (TOKENS,), device=device)
    with torch.no_grad():
        right, seen = plain(tokens).float(), run(tokens).float()
    if not options.host:
        torch.cuda.synchronize(device)
    workspace.check()
    error = ((seen - right).norm() / right.norm()).item()
    same = (seen.argmax(-1) == right.argmax(-1)).float().mean().item()
    print(f"{LAYERS} layers of {EXPERTS} experts on {device}: relative error of the logits {error:.2e}, "
          f"same next token {same:.0%}")
    return 0 if error <= LIMIT else 6


if __name__ == "__main__":
    sys.exit(main())
