#!/usr/bin/env python3
"""How fast rows are pulled and pushed, by the number of SMs that do it and the size of a row.

    link.py [--ranks N]        N 1: within one GPU. N 2: each GPU from and to the other, both at once
    link.py --compile          compiles only; needs NVRTC, no GPU; exit code 77 without it

The kernel is link.cu: warps, slots and pieces are those of a communication SM of our plans. What was moved is compared.
Markdown to stdout.
"""
import argparse
import ctypes
import os
import statistics
import sys

ROWS = (14336, 8192, 5760, 4096)  # bytes: bf16 of Kimi K2, Qwen3.5 and Mixtral, GPT-OSS, Qwen3
SMS = (1, 2, 4, 8, 16, 32)
WARPS, SLOTS, MOST_PIECE = 6, 4, 4096  # of one direction in one SM
REGION, RING, MILLISECONDS, REPEATS = 1 << 29, 4, 4, 5
here = os.path.dirname(os.path.abspath(__file__))


def piece_of(row):
    """As many as it takes for pieces of at most MOST_PIECE bytes, all alike."""
    return row // -(-row // MOST_PIECE)


def find_library(names, folders):
    for folder in folders:
        for name in names:
            try:
                return ctypes.CDLL(os.path.join(folder, name) if folder else name, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                pass
    return None


def open_nvrtc():
    named = os.environ.get("MOKGEN_NVRTC", "")
    toolkit = os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "lib64")
    folders = [named, os.path.dirname(named)] if named else [toolkit, ""]
    for folder in folders:  # NVRTC opens it by its name, and does not look beside itself
        find_library(["libnvrtc-builtins.so.13.0", "libnvrtc-builtins.so"], [folder])
    return find_library(["libnvrtc.so.13", "libnvrtc.so"], folders)


def read(*places):
    for place in places:
        path = os.path.join(here, place)
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
    sys.exit(f"link.py: neither of {', '.join(places)} is in {here}")


def compiled(nvrtc, row):
    """A cubin for rows of so many bytes."""
    def check(result):
        if result:
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            nvrtc.nvrtcGetProgramLog(program, log)
            sys.exit(f"link.py: NVRTC fails with {result}\n{log.value.decode()}")

    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source, header = read("link.cu"), read("ptx.h", "../../templates/sm90/ptx.h")
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"link.cu", 1, (ctypes.c_char_p * 1)(header),
                                   (ctypes.c_char_p * 1)(b"ptx.h")))
    options = ["-arch=sm_90a", "-std=c++17", f"-DROW_BYTES={row}", f"-DPIECE_BYTES={piece_of(row)}", f"-DSLOTS={SLOTS}"]
    check(nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options])))
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    cubin = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, cubin))
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw


class Movement(ctypes.Structure):
    """struct movement of link.cu; regions are [rows, bytes of a row]."""
    _fields_ = [("to", ctypes.c_void_p), ("source", ctypes.c_void_p), ("to_mask", ctypes.c_uint32),
                ("source_mask", ctypes.c_uint32), ("scatter_to", ctypes.c_int32), ("scatter_source", ctypes.c_int32)]

    @staticmethod
    def between(to, source, pull):
        return Movement(to.data_ptr(), source.data_ptr(), to.shape[0] - 1, source.shape[0] - 1, not pull, pull)


class Link:
    """The kernel for one size of rows on all devices, and their memory."""

    def __init__(self, torch, cuda, cubin, row, ranks):
        self.torch, self.cuda, self.row, self.ranks = torch, cuda, row, ranks
        self.functions, self.far, self.ring = [], [], []
        for d in range(ranks):
            with torch.cuda.device(d):
                torch.cuda.synchronize()  # the context is there
                if ranks > 1:
                    self.let_in(1 - d)
                module, function = ctypes.c_void_p(), ctypes.c_void_p()
                self.check(cuda.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
                self.check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"move_rows"), "cuModuleGetFunction")
                most = 2 * WARPS * SLOTS * (piece_of(row) + 8)
                self.check(cuda.cuFuncSetAttribute(function, 8, most), "cuFuncSetAttribute")  # dynamic shared memory
                self.functions.append(function)
                rows = 1 << (REGION // row).bit_length() - 1
                fill = lambda count: torch.randint(256, (count, row), dtype=torch.uint8, device=f"cuda:{d}")
                self.far.append([fill(rows) for _ in range(2)])  # what others pull, where others push
                self.ring.append([fill(rows // RING) for _ in range(2)])

    def check(self, result, call):
        if result:
            sys.exit(f"link.py: {call} fails with {result}")

    def let_in(self, peer):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), peer), "cuDeviceGet")
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
        result = self.cuda.cuCtxEnablePeerAccess(context, 0)
        self.check(0 if result == 704 else result, "cuCtxEnablePeerAccess")  # 704: it is already

    def movements(self, d):
        peer = self.ranks - 1 - d
        return {"pull": Movement.between(self.ring[d][0], self.far[peer][0], True),
                "push": Movement.between(self.far[peer][1], self.ring[d][1], False)}

    def launch(self, d, what, sms, rows):
        """what: the movements, one or both at once."""
        both = [self.movements(d)[name] for name in what]
        warps = WARPS * len(both)
        values = [both[0], both[-1], ctypes.c_int(WARPS), ctypes.c_uint32(rows)]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        stream = ctypes.c_void_p(self.torch.cuda.current_stream(d).cuda_stream)
        shared = warps * SLOTS * (piece_of(self.row) + 8)
        self.check(self.cuda.cuLaunchKernel(self.functions[d], sms, 1, 1, warps * 32, 1, 1, shared, stream, parameters, None),
                   "cuLaunchKernel")

    def synchronize(self):
        for d in range(self.ranks):
            self.torch.cuda.synchronize(d)

    def seconds(self, what, sms, rows):
        """One launch on every device at once: of the device that takes longest."""
        events = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(self.ranks)]
        for d in range(self.ranks):
            with self.torch.cuda.device(d):
                events[d][0].record()
                self.launch(d, what, sms, rows)
                events[d][1].record()
        self.synchronize()
        return max(start.elapsed_time(end) for start, end in events) * 1e-3

    def rate(self, what, sms):
        """Bytes per second that one device moves, out of its memory or into it."""
        rows = 1 + int(min(sms * 50, 350) * 1e6 * MILLISECONDS / self.row / len(what))
        self.seconds(what, sms, rows)
        return rows * self.row * len(what) / statistics.median(self.seconds(what, sms, rows) for _ in range(REPEATS))

    def compare(self):
        """As many rows as a ring has, so that none is written twice."""
        torch, lap, rows = self.torch, self.ring[0][0].shape[0], self.far[0][0].shape[0]
        for d in range(self.ranks):
            self.ring[d][0].zero_()
            self.far[d][1].zero_()
        self.synchronize()
        self.seconds(("pull", "push"), 16, lap)
        place = (torch.arange(lap) * 2654435761) & (rows - 1)
        for d in range(self.ranks):
            there = lambda which: self.far[self.ranks - 1 - d][which][place.to(f"cuda:{self.ranks - 1 - d}")].to(f"cuda:{d}")
            if not torch.equal(there(0), self.ring[d][0]) or not torch.equal(there(1), self.ring[d][1]):
                sys.exit(f"link.py: device {d} moved rows of {self.row} bytes wrongly")


def measure(nvrtc, ranks):
    import torch
    if torch.cuda.device_count() < ranks:
        sys.exit(f"{ranks} GPUs are needed, PyTorch sees {torch.cuda.device_count()}")
    cuda = ctypes.CDLL("libcuda.so.1")
    where = "with the other GPU, both at once" if ranks > 1 else "within the GPU"
    print(f"{ranks} x {torch.cuda.get_device_name()}: GB/s of a GPU, {where}, by SMs; {WARPS} warps a direction, {SLOTS} slots\n")
    print(f"| rows | moved | {' | '.join(f'{n} SM' for n in SMS)} |")
    print("|---" * (2 + len(SMS)) + "|", flush=True)
    for row in ROWS:
        link = Link(torch, cuda, compiled(nvrtc, row), row, ranks)
        link.compare()
        for what in (("pull",), ("push",), ("pull", "push")):
            rates = [link.rate(what, sms) / 1e9 for sms in SMS]
            print(f"| {row} B | {' + '.join(what)} | {' | '.join(f'{rate:.0f}' for rate in rates)} |", flush=True)
        del link
        torch.cuda.empty_cache()
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, choices=(1, 2), default=1)
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    nvrtc = open_nvrtc()
    if nvrtc is None:
        print("link.py: no NVRTC here")
        sys.exit(77)
    if given.compile:
        print(", ".join(f"rows of {row} bytes: {len(compiled(nvrtc, row))} bytes of code" for row in ROWS))
    else:
        measure(nvrtc, given.ranks)


main()
