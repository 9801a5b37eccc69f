"""One rank's step: its tensors, checked. Shared by GPUs and the host target."""
from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any, Mapping, NamedTuple, Sequence

from ._errors import ArgumentError
from ._tensors import (BF16, FLOAT32, INT32, Shape, Tensor, describe, kind_of, require, require_aligned, require_contiguous,
                       weight_strides)


class KernelInfo(NamedTuple):
    """Facts of a package, by the names of mok_kernel_info. Bytes are of one rank."""

    ranks: int
    tokens_per_rank: int  # capacity
    hidden: int
    intermediate: int
    shared_intermediate: int  # 0: no shared expert
    experts: int  # of all ranks
    top_k: int
    gated: int  # 0: the activation has no gate, and Weights.gate is not used
    comm_ctas: int
    compute_ctas: int
    symmetric_bytes: int
    local_bytes: int
    cluster: int  # CTAs start in clusters of so many: counts of CTAs are multiples of it

    def experts_of(self, rank: int) -> range:
        """The experts whose weights rank `rank` holds."""
        return range(rank * self.experts // self.ranks, (rank + 1) * self.experts // self.ranks)


class Weights(NamedTuple):
    """A rank's weights, bfloat16. E_local: its experts; H: hidden; I: intermediate; S: shared_intermediate.

    The last dimension is contiguous; rows and experts may lie apart by any multiple of 8 elements, so that slices of one tensor
    with gate and up will do. Each begins at a multiple of 16 bytes. None where the layer has no such matrix.
    """

    gate: Any = None  # [E_local, I, H]
    up: Any = None  # [E_local, I, H]
    down: Any = None  # [E_local, H, I]
    shared_gate: Any = None  # [S, H] or [1, S, H]
    shared_up: Any = None  # [S, H] or [1, S, H]
    shared_down: Any = None  # [H, S] or [1, H, S]


class Matrix(NamedTuple):
    pointer: int
    expert_stride: int  # elements
    row_stride: int


class Step(NamedTuple):
    """Addresses that a kernel takes, and what keeps them."""

    x: int
    topk_ids: int
    topk_weights: int
    out: int
    tokens: int
    tokens_dev: int
    weights: dict[str, Matrix]  # by their fields; those that the layer has
    result: Any  # the object for `out`
    owners: list[Any]


def stream_of(stream: Any, x: Any) -> int | None:
    """A stream's handle. None: PyTorch's current stream for its tensors, else the default stream (None)."""
    if stream is None:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(x, torch.Tensor) or not x.is_cuda:
            return None
        return torch.cuda.current_stream(x.device).cuda_stream or None
    if isinstance(stream, int):
        return stream or None
    for attribute in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, attribute, None)
        if isinstance(handle, int):
            return handle or None
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1]) or None
    raise ArgumentError(f"stream is a {kind_of(stream)}, must be None, a handle, or an object with cuda_stream, ptr, "
                        "handle or __cuda_stream__()")


def weights_of(weights: Any) -> Weights:
    if isinstance(weights, Weights):
        return weights
    if not isinstance(weights, Mapping):
        raise ArgumentError(f"weights is a {kind_of(weights)}, must be mok.Weights or a mapping with its names")
    unknown = [str(name) for name in weights if name not in Weights._fields]
    if unknown:
        raise ArgumentError(f"weights has {', '.join(unknown)}, must have only {', '.join(Weights._fields)}")
    return Weights(**weights)


def new_like(x: Any) -> Any:
    """An uninitialised tensor like x, from its own library."""
    if hasattr(x, "new_empty"):
        return x.new_empty(tuple(x.shape))
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().empty_like(x)
    numpy = sys.modules.get("numpy")  # before 2.0, its arrays have no namespace
    if numpy is not None and isinstance(x, numpy.ndarray):
        return numpy.empty_like(x)
    raise ArgumentError(f"out is None and x is a {kind_of(x)}, which cannot make one (no new_empty, no "
                        "__array_namespace__): give out, bfloat16 [T, H]")


_numbers = itertools.count(1)
by_number: weakref.WeakValueDictionary[int, "Layer"] = weakref.WeakValueDictionary()


class Layer:
    """What a workspace is to its callers. `number` names it for as long as the process runs."""

    def __init__(self, info: KernelInfo, device: tuple[str, int], ranks: range):
        self.info, self.device, self.ranks = info, device, ranks
        self._matrices = {rank: self._matrices_of(rank) for rank in ranks}
        self.number = next(_numbers)
        by_number[self.number] = self

    def _matrices_of(self, rank: int) -> dict[str, Shape]:
        """What a rank's weights must be; only those that the layer has."""
        info = self.info
        H, I, S, E = info.hidden, info.intermediate, info.shared_intermediate, len(info.experts_of(rank))
        right = {}
        if E > 0:
            up = Shape(("E_local", "I", "H"), (E, I, H))
            right.update(gate=up, up=up, down=Shape(("E_local", "H", "I"), (E, H, I)))
        if S > 0:
            up = Shape(("1", "S", "H"), (1, S, H))
            right.update(shared_gate=up, shared_up=up, shared_down=Shape(("1", "H", "S"), (1, H, S)))
        return {name: shape for name, shape in right.items() if info.gated or not name.endswith("gate")}

    def _weights(self, rank: int, weights: Weights, mark: str, take) -> dict[str, Matrix]:
        out = {}
        for field, shape in self._matrices[rank].items():
            name, obj = f"{mark}weights.{field}", getattr(weights, field)
            if obj is None:
                raise ArgumentError(f"{name} is None, must be bfloat16 {shape}")
            tensor = take(name, obj)
            if len(tensor.shape) == 2 and shape.letters[0] == "1":
                shape = Shape(shape.letters[1:], shape.sizes[1:])
            require(name, tensor, BF16, shape, self.device)
            require_aligned(name, tensor, 16)
            out[field] = Matrix(tensor.pointer, *weight_strides(name, tensor))
        return out

    def prepare(self, rank: int, x: Any, topk_ids: Any, topk_weights: Any, weights: Any, out: Any, tokens_dev: Any,
                stream: int | None) -> Step:
        """Checks all of a rank's arguments; allocates `out` if it is None."""
        info, owners = self.info, []
        mark = f"rank {rank}: " if len(self.ranks) > 1 else ""

        def take(name: str, obj: Any) -> Tensor:
            tensor = describe(name, obj, stream)
            owners.extend((obj, tensor.owner))
            return tensor

        X = take(f"{mark}x", x)
        tokens = X.shape[0] if len(X.shape) == 2 else info.tokens_per_rank
        rows, slots = Shape(("T", "H"), (tokens, info.hidden)), Shape(("T", "k"), (tokens, info.top_k))
        require(f"{mark}x", X, BF16, rows, self.device)
        if tokens > info.tokens_per_rank:
            raise ArgumentError(f"{mark}x has {tokens} tokens, must have at most {info.tokens_per_rank}, for which the package "
                                "was planned")
        ids, w = take(f"{mark}topk_ids", topk_ids), take(f"{mark}topk_weights", topk_weights)
        result = new_like(x) if out is None else out
        Out = take(f"{mark}out", result)
        for name, tensor, dtypes, shape, alignment in (
                ("x", X, BF16, rows, 16), ("topk_ids", ids, INT32, slots, 4), ("topk_weights", w, FLOAT32, slots, 4),
                ("out", Out, BF16, rows, 16)):
            require(mark + name, tensor, dtypes, shape, self.device)
            require_contiguous(mark + name, tensor)
            if tokens:
                require_aligned(mark + name, tensor, alignment)
        if Out.read_only:
            raise ArgumentError(f"{mark}out is read-only, must be writable")
        count = 0
        if tokens_dev is not None:
            name = f"{mark}tokens_dev"
            tensor = take(name, tokens_dev)
            require(name, tensor, INT32, Shape(("1",), (1,)) if tensor.shape else Shape((), ()), self.device)
            require_aligned(name, tensor, 4)
            count = tensor.pointer
        matrices = self._weights(rank, weights_of(weights), mark, take)
        return Step(X.pointer, ids.pointer, w.pointer, Out.pointer, tokens, count, matrices, result, owners)

    def prepare_all(self, x: Any, topk_ids: Any, topk_weights: Any, weights: Any, out: Any, tokens_dev: Any,
                    stream: int | None) -> list[Step]:
        """One step for each rank: of tensors, or of sequences with one for each rank where there are several."""
        given = {"x": x, "topk_ids": topk_ids, "topk_weights": topk_weights, "weights": weights, "out": out,
                 "tokens_dev": tokens_dev}
        several = len(self.ranks)
        for name, value in given.items():
            if several == 1:
                given[name] = [value]
            elif value is None and name in ("out", "tokens_dev"):
                given[name] = [None] * several
            elif not isinstance(value, Sequence) or isinstance(value, Weights) or len(value) != several:
                raise ArgumentError(f"{name} is a {kind_of(value)}, must be a list of {several}: one for each rank of this "
                                    "workspace")
        return [self.prepare(rank, *one, stream) for rank, *one in zip(self.ranks, *given.values())]
