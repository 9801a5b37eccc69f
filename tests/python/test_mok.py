"""The package `mok` with the standard library only: the bits of the host target through libmok on the emulated driver, tensors of
every protocol, and what it says of wrong arguments."""
import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
import unittest
import weakref

import support
from support import EXPERTS, HIDDEN, MATRICES, TOKENS, TOP_K, Buffer, matrix_shapes

import mok
from mok import _dlpack, _step, _tensors

ONE, TWO = support.Case("one"), support.Case("two", ranks=2, shared=0)


class Inputs:
    """A rank's tensors of a case's dump, and what should come out."""

    def __init__(self, case, rank=0, device="cuda:0"):
        experts = [rank * EXPERTS // case.ranks, (rank + 1) * EXPERTS // case.ranks]
        tensor = lambda name, shape, dtype: Buffer(shape, dtype, case.bytes_of(f"{name}_{rank}"), device)
        self.expected = case.bytes_of(f"out_{rank}")
        self.tokens = len(self.expected) // 2 // HIDDEN
        self.x = tensor("x", (self.tokens, HIDDEN), "bfloat16")
        self.ids = tensor("topk_ids", (self.tokens, TOP_K), "int32")
        self.weights_of_slots = tensor("topk_weights", (self.tokens, TOP_K), "float32")
        self.matrices = {}
        for name, shape in matrix_shapes(experts[1] - experts[0]).items():
            try:
                data = case.bytes_of(name)
            except FileNotFoundError:
                continue
            if shape[0] > 1:
                one = len(data) // EXPERTS
                data = data[experts[0] * one:experts[1] * one]
            self.matrices[name] = Buffer(shape, "bfloat16", data, device)
        self.weights = mok.Weights(**self.matrices)

    def all(self, **replaced):
        given = {"x": self.x, "topk_ids": self.ids, "topk_weights": self.weights_of_slots, "weights": self.weights}
        return {**given, **replaced}


class Steps(support.Emulated):
    def setUp(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(ONE.host, "kernel.host.so")
        self.inputs = Inputs(ONE)

    def test_same_bits_as_the_host_target(self):
        self.assertGreater(self.inputs.tokens, 0)
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            for _ in range(2):
                out = workspace.forward(**self.inputs.all())
                self.assertEqual((out.shape, out.dtype), (self.inputs.x.shape, "bfloat16"))
                self.assertEqual(out.bytes(), self.inputs.expected)
            mine = Buffer(self.inputs.x.shape, "bfloat16")
            self.assertIs(workspace.forward(**self.inputs.all(out=mine, weights=self.inputs.matrices, stream=7)), mine)
            self.assertEqual(mine.bytes(), self.inputs.expected)
            workspace.check()

    def test_fewer_tokens(self):
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            for tokens in (0, 1, 5):
                part = self.inputs.all()
                for name, shape in (("x", HIDDEN), ("topk_ids", TOP_K), ("topk_weights", TOP_K)):
                    whole = part[name]
                    part[name] = Buffer((tokens, shape), whole.dtype, whole.bytes()[:tokens * shape * whole.size])
                self.assertEqual(workspace.forward(**part).bytes(), self.inputs.expected[:tokens * HIDDEN * 2])
            # The count on the device, and T as its bound.
            out = Buffer(self.inputs.x.shape, "bfloat16", b"\x11" * self.inputs.x.nbytes)
            count = Buffer((1,), "int32", (5).to_bytes(4, "little"))
            workspace.forward(**self.inputs.all(out=out, tokens_dev=count))
            end = 5 * HIDDEN * 2
            self.assertEqual(out.bytes()[:end], self.inputs.expected[:end])
            self.assertEqual(set(out.bytes()[end:]), {0x11})

    def test_other_threads_go_on(self):
        """The interpreter's lock is free in a call. Its middle half counts: at its ends Python holds the lock anyway."""
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.0005):
                ticks.append(time.monotonic())

        ticker = threading.Thread(target=tick)
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            ticker.start()
            try:
                seen = 0
                for _ in range(20):  # an emulated launch takes its time in the call
                    start = time.monotonic()
                    workspace.forward(**self.inputs.all())
                    quarter = (time.monotonic() - start) / 4
                    seen += sum(start + quarter < t < start + 3 * quarter for t in ticks)
                    ticks.clear()
            finally:
                stop.set()
                ticker.join()
        self.assertGreater(seen, 0)

    def test_weights_with_gaps(self):
        """gate and up as the halves of one tensor [E, 2 I, H]."""
        shape = self.inputs.matrices["gate"].shape
        one = shape[1] * shape[2] * 2
        gate, up = (self.inputs.matrices[name].bytes() for name in ("gate", "up"))
        both = b"".join(data[e * one:(e + 1) * one] for e in range(EXPERTS) for data in (gate, up))
        packed = Buffer((EXPERTS, 2 * shape[1], shape[2]), "bfloat16", both)
        halves = {}
        for i, name in enumerate(("gate", "up")):
            half = Buffer(shape, "bfloat16")
            half.address, half.strides, half.base = packed.address + i * one, packed.strides, packed
            halves[name] = half
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            weights = {**self.inputs.matrices, **halves}
            self.assertEqual(workspace.forward(**self.inputs.all(weights=weights)).bytes(), self.inputs.expected)
            halves["up"].strides = [0, *packed.strides[1:]]  # expanded
            with self.fails(mok.ArgumentError, "weights.up has experts 0 elements apart", "multiple of 8"):
                workspace.forward(**self.inputs.all(weights=weights))

    def test_ranks_on_one_device(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(TWO.host, "kernel.host.so")
        ranks = [Inputs(TWO, rank) for rank in range(2)]
        lists = {name: [rank.all()[name] for rank in ranks] for name in ranks[0].all()}
        with mok.load(TWO.gpu) as kernel, kernel.workspace() as workspace:
            self.assertEqual([list(kernel.info.experts_of(r)) for r in range(2)], [[0, 1], [2, 3]])
            self.assertEqual(sorted(ranks[0].matrices), ["down", "gate", "up"])  # no shared expert
            outs = workspace.forward(**lists)
            self.assertEqual([out.bytes() for out in outs], [rank.expected for rank in ranks])
            with self.fails(mok.ArgumentError, "x is a support.Buffer, must be a list of 2: one for each rank"):
                workspace.forward(**{**lists, "x": ranks[0].x})
            wrong = [ranks[0].ids, Buffer((ranks[1].tokens, TOP_K), "int64")]
            with self.fails(mok.ArgumentError, "rank 1: topk_ids is int64, must be int32"):
                workspace.forward(**{**lists, "topk_ids": wrong})
            workspace.check()

    def test_ranks_on_two_devices(self):
        os.environ["EMULATED_COUNT"] = "2"
        del os.environ["EMULATED_KERNEL"]  # which launches all ranks at once; libmok's part is seen without
        kernels = [mok.load(TWO.gpu, device) for device in (0, "cuda:1")]
        workspaces = mok.workspaces(kernels)
        self.assertEqual([list(workspace.ranks) for workspace in workspaces], [[0], [1]])
        launches = ctypes.c_int.in_dll(self.driver, "emulated_launches")
        before = launches.value
        for rank, workspace in enumerate(workspaces):
            inputs = Inputs(TWO, rank, f"cuda:{rank}")
            workspace.forward(**inputs.all())
            with self.fails(mok.ArgumentError, f"x is on cuda:{1 - rank}, must be on cuda:{rank}"):
                workspace.forward(**inputs.all(x=Buffer(inputs.x.shape, "bfloat16", device=f"cuda:{1 - rank}")))
        self.assertEqual(launches.value, before + 2)
        # The first rank's kernel stays as long as anybody has its memory.
        workspaces[0].close()
        with self.fails(mok.ArgumentError, "1 workspaces with this kernel's memory are open: close them first"):
            kernels[0].close()

    def test_keeps_inputs_until_the_next_step(self):
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            def step():
                x = Buffer(self.inputs.x.shape, "bfloat16", self.inputs.x.bytes())
                out = workspace.forward(**self.inputs.all(x=x))
                return weakref.ref(x), weakref.ref(out)

            first = step()
            gc.collect()
            self.assertTrue(all(ref() for ref in first))
            with self.assertRaises(mok.ArgumentError):  # no step
                workspace.forward(**self.inputs.all(topk_ids=None))
            self.assertTrue(all(ref() for ref in first))
            second = step()
            gc.collect()
            self.assertFalse(any(ref() for ref in first))
            self.assertTrue(all(ref() for ref in second))
        gc.collect()
        self.assertFalse(any(ref() for ref in second))

    def test_everything_goes_by_itself(self):
        workspace = mok.load(ONE.gpu).workspace()
        workspace.forward(**self.inputs.all())
        number = workspace.number
        self.assertIs(_step.by_number[number], workspace)
        del workspace  # and tearDown counts
        gc.collect()
        self.assertNotIn(number, _step.by_number)


class WrongArguments(support.Emulated):
    def setUp(self):
        self.inputs = Inputs(ONE)
        self.kernel = mok.load(ONE.gpu)
        self.workspace = self.kernel.workspace()
        self.launches = ctypes.c_int.in_dll(self.driver, "emulated_launches")
        self.before = self.launches.value

    def tearDown(self):
        self.assertEqual(self.launches.value, self.before, "something was launched")
        self.workspace.close()
        self.kernel.close()
        super().tearDown()

    def refused(self, *parts, **replaced):
        with self.fails(mok.ArgumentError, *parts):
            self.workspace.forward(**self.inputs.all(**replaced))

    def test_dtypes(self):
        T = self.inputs.tokens
        for name, dtype, wrong, shape in (("x", "bfloat16 (or uint16 with its bits)", "float16", (T, HIDDEN)),
                                          ("topk_ids", "int32", "int64", (T, TOP_K)),
                                          ("topk_weights", "float32", "bfloat16", (T, TOP_K)),
                                          ("out", "bfloat16 (or uint16 with its bits)", "float32", (T, HIDDEN))):
            self.refused(f"{name} is {wrong}, must be {dtype}", **{name: Buffer(shape, wrong)})
        gate = Buffer(self.inputs.weights.gate.shape, "float32")
        self.refused("weights.gate is float32, must be bfloat16", weights=self.inputs.weights._replace(gate=gate))

    def test_shapes(self):
        T = self.inputs.tokens
        self.refused("x has shape [24, 32], must be [T, H] = [24, 64]", x=Buffer((T, 32), "bfloat16"))
        self.refused("x has shape [1536], must be [T, H] = [24, 64]", x=Buffer((T * HIDDEN,), "bfloat16"))
        self.refused(f"x has {TOKENS + 1} tokens, must have at most {TOKENS}", x=Buffer((TOKENS + 1, HIDDEN), "bfloat16"))
        self.refused("topk_ids has shape [24, 3], must be [T, k] = [24, 2]", topk_ids=Buffer((T, 3), "int32"))
        self.refused("topk_weights has shape [23, 2], must be [T, k]", topk_weights=Buffer((T - 1, TOP_K), "float32"))
        self.refused("out has shape [23, 64], must be [T, H] = [24, 64]", out=Buffer((T - 1, HIDDEN), "bfloat16"))
        self.refused("tokens_dev has shape [2], must be [1] = [1]", tokens_dev=Buffer((2,), "int32"))
        w = self.inputs.weights
        self.refused("weights.down has shape [4, 32, 64], must be [E_local, H, I] = [4, 64, 32]", weights=w._replace(down=w.gate))
        self.refused("weights.shared_up has shape [2, 32, 64], must be [1, S, H] = [1, 32, 64]",
                     weights=w._replace(shared_up=Buffer((2, 32, 64), "bfloat16")))
        self.refused("weights.shared_up has shape [32, 32], must be [S, H] = [32, 64]",
                     weights=w._replace(shared_up=Buffer((32, 32), "bfloat16")))

    def test_strides_and_addresses(self):
        x = Buffer(self.inputs.x.shape, "bfloat16")
        x.strides = [1, self.inputs.tokens]
        self.refused("x has strides [1, 24] for shape [24, 64], must be contiguous: [64, 1]", x=x)
        x = Buffer(self.inputs.x.shape, "bfloat16")
        x.address += 8
        self.refused(f"x begins at address {x.address:#x}, must begin at a multiple of 16 bytes", x=x)
        w = self.inputs.weights
        turned = Buffer(w.up.shape, "bfloat16")
        turned.strides = [turned.strides[0], 1, 32]
        self.refused("weights.up has strides [2048, 1, 32]", "last dimension contiguous", weights=w._replace(up=turned))
        narrow = Buffer(w.up.shape, "bfloat16")
        narrow.strides = [narrow.strides[0], 68, 1]
        self.refused("weights.up has rows 68 elements apart", "multiple of 8, 64 or more", weights=w._replace(up=narrow))

    def test_devices(self):
        for device, said in (("cpu", "x is on cpu, must be on cuda:0"), ("cuda:1", "x is on cuda:1, must be on cuda:0"),
                             ("meta", "x is on meta, must be on cuda:0")):
            self.refused(said, x=Buffer(self.inputs.x.shape, "bfloat16", device=device))
        with self.fails(mok.ArgumentError, "device is cpu, must be a CUDA device", "mok.host"):
            mok.load(ONE.gpu, "cpu")
        with self.fails(mok.ArgumentError, "device is '?', must be an ordinal or like 'cuda:0'"):
            mok.load(ONE.gpu, "?")

    def test_what_is_no_tensor(self):
        self.refused("x is a list, must be a tensor: with data_ptr()", "__dlpack__", x=[1, 2])
        self.refused("topk_ids is a NoneType, must be a tensor", topk_ids=None)
        self.refused("weights is a list, must be mok.Weights or a mapping", weights=[])
        self.refused("weights has gat, must have only gate, up, down", weights={"gat": 1})
        self.refused("weights.down is None, must be bfloat16 [E_local, H, I] = [4, 64, 32]",
                     weights=self.inputs.weights._replace(down=None))
        self.refused("weights.shared_gate is None, must be bfloat16 [1, S, H]",
                     weights=self.inputs.weights._replace(shared_gate=None))
        self.refused("stream is a str, must be None, a handle, or an object with cuda_stream", stream="main")

        class NoEmpty(Buffer):
            new_empty = property()

        self.refused("out is None and x is a NoEmpty, which cannot make one", "give out",
                     x=NoEmpty(self.inputs.x.shape, "bfloat16"))

        class Broken(Buffer):
            def data_ptr(self):
                raise RuntimeError("it has no storage")

        self.refused("x is a Broken that does not say where its memory is: it has no storage",
                     x=Broken(self.inputs.x.shape, "bfloat16"))

    def test_closed(self):
        kernel = mok.load(ONE.gpu)
        workspace = kernel.workspace()
        workspace.close()
        workspace.close()
        for call in (lambda: workspace.forward(**self.inputs.all()), workspace.check, workspace.input_errors):
            with self.fails(mok.ArgumentError, "the workspace is closed"):
                call()
        kernel.close()
        with self.fails(mok.ArgumentError, "the kernel is closed"):
            kernel.workspace()
        with self.fails(mok.ArgumentError, "kernels is empty"):
            mok.workspaces([])


class Errors(support.Emulated):
    """libmok's texts and codes."""

    def test_loading(self):
        with self.fails(mok.FileError, "/nowhere.mok") as _:
            mok.load("/nowhere.mok")
        with self.fails(mok.DeviceError, "there is no device 3"):
            mok.load(ONE.gpu, 3)
        with self.fails(mok.ArgumentError, "target host"):
            mok.load(ONE.host)
        with self.fails(mok.ArgumentError, "exactly one of path and memory"):
            mok.load()
        with self.fails(mok.FileError, "loading a package in memory"):
            mok.load(memory=b"no package")
        os.environ["EMULATED_SMS"] = "4"
        with self.fails(mok.DeviceError, "has 4 SMs"):
            mok.load(ONE.gpu)
        kinds = (mok.ArgumentError, mok.DeviceError, mok.AbortedError, mok.FileError)
        self.assertEqual([kind.code for kind in kinds], [2, 5, 7, 8])

    def test_log_and_info(self):
        lines = []
        with mok.load(ONE.gpu, log=lines.append) as kernel:
            self.assertRegex("".join(lines), "one: loaded on device 0")
            info = kernel.info
            self.assertEqual((info.ranks, info.tokens_per_rank, info.hidden, info.experts, info.top_k, info.gated),
                             (1, TOKENS, HIDDEN, EXPERTS, TOP_K, 1))
            symmetric, local = kernel.workspace_bytes()
            self.assertEqual(symmetric % (2 << 20), 0)
            self.assertGreaterEqual(local, info.local_bytes)
        self.assertEqual(mok.version().split(".")[:2], ["0", "1"])

    def test_driver_that_fails(self):
        inputs = Inputs(ONE)
        os.environ["EMULATED_FAIL"] = "cuMemCreate:1"
        kernel = mok.load(ONE.gpu)
        with self.fails(mok.DeviceError, "cuMemCreate", "CUDA_ERROR_OUT_OF_MEMORY"):
            kernel.workspace()
        workspace = kernel.workspace()
        os.environ["EMULATED_FAIL"] = "cuLaunchKernelEx:1"
        with self.fails(mok.DeviceError, "cuLaunchKernelEx"):
            workspace.forward(**inputs.all())
        workspace.close()
        kernel.close()

    def test_options(self):
        inputs = Inputs(ONE)
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            most = kernel.info.compute_ctas
            workspace.forward(**inputs.all(), options=mok.LaunchOptions(compute_ctas=most, local_timeout_ms=5))
            with self.fails(mok.ArgumentError, f"{most + 1} compute CTAs"):
                workspace.forward(**inputs.all(), options=mok.LaunchOptions(compute_ctas=most + 1))

    def test_wrong_input_is_found_on_the_device(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(ONE.host, "kernel.host.so")
        inputs = Inputs(ONE)
        ids = bytearray(inputs.ids.bytes())
        ids[4 * 7:4 * 8] = (99).to_bytes(4, "little")
        wrong = Buffer(inputs.ids.shape, "int32", bytes(ids))
        with mok.load(ONE.gpu) as kernel, kernel.workspace() as workspace:
            workspace.forward(**inputs.all(topk_ids=wrong))
            with self.fails(mok.ArgumentError, "rank 0 token 3 slot 1: 99"):
                workspace.check()
            workspace.check()
            workspace.forward(**inputs.all(topk_ids=wrong))
            self.assertEqual(workspace.input_errors(), mok.InputErrors(1, 0, 3, 1, 99, 0, 0))
            self.assertEqual(workspace.input_errors().bad_ids, 0)

    def test_launch_that_gives_up(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(ONE.host, "kernel.host.so")
        os.environ["EMULATED_INJECT"] = "1:0:3"  # rank 0 loses a signal
        inputs = Inputs(ONE)
        with mok.load(ONE.gpu) as kernel:
            with kernel.workspace() as workspace:
                workspace.forward(**inputs.all())
                with self.fails(mok.AbortedError, "rank 0", "expected"):
                    workspace.check()
                with self.fails(mok.AbortedError, "create a new one"):
                    workspace.forward(**inputs.all())
            del os.environ["EMULATED_INJECT"]
            with kernel.workspace() as workspace:
                self.assertEqual(workspace.forward(**inputs.all()).bytes(), inputs.expected)
                workspace.check()


# ---------------------------------------------------------------------------------------------------- protocols

NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.restype, NEW_CAPSULE.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
GONE = set()  # addresses of capsules that were destroyed
DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(GONE.add)
CODES = {"bfloat16": (4, 16), "int32": (0, 32), "float32": (2, 32)}


class Exporter:
    """A tensor that only DLPack can read."""

    def __init__(self, buffer, versioned=True, device=(_dlpack.CUDA, 0), strides=True, flags=0, major=1):
        self.buffer, self.versioned, self.device, self.flags, self.major = buffer, versioned, device, flags, major
        self.streams, self._capsules = [], []
        self._shape = (ctypes.c_int64 * len(buffer.shape))(*buffer.shape)
        self._strides = (ctypes.c_int64 * len(buffer.shape))(*buffer.strides) if strides else None

    def released(self):
        """How many of its capsules are gone."""
        return sum(address in GONE for address in self._capsules)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **arguments):
        if "max_version" in arguments and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(arguments.get("stream", "none"))
        code, bits = CODES[self.buffer.dtype]
        tensor = _dlpack.DLTensor(self.buffer.address - 32, *self.device, len(self.buffer.shape), code, bits, 1, self._shape,
                                  self._strides, 32)
        if self.versioned:
            self._managed = _dlpack.DLManagedTensorVersioned(self.major, 0, None, None, self.flags, tensor)
        else:
            self._managed = _dlpack.DLManagedTensor(tensor)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        capsule = NEW_CAPSULE(ctypes.addressof(self._managed), name, ctypes.cast(DESTRUCTOR, ctypes.c_void_p))
        GONE.discard(id(capsule))
        self._capsules.append(id(capsule))
        return capsule


class Interface:
    """A tensor that only __cuda_array_interface__ can read."""

    def __init__(self, buffer, typestr, read_only=False, **more):
        self.buffer = buffer
        self.__cuda_array_interface__ = {"shape": buffer.shape, "typestr": typestr, "data": (buffer.address, read_only),
                                         "version": 3, **more}


class Protocols(support.Emulated):
    def setUp(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(ONE.host, "kernel.host.so")
        self.inputs = Inputs(ONE)
        self.kernel = mok.load(ONE.gpu)
        self.workspace = self.kernel.workspace()
        self.out = Buffer(self.inputs.x.shape, "bfloat16")

    def tearDown(self):
        self.workspace.close()
        self.kernel.close()
        super().tearDown()

    def run_with(self, wrap, out=None, stream=None):
        given = self.inputs.all()
        tensors = [wrap(given[name]) for name in ("x", "topk_ids", "topk_weights")]
        weights = {name: wrap(buffer) for name, buffer in self.inputs.matrices.items()}
        self.workspace.forward(*tensors, weights, out or wrap(self.out), stream)
        self.assertEqual(self.out.bytes(), self.inputs.expected)
        return tensors

    def test_dlpack(self):
        for versioned in (True, False):
            for strides in (True, False):
                tensors = self.run_with(lambda buffer: Exporter(buffer, versioned, strides=strides), stream=9)
                self.assertEqual([tensor.streams for tensor in tensors], [[9]] * 3)
                self.assertEqual([tensor.released() for tensor in tensors], [0] * 3)
                self.run_with(lambda buffer: buffer)  # the next step lets go
                self.assertEqual([tensor.released() for tensor in tensors], [1] * 3)
        self.assertEqual([tensor.streams for tensor in self.run_with(Exporter)], [[1]] * 3)  # the default stream

    def refused(self, *parts, **replaced):
        with self.fails(mok.ArgumentError, *parts):
            self.workspace.forward(**self.inputs.all(**{"out": self.out, **replaced}))

    def test_dlpack_that_does_not_do(self):
        x = self.inputs.x
        self.refused("x is on cuda:1, must be on cuda:0", x=Exporter(x, device=(_dlpack.CUDA, 1)))
        host = Exporter(x, device=(_dlpack.CPU, 0))
        self.refused("x is on cpu, must be on cuda:0", x=host)
        self.assertEqual(host.streams, ["none"])
        self.refused("x is on DLPack device 10, must be on cuda:0", x=Exporter(x, device=(10, 0)))
        self.refused("out is read-only, must be writable", out=Exporter(self.out, flags=_dlpack.READ_ONLY))
        self.refused("x is a Exporter that cannot be exported: DLPack 2.0 is not known", x=Exporter(x, major=2))
        self.refused("x is int32, must be bfloat16", x=Exporter(Buffer(x.shape, "int32")))

        class Nothing(Exporter):
            def __dlpack__(self, **arguments):
                return None

        self.refused("returned no unused DLPack capsule", x=Nothing(x))

    def test_cuda_array_interface(self):
        codes = {"bfloat16": "<u2", "int32": "<i4", "float32": "<f4"}
        wrap = lambda buffer: Interface(buffer, codes[buffer.dtype])
        self.run_with(wrap)
        with_strides = lambda buffer: Interface(buffer, codes[buffer.dtype],
                                                strides=tuple(n * buffer.size for n in buffer.strides))
        self.run_with(with_strides)
        self.run_with(lambda buffer: Interface(buffer, codes[buffer.dtype], stream=9), stream=9)
        self.run_with(lambda buffer: Interface(buffer, codes[buffer.dtype], stream=1))
        x = self.inputs.x
        self.refused("x is in use on stream 5, but the step is for stream 1: synchronise", x=Interface(x, "<u2", stream=5))
        self.refused("x is float16, must be bfloat16", x=Interface(x, "<f2"))
        self.refused("x is void16, must be bfloat16", x=Interface(x, "<V2"))
        self.refused("x is uint16 of the other byte order, must be", x=Interface(x, ">u2"))
        self.refused("x is a masked array", x=Interface(x, "<u2", mask=x))
        self.refused("out is read-only, must be writable", out=Interface(self.out, "<u2", read_only=True))
        bf16 = Interface(x, "<V2")
        bf16.dtype = "bfloat16"
        self.workspace.forward(**self.inputs.all(x=bf16, out=self.out))
        self.assertEqual(self.out.bytes(), self.inputs.expected)

    def test_streams(self):
        stream = lambda **attributes: type("Stream", (), attributes)()
        for given, handle in ((None, None), (0, None), (5, 5), (stream(cuda_stream=6), 6), (stream(ptr=7), 7),
                              (stream(handle=8), 8), (stream(ptr=0), None),
                              (stream(__cuda_stream__=lambda self: (0, 9)), 9)):
            self.assertEqual(_step.stream_of(given, self.inputs.x), handle)

    def test_new_tensor_by_the_array_standard(self):
        made = []

        class Standard(Exporter):
            def __array_namespace__(self):
                def empty_like(x):
                    made.append(Exporter(Buffer(x.buffer.shape, "bfloat16")))
                    return made[-1]
                return type("Namespace", (), {"empty_like": staticmethod(empty_like)})

        out = self.workspace.forward(**self.inputs.all(x=Standard(self.inputs.x)))
        self.assertIs(out, made[0])
        self.assertEqual(out.buffer.bytes(), self.inputs.expected)


class WhatALayerHas(unittest.TestCase):
    def matrices(self, rank=0, **replaced):
        facts = {"ranks": 4, "hidden": 64, "intermediate": 32, "experts": 3, "top_k": 2, "gated": 1, **replaced}
        info = mok.KernelInfo(**{**dict.fromkeys(mok.KernelInfo._fields, 0), **facts})
        shapes = _step.Layer(info, ("cuda", 0), range(4))._matrices[rank]
        return {name: shape.sizes for name, shape in shapes.items()}

    def test_matrices(self):
        three = {"gate": (1, 32, 64), "up": (1, 32, 64), "down": (1, 64, 32)}
        self.assertEqual(self.matrices(rank=1), three)
        self.assertEqual(self.matrices(rank=0), {})  # fewer experts than ranks
        self.assertEqual(self.matrices(rank=1, gated=0), {"up": (1, 32, 64), "down": (1, 64, 32)})
        self.assertEqual(self.matrices(rank=0, shared_intermediate=16),
                         {"shared_gate": (1, 16, 64), "shared_up": (1, 16, 64), "shared_down": (1, 64, 16)})
        self.assertEqual(self.matrices(rank=0, shared_intermediate=16, gated=0),
                         {"shared_up": (1, 16, 64), "shared_down": (1, 64, 16)})


class FindingTheLibrary(unittest.TestCase):
    def python(self, code, **env):
        env = {**{name: value for name, value in os.environ.items() if name != "MOK_LIBRARY"},
               "PYTHONPATH": os.path.join(support.source, "runtime", "python"), **env}
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)

    def test_places(self):
        show = "import mok; print(mok.version())"
        for env in ({"MOK_LIBRARY": support.libmok}, {"LD_LIBRARY_PATH": os.path.dirname(support.libmok)}):
            done = self.python(show, **env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"^0\.1\.")
        done = self.python(show)
        self.assertIn("libmok is not found", done.stderr)
        self.assertIn("MOK_LIBRARY", done.stderr)
        done = self.python(show, MOK_LIBRARY="/nowhere/libmok.so")
        self.assertIn("FileError: cannot open /nowhere/libmok.so", done.stderr)
        done = self.python(show, MOK_LIBRARY=support.emulated)
        self.assertIn("has no function mok_version", done.stderr)

    def test_end_of_the_process(self):
        """What is open then is closed in order, workspaces before their kernels."""
        code = (f"import atexit, ctypes\ndriver = ctypes.CDLL({support.emulated!r})\n"
                "atexit.register(lambda: print(driver.emulated_live(), 'left'))\n"
                f"import mok\nkernel = mok.load({ONE.gpu!r})\nfirst, second = kernel.workspace(), kernel.workspace()\n"
                "print(driver.emulated_live() > 0)")
        done = self.python(code, MOK_LIBRARY=support.libmok)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n0 left\n", ""))

    def test_no_driver(self):
        """Without a driver, libmok's text; nothing else is imported for it."""
        code = (f"import sys, mok\ntry: mok.load({ONE.gpu!r})\nexcept mok.DeviceError as error: print(error.code, error)\n"
                "print([name for name in ('torch', 'numpy') if name in sys.modules])")
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver here")
        done = self.python(code, MOK_LIBRARY=support.libmok)
        self.assertRegex(done.stdout, r"^5 .*libcuda")
        self.assertIn("[]", done.stdout)


support.main()
