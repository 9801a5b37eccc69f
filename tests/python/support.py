"""What the tests of the Python package share. Each is called as

    test_NAME.py SOURCE MOKGEN LIBMOK EMULATED_LIBCUDA C_COMPILER [arguments of unittest]
"""
import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

source, tool, libmok, emulated, compiler = sys.argv[1:6]
sys.path.insert(0, os.path.join(source, "runtime", "python"))
os.environ["MOK_LIBRARY"] = libmok
for name in [name for name in os.environ if name.startswith("EMULATED_")]:
    del os.environ[name]

TOKENS, HIDDEN, INTERMEDIATE, EXPERTS, TOP_K = 24, 64, 32, 4, 2
DESCRIPTION = """
model {{ name = "{name}", hidden = 64, intermediate = 32, experts = 4, top_k = 2, shared_experts = {shared} }}
topology {{ gpu = {{ base = "H200", sms = 8 }}, gpus = {ranks} }}
workload {{ tokens_per_gpu = 24 }}
"""
MATRICES = ("gate", "up", "down", "shared_gate", "shared_up", "shared_down")

folder = tempfile.TemporaryDirectory()
os.environ.setdefault("MOKGEN_CACHE_DIR", os.path.join(folder.name, "cache"))


def skip_without(*modules):
    """Ends the test program with exit code 77 where a module is missing."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            print(f"skipped: {sys.executable} has no {module}")
            sys.exit(77)


def mokgen(*words):
    subprocess.run([tool, *words], check=True, stdout=subprocess.DEVNULL)


class Case:
    """A layer as packages for a GPU and for the host target, and what `mokgen run` on the host target makes of
    random input."""

    def __init__(self, name, ranks=1, shared=1, gpu=True, host=True):
        path = lambda *parts: os.path.join(folder.name, *parts)
        self.ranks, self.model = ranks, path(f"{name}.lua")
        self.gpu, self.host, self.dump = path(f"{name}.mok"), path(f"{name}-host.mok"), path(f"{name}-dump")
        with open(self.model, "w", encoding="utf-8") as file:
            file.write(DESCRIPTION.format(name=name, ranks=ranks, shared=shared))
        if gpu:
            mokgen("build", "-q", "--target", "sm_90a", self.model, "-o", self.gpu)
        if host:
            mokgen("build", "-q", "--target", "host", self.model, "-o", self.host)
            mokgen("run", "-q", "--target", "host", self.model, "--dump", self.dump)

    def bytes_of(self, name):
        """The data of an array of the dump."""
        with open(os.path.join(self.dump, name + ".npy"), "rb") as file:
            data = file.read()
        return data[10 + int.from_bytes(data[8:10], "little"):]


class Buffer:
    """A tensor that tells what it is as PyTorch's do."""

    def __init__(self, shape, dtype, data=None, device="cuda:0"):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.size = {"bfloat16": 2, "int32": 4, "float32": 4, "int64": 8, "float16": 2}[dtype]
        count = 1
        for n in self.shape:
            count *= n
        self.strides = []
        for n in reversed(self.shape):
            self.strides.insert(0, self.strides[0] * self.shape[len(self.shape) - len(self.strides)] if self.strides else 1)
        self.nbytes = count * self.size
        self._memory = ctypes.create_string_buffer(self.nbytes + 128)
        self.address = (ctypes.addressof(self._memory) + 63) // 64 * 64
        if data is not None:
            assert len(data) == self.nbytes, (len(data), self.nbytes)
            ctypes.memmove(self.address, data, len(data))

    def bytes(self):
        return ctypes.string_at(self.address, self.nbytes)

    def data_ptr(self):
        return self.address

    def stride(self):
        return tuple(self.strides)

    def new_empty(self, shape):
        return Buffer(shape, self.dtype, device=self.device)


def matrix_shapes(experts):
    up, down = (experts, INTERMEDIATE, HIDDEN), (experts, HIDDEN, INTERMEDIATE)
    return dict(zip(MATRICES, (up, up, down, (1,) + up[1:], (1,) + up[1:], (1,) + down[1:])))


class Emulated(unittest.TestCase):
    """On the emulated driver. Each test leaves nothing in it."""

    @classmethod
    def setUpClass(cls):
        cls.driver = ctypes.CDLL(emulated)  # found by its name from now on

    def tearDown(self):
        gc.collect()
        for name in [name for name in os.environ if name.startswith("EMULATED_")]:
            del os.environ[name]
        self.assertEqual(self.driver.emulated_live(), 0, "objects of the driver are left")

    def fails(self, kind, *parts):
        """Expects an exception of exactly this kind whose text has all parts."""
        return _Fails(self, kind, parts)


class _Fails:
    def __init__(self, case, kind, parts):
        self.case, self.kind, self.parts = case, kind, parts

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        self.case.assertIs(kind, self.kind, f"{error!r} instead of {self.kind.__name__} with {self.parts}")
        for part in self.parts:
            self.case.assertIn(part, str(error))
        return True


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
