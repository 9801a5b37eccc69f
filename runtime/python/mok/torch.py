"""The layer as an operator of PyTorch, `mok::moe_layer`, which torch.compile traces as one node.

    workspace = mok.torch.load("layer.mok")
    out = mok.torch.moe_layer(workspace, x, topk_ids, topk_weights, mok.Weights(gate, up, down))

Forward only: with gradients enabled, no input may require one.
"""
from __future__ import annotations

import os
from typing import Any

import torch

from ._errors import ArgumentError, NotInThisVersionError
from ._kernel import Workspace
from ._kernel import load as _load
from ._step import Layer, Weights, by_number, weights_of

__all__ = ["load", "moe_layer"]

_NAMES = ("x", "topk_ids", "topk_weights") + tuple(f"weights.{name}" for name in Weights._fields)


def _no_gradient(names: str) -> NotInThisVersionError:
    return NotInThisVersionError(
        f"{names} requires a gradient, and this version of mok has no backward kernel: call the layer under torch.no_grad(), or "
        "give it tensors that require none, such as x.detach()")


def _moe_layer(workspace, x, topk_ids, topk_weights, *weights):
    layer = by_number.get(workspace)
    if layer is None:
        raise ArgumentError(f"there is no workspace {workspace} any more")
    return layer.forward(x, topk_ids, topk_weights, Weights(*weights))


# A workspace goes by its number, as a schema has no type for it.
_SCHEMA = "(int workspace, Tensor x, Tensor topk_ids, Tensor topk_weights, " + ", ".join(
    f"Tensor? {name}" for name in Weights._fields) + ") -> Tensor"
_operator = torch.library.custom_op("mok::moe_layer", _moe_layer, mutates_args=(), schema=_SCHEMA)


@_operator.register_fake
def _(workspace, x, topk_ids, topk_weights, *weights):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _refuse(ctx: Any, inputs: tuple, output: Any) -> None:
    raise _no_gradient("an input of mok::moe_layer")


def _backward(ctx: Any, grad: torch.Tensor) -> None:
    raise _no_gradient("an input of mok::moe_layer")


_operator.register_autograd(_backward, setup_context=_refuse)


def moe_layer(workspace: Layer, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor,
              weights: Any) -> torch.Tensor:
    """One step of a MoE layer on PyTorch's current stream; bfloat16 [T, H].

    workspace: of mok.torch.load(), Kernel.workspace() or mok.host, with one rank. x: bfloat16 [T, H]. topk_ids: int32 [T, k], -1:
    no route. topk_weights: float32 [T, k]. weights: mok.Weights or a mapping with its names. See Workspace.forward.
    """
    if len(workspace.ranks) != 1:
        raise ArgumentError(f"the workspace has {len(workspace.ranks)} ranks, must have one; its own forward() takes a tensor "
                            "for each")
    w = weights_of(weights)
    inputs = (x, topk_ids, topk_weights, *w)
    if torch.is_grad_enabled():
        wanting = [name for name, tensor in zip(_NAMES, inputs) if tensor is not None and tensor.requires_grad]
        if wanting:
            raise _no_gradient(", ".join(wanting))
    return torch.ops.mok.moe_layer(workspace.number, *inputs)


def load(path: str | os.PathLike, device: Any = None, **options: Any) -> Workspace:
    """A workspace for a package of one rank on this process's GPU: `device`, else the one of LOCAL_RANK (torchrun), else
    PyTorch's current one. options: of mok.load.

    A package of several ranks needs them all in one process (mok.workspaces): a process for each rank is not in this version.
    Under torchrun each process can therefore run a package of one rank, with all experts, on tokens of its own.
    """
    if device is None:
        local = os.environ.get("LOCAL_RANK")
        device = int(local) if local is not None else torch.cuda.current_device() if torch.cuda.is_available() else 0
    kernel = _load(path, device, **options)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if kernel.info.ranks == 1:
        return kernel.workspace()
    kernel.close()
    if world > 1:
        raise NotInThisVersionError(
            f"{os.fspath(path)} is for {kernel.info.ranks} ranks and this is one of {world} processes; in this version of libmok "
            "one process has all ranks (mok.workspaces): a process for each rank is not built yet. A package with "
            "topology.gpus = 1 works")
    raise ArgumentError(f"{os.fspath(path)} is for {kernel.info.ranks} ranks, must be for one; mok.load and mok.workspaces give "
                        "this process all of them")
