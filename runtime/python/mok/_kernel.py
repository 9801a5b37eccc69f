"""Packages on a GPU, through libmok."""
from __future__ import annotations

import ctypes
import os
import weakref
from ctypes import byref, c_int64, c_void_p
from typing import Any, Callable, NamedTuple, Sequence

from . import _structs as c
from ._errors import ArgumentError
from ._library import Library, open_library
from ._step import KernelInfo, Layer, Matrix, Step, stream_of
from ._tensors import parse_device


class LaunchOptions(NamedTuple):
    """By the names of mok_launch_options; 0 is the default of each."""

    comm_ctas: int = 0
    compute_ctas: int = 0
    local_timeout_ms: int = 0
    peer_timeout_ms: int = 0


class InputErrors(NamedTuple):
    """What launches found wrong in their input and went on, by the names of mok_input_errors."""

    bad_ids: int  # ids outside 0 .. experts-1 that are not -1
    rank: int  # the first of them: where, and which
    token: int
    slot: int
    id: int
    bad_counts: int  # launches with a token count outside 0 .. tokens_per_rank
    count: int  # the first of them


def _unload(library: Library, handle: int, log: Any) -> None:
    library.c.mok_kernel_unload(handle)


def _destroy(kernels: Sequence["Kernel"], handle: int) -> None:
    kernels[0]._library.c.mok_workspace_destroy(handle)  # waits for the device
    for kernel in kernels:
        kernel._open -= 1


class Kernel:
    """A package on one GPU. Made by mok.load(); also a context manager."""

    memory = "cuda"  # where its tensors are

    def __init__(self, library: Library, handle: int, device: int, log: Any):
        self._library, self._handle, self._open = library, handle, 0
        self._close = weakref.finalize(self, _unload, library, handle, log)
        info = c.mok_kernel_info()
        library.call("mok_kernel_query", handle, byref(info))
        self.info = KernelInfo(*[getattr(info, name) for name in KernelInfo._fields])
        self.device = device

    def workspace(self) -> "Workspace":
        """Memory for all ranks of the package on this device, launched together."""
        return workspaces([self])[0]

    def workspace_bytes(self) -> tuple[int, int]:
        """Bytes of symmetric and of local memory that a workspace takes for one rank."""
        symmetric, local = c_int64(), c_int64()
        self._library.call("mok_workspace_size", self._need(), byref(symmetric), byref(local))
        return symmetric.value, local.value

    def close(self) -> None:
        """Unloads it, after all workspaces made with it are closed. Happens by itself when nobody has it any more."""
        if self._close.alive and self._open:
            raise ArgumentError(f"{self._open} workspaces with this kernel's memory are open: close them first")
        self._close()

    def _need(self) -> int:
        if not self._close.alive:
            raise ArgumentError("the kernel is closed")
        return self._handle

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def load(path: str | os.PathLike | None = None, device: Any = 0, *, memory: Any = None, log: Callable[[str], None] | None = None,
         library: str | os.PathLike | None = None) -> Kernel:
    """Loads a package on a GPU.

    path: the package's folder; or memory: a packed package, bytes-like, not needed after the call.
    device: ordinal, "cuda:N" or torch.device. log: gets lines. library: path of libmok.so (else MOK_LIBRARY, the folder of this
    file, the loader's path).
    """
    kind, ordinal = parse_device(device)
    if kind != "cuda":
        raise ArgumentError(f"device is {device}, must be a CUDA device; mok.host loads packages of the host target")
    lib = open_library(library)
    callback = c.LOG_FUNCTION(lambda _, text: log(text.decode("utf-8", "replace"))) if log else c.LOG_FUNCTION()
    args = c.mok_load_args(device=ordinal or 0, log=callback)
    if path is not None:
        args.path = os.fsencode(path)
    if memory is not None:
        packed = bytes(memory)
        args.memory, args.memory_size = ctypes.cast(ctypes.c_char_p(packed), c_void_p), len(packed)
    handle = c_void_p()
    lib.call("mok_kernel_load", byref(args), byref(handle))
    return Kernel(lib, handle.value, args.device, callback)


def workspaces(kernels: Sequence[Kernel]) -> list["Workspace"]:
    """Memory of all ranks, which are in this process: one kernel for each rank, each on a device of its own, in order of ranks;
    or a single one, whose device then has all ranks. One workspace for each kernel. Collective: on an error nothing is left."""
    if not kernels:
        raise ArgumentError("kernels is empty, must have one kernel, or one for each rank")
    library, count = kernels[0]._library, len(kernels)
    handles, out = (c_void_p * count)(*[k._need() for k in kernels]), (c_void_p * count)()
    library.call("mok_workspace_create", byref(c.mok_group(kernels=handles, kernel_count=count)), out)
    ranks = kernels[0].info.ranks
    here = ranks if count == 1 else 1
    return [Workspace(kernels, i, out[i], range(i * here, (i + 1) * here)) for i in range(count)]


def _weights(matrix: Matrix) -> c.mok_weights:
    return c.mok_weights(matrix.pointer, matrix.expert_stride, matrix.row_stride)


def _forward_args(step: Step) -> c.mok_forward_args:
    return c.mok_forward_args(x=step.x, topk_ids=step.topk_ids, topk_weights=step.topk_weights, out=step.out, tokens=step.tokens,
                              tokens_dev=step.tokens_dev, **{name: _weights(m) for name, m in step.weights.items()})


class Workspace(Layer):
    """Memory of the ranks of one kernel; serves any number of layers with the same package, one after the other on one stream.
    Made by Kernel.workspace() or mok.workspaces(); also a context manager. To be used from one thread at a time."""

    def __init__(self, kernels: Sequence[Kernel], place: int, handle: int, ranks: range):
        kernel = kernels[place]
        super().__init__(kernel.info, (kernel.memory, kernel.device), ranks)
        self.kernel, self._handle = kernel, handle
        self._held: list[Any] = []
        for each in kernels:  # the memory of all ranks goes with the last workspace, and none of their kernels before it
            each._open += 1
        self._close = weakref.finalize(self, _destroy, tuple(kernels), handle)

    def forward(self, x: Any, topk_ids: Any, topk_weights: Any, weights: Any, out: Any = None, stream: Any = None, *,
                tokens_dev: Any = None, options: LaunchOptions | None = None) -> Any:
        """Enqueues one step and returns `out`. Never waits.

        x: bfloat16 [T, H], 0 <= T <= tokens_per_rank. topk_ids: int32 [T, k], -1: no route. topk_weights: float32 [T, k].
        weights: mok.Weights or a mapping with its names. out: bfloat16 [T, H]; None: a new one from x's library.
        stream: None (PyTorch's current one for its tensors, else the default stream), a handle, or a stream object.
        tokens_dev: one int32 on the device, the token count that each launch reads; T is then its bound.
        x, topk_ids, topk_weights and out are contiguous. All are on the kernel's device. With several ranks in this workspace,
        each of them is a list with one for each rank.

        The launch reads and writes the memory later. The workspace keeps all objects until its next step or close(); memory whose
        owner reuses it in the order of another stream, and that of a step captured in a graph, is the caller's to keep.
        """
        handle = self._need()
        queue = stream_of(stream, x[0] if len(self.ranks) > 1 and isinstance(x, Sequence) and x else x)
        steps = self.prepare_all(x, topk_ids, topk_weights, weights, out, tokens_dev, queue)
        args = (c.mok_forward_args * len(steps))(*[_forward_args(step) for step in steps])
        launch = c.mok_launch_options(**options._asdict()) if options else None
        self.kernel._library.call("mok_forward", handle, args, byref(launch) if launch else None, queue)
        self._held = [step.owners for step in steps]
        return steps[0].result if len(steps) == 1 else [step.result for step in steps]

    def check(self) -> None:
        """Raises what launches found wrong up to now: AbortedError once one has given up, ArgumentError for wrong input. Does not
        wait for launches in flight: synchronise the stream first to judge a step."""
        self.kernel._library.call("mok_check", self._need(), None)

    def input_errors(self) -> InputErrors:
        """As check(), but returns what was wrong in the input since the last call instead of raising it."""
        errors = c.mok_input_errors()
        self.kernel._library.call("mok_check", self._need(), byref(errors))
        return InputErrors(*[getattr(errors, name) for name in InputErrors._fields])

    def close(self) -> None:
        """Waits for the device and gives the memory back. Happens by itself when nobody has the workspace any more."""
        self._close()
        self._held = []

    def _need(self) -> int:
        if not self._close.alive:
            raise ArgumentError("the workspace is closed")
        return self._handle

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_) -> None:
        self.close()
