"""Packages of the host target on the CPU: NumPy arrays, CPU tensors of PyTorch, anything with DLPack. Not fast: it runs the same
kernel text as a GPU on emulated SMs, for development and tests without one.

    kernel = mok.host.load("layer.mok", native_code=True)  # runs code of the package in this process
    out = kernel.workspace().forward(x, topk_ids, topk_weights, mok.Weights(gate, up, down))
"""
from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import mmap
import os
import weakref
from ctypes import POINTER, c_char_p, c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from typing import Any

from ._errors import AbortedError, ArgumentError, FileError, error_of
from ._step import KernelInfo, Layer, Step

# ---------------------------------------------------------------------------------------------------- mok_args.h, mok_host.h

HOST_ABI, ARGS_ABI, MAX_RANKS, MAX_MAPS, PHASE_ALL = 2, 3, 72, 16, 7
POISON, RACES = 1, 2
OK, DEADLOCK, BAD_LAUNCH, FAULT, FINDING, ABORTED, NO_MEMORY = range(7)
LINE_BYTES, LINE_INPUT_ERROR = 128, 5
INPUT_BAD_IDS, INPUT_ROUTE, INPUT_ID, INPUT_BAD_TOKENS, INPUT_TOKENS = range(5)


class mok_weight(ctypes.Structure):
    _fields_ = [("base", c_void_p), ("expert_stride", c_longlong), ("row_stride", c_longlong)]


class mok_tensor_map(ctypes.Structure):
    _fields_ = [("words", c_ulonglong * 16)]


class mok_rank_args(ctypes.Structure):
    _fields_ = [("maps", mok_tensor_map * MAX_MAPS), ("x", c_void_p), ("topk_ids", c_void_p), ("topk_weights", c_void_p),
                ("out", c_void_p), ("gate", mok_weight), ("up", mok_weight), ("down", mok_weight), ("shared_gate", mok_weight),
                ("shared_up", mok_weight), ("shared_down", mok_weight), ("local", c_void_p), ("heap", c_void_p * MAX_RANKS),
                ("tokens_dev", c_void_p), ("tokens", c_int), ("rank", c_int), ("unused", ctypes.c_ubyte * 56)]


class mok_args(ctypes.Structure):
    _fields_ = [("ranks", POINTER(mok_rank_args)), ("num_ranks_here", c_int), ("phases", c_uint), ("comm_ctas", c_int),
                ("compute_ctas", c_int), ("local_limit_ms", c_uint), ("peer_limit_ms", c_uint)]


class mok_host_about_t(ctypes.Structure):
    _fields_ = [("abi", c_uint), ("args_abi", c_uint), ("heap_bytes", c_longlong), ("local_bytes", c_longlong),
                ("shared_bytes", c_longlong), ("gpus", c_int), ("tokens_per_gpu", c_int), ("grid", c_int), ("sms_comm", c_int),
                ("sms_compute", c_int), ("name", c_char_p), ("digest", c_char_p)]


class mok_host_launch_t(ctypes.Structure):
    _fields_ = [("struct_size", c_uint), ("flags", c_uint), ("args", POINTER(mok_args)), ("seed", c_ulonglong), ("inject", c_int),
                ("inject_rank", c_int), ("inject_number", c_ulonglong)]


class mok_host_report_t(ctypes.Structure):
    _fields_ = [("struct_size", c_uint), ("text", c_char_p), ("text_size", ctypes.c_size_t), ("fibers", c_ulonglong),
                ("rounds", c_ulonglong), ("switches", c_ulonglong), ("waits", c_ulonglong), ("signals", c_ulonglong),
                ("copies", c_ulonglong), ("finding", c_int), ("aborted_ranks", c_uint), ("stuck", c_uint)]


# ---------------------------------------------------------------------------------------------------- package

INFO_KEYS = {"tokens_per_rank": "tokens_per_gpu", "comm_ctas": "sms_comm", "compute_ctas": "sms_compute"}  # others: the same


class Manifest:
    """Lines of manifest.txt by their keys."""

    def __init__(self, folder: str):
        self.folder, path = folder, os.path.join(folder, "manifest.txt")
        try:
            with open(path, encoding="utf-8", newline="\n") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read {path}: {error}") from None
        lines = text.split("\n")
        if lines[0] != "mok-package 1":
            raise FileError(f"{path} begins with '{lines[0][:40]}', must begin with 'mok-package 1': rebuild with mokgen 0.1")
        self.values = dict(line.split(" ", 1) for line in lines if " " in line)
        self.regions = dict(line.split(" ", 1)[1].rsplit(" ", 2)[:2] for line in lines if line.startswith("region "))
        self.files = {name: (int(size), digest) for _, name, size, digest in
                      (line.split(" ") for line in lines if line.startswith("file "))}
        body, end, _ = text.rpartition("end ")
        if not end or hashlib.sha256(body.encode()).hexdigest() != self.values.get("end"):
            raise FileError(f"{path} does not match its checksum")

    def number(self, key: str) -> int:
        value = self.values.get(key, "")
        if not value.isdecimal():
            raise FileError(f"{self.folder}/manifest.txt says '{key} {value}', must have a number")
        return int(value)

    def file(self, name: str) -> bytes:
        path = os.path.join(self.folder, name)
        if name not in self.files:
            raise FileError(f"{self.folder} has no {name}: it was built for target {self.values.get('target')}, must be host")
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise FileError(f"cannot read {path}: {error}") from None
        if (len(data), hashlib.sha256(data).hexdigest()) != self.files[name]:
            raise FileError(f"{path} does not match its checksum")
        return data


def _unload(library: int, file: int) -> None:
    _ctypes.dlclose(library)
    os.close(file)


class Kernel:
    """A package of the host target. Made by mok.host.load()."""

    def __init__(self, folder: str):
        manifest = Manifest(folder)
        code = manifest.file("kernel.host.so")
        self.info = KernelInfo(*[manifest.number(INFO_KEYS.get(name, name)) for name in KernelInfo._fields])
        self.control = int(manifest.regions.get("local control", "-1"))
        # What was checked is what is loaded, whatever becomes of the file. The loader knows libraries by their paths, so nobody else
        # may get the number in this one while the library is loaded.
        file = os.memfd_create("kernel.host.so")
        try:
            with open(file, "wb", closefd=False) as copy:
                copy.write(code)
            self._library = ctypes.CDLL(f"/proc/{os.getpid()}/fd/{file}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            os.close(file)
            raise FileError(f"cannot load {folder}/kernel.host.so: {error}") from None
        weakref.finalize(self, _unload, self._library._handle, file)
        about = mok_host_about_t.in_dll(self._library, "mok_host_about")
        info = self.info
        for what, is_, right in (("host ABI", about.abi, HOST_ABI), ("argument ABI", about.args_abi, ARGS_ABI),
                                 ("ranks", about.gpus, info.ranks),
                                 ("token capacity", about.tokens_per_gpu, info.tokens_per_rank),
                                 ("heap bytes", about.heap_bytes, info.symmetric_bytes),
                                 ("local bytes", about.local_bytes, info.local_bytes)):
            if is_ != right:
                raise FileError(f"{folder}/kernel.host.so has {what} {is_}, must have {right}: rebuild with mokgen 0.1")
        self._run = self._library.mok_host_run
        self._run.restype, self._run.argtypes = c_int, [POINTER(mok_host_launch_t), POINTER(mok_host_report_t)]

    def workspace(self) -> "Workspace":
        """Memory of all ranks, in this process."""
        return Workspace(self)


def load(path: str | os.PathLike, *, native_code: bool = False) -> Kernel:
    """Loads a package that was built with --target host. native_code: that its code may run in this process; it is compiled code
    and can do whatever the process can, so load only what you built."""
    if not native_code:
        raise ArgumentError(f"{os.fspath(path)} holds native code for this process: pass native_code=True if you trust it")
    return Kernel(os.fspath(path))


# ---------------------------------------------------------------------------------------------------- workspace


def _weights(step: Step) -> dict[str, mok_weight]:
    return {name: mok_weight(m.pointer, m.expert_stride, m.row_stride) for name, m in step.weights.items()}


def _pages(size: int) -> int:
    return (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE


class Workspace(Layer):
    """Memory of all ranks; serves any number of layers with the same package, one after the other. From one thread at a time."""

    def __init__(self, kernel: Kernel):
        super().__init__(kernel.info, ("cpu", 0), range(kernel.info.ranks))
        self.kernel, info = kernel, kernel.info
        heap, local = _pages(info.symmetric_bytes), _pages(info.local_bytes)
        self._memory = mmap.mmap(-1, (heap + local) * info.ranks)  # zero
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._heaps = [self._base + heap * r for r in self.ranks]
        self._locals = [self._base + heap * info.ranks + local * r for r in self.ranks]
        self._aborted = False

    def forward(self, x: Any, topk_ids: Any, topk_weights: Any, weights: Any, out: Any = None, stream: None = None, *,
                tokens_dev: Any = None, seed: int = 0, races: bool = False) -> Any:
        """Runs one step and returns `out`. Arguments as for a GPU (mok.Workspace.forward), in the CPU's memory; with several
        ranks, lists with one for each. seed: of the schedule, 0: every fiber in turn. races: also finds accesses that nothing
        orders."""
        if stream is not None:
            raise ArgumentError(f"stream is {stream!r}, must be None: the host target has no streams")
        if self._aborted:
            raise AbortedError("an earlier launch of this workspace failed: create a new one")
        steps = self.prepare_all(x, topk_ids, topk_weights, weights, out, tokens_dev, None)
        ranks = (mok_rank_args * len(steps))()
        for rank, (args, step) in enumerate(zip(ranks, steps)):
            args.__init__(x=step.x, topk_ids=step.topk_ids, topk_weights=step.topk_weights, out=step.out,
                          local=self._locals[rank], tokens_dev=step.tokens_dev, tokens=step.tokens, rank=rank, **_weights(step))
            for peer, heap in enumerate(self._heaps):
                args.heap[peer] = heap
        self._launch(ranks, seed, RACES if races else 0)
        return steps[0].result if len(steps) == 1 else [step.result for step in steps]

    def _launch(self, ranks: ctypes.Array, seed: int, flags: int) -> None:
        args = mok_args(ranks=ranks, num_ranks_here=len(ranks), phases=PHASE_ALL, comm_ctas=self.info.comm_ctas,
                        compute_ctas=self.info.compute_ctas)
        text = ctypes.create_string_buffer(16 << 10)
        report = mok_host_report_t(ctypes.sizeof(mok_host_report_t), ctypes.cast(text, c_char_p), len(text))
        launch = mok_host_launch_t(ctypes.sizeof(mok_host_launch_t), flags, ctypes.pointer(args), seed)
        result = self.kernel._run(ctypes.byref(launch), ctypes.byref(report))
        if result == OK:
            return
        said = text.value.decode("utf-8", "replace").rstrip("\n")
        if result == BAD_LAUNCH:  # before anything ran
            raise error_of(4, f"the host kernel refuses its arguments: {said}")
        self._aborted = True
        if result in (DEADLOCK, FINDING, ABORTED):
            raise AbortedError(said)
        if result == NO_MEMORY:
            raise FileError(said)
        raise error_of(4, said or f"the host kernel returned {result}")

    def check(self) -> None:
        """Raises ArgumentError for wrong input that steps found and went on, since the last call."""
        bad, first = 0, ""
        for rank in self.ranks:
            line = self._locals[rank] + self.kernel.control + LINE_INPUT_ERROR * LINE_BYTES
            words = (ctypes.c_int32 * 5).from_address(line)
            bad_ids, bad_counts = words[INPUT_BAD_IDS], words[INPUT_BAD_TOKENS]
            if bad_ids and not first:
                token, slot = divmod(words[INPUT_ROUTE], self.info.top_k)
                first = (f"rank {rank}: topk_ids[{token}, {slot}] is {words[INPUT_ID]}, must be -1 or 0 to "
                         f"{self.info.experts - 1}")
            elif bad_counts and not first:
                first = f"rank {rank}: the token count is {words[INPUT_TOKENS]}, must be 0 to {self.info.tokens_per_rank}"
            bad += bad_ids + bad_counts
            ctypes.memset(line, 0, ctypes.sizeof(words))
        if bad:
            raise ArgumentError(f"{first} (the first of {bad}; they had no effect)")

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: Any) -> None:
        pass
