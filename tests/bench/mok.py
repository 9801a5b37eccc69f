"""libmok through ctypes, for measurements: no PyTorch needed, addresses are plain integers.

    library = mok.Library("libmok.so")
    kernels = [library.load("layer.mok", device) for device in devices]
    workspaces = library.create(kernels)
    workspaces[0].forward([arguments of a rank], stream)
    workspaces[0].check()

What fails raises mok.Error with libmok's text. Structs are those of mok.h, version 0.1.
"""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p


class Error(RuntimeError):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Struct(ctypes.Structure):
    """Knows its size, as the library asks."""

    def __init__(self, *values, **fields):
        super().__init__(*values, **fields)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)


class LoadArgs(Struct):
    _fields_ = [("struct_size", c_size_t), ("path", c_char_p), ("memory", c_void_p), ("memory_size", c_size_t), ("device", c_int),
                ("log", c_void_p), ("log_user", c_void_p)]


class Info(Struct):
    _fields_ = [("struct_size", c_size_t), ("ranks", c_int), ("tokens_per_rank", c_int), ("hidden", c_int),
                ("intermediate", c_int), ("shared_intermediate", c_int), ("experts", c_int), ("top_k", c_int), ("gated", c_int),
                ("comm_ctas", c_int), ("compute_ctas", c_int), ("symmetric_bytes", c_int64), ("local_bytes", c_int64),
                ("cluster", c_int)]


class Group(Struct):
    _fields_ = [("struct_size", c_size_t), ("kernels", POINTER(c_void_p)), ("kernel_count", c_int)]


class Weights(Struct):
    _fields_ = [("base", c_void_p), ("expert_stride", c_int64), ("row_stride", c_int64)]


class ForwardArgs(Struct):
    _fields_ = [("struct_size", c_size_t), ("x", c_void_p), ("topk_ids", c_void_p), ("topk_weights", c_void_p), ("out", c_void_p),
                ("gate", Weights), ("up", Weights), ("down", Weights), ("shared_gate", Weights), ("shared_up", Weights),
                ("shared_down", Weights), ("tokens", c_int32), ("tokens_dev", c_void_p)]


class LaunchOptions(Struct):
    _fields_ = [("struct_size", c_size_t), ("comm_ctas", c_int), ("compute_ctas", c_int), ("local_timeout_ms", c_uint32),
                ("peer_timeout_ms", c_uint32)]


class Library:
    def __init__(self, path):
        c = self.c = ctypes.CDLL(path)
        for name, result, arguments in [
            ("mok_version", c_char_p, []),
            ("mok_status_exit_code", c_int, [c_void_p]),
            ("mok_status_text", c_char_p, [c_void_p]),
            ("mok_status_free", None, [c_void_p]),
            ("mok_kernel_load", c_void_p, [POINTER(LoadArgs), POINTER(c_void_p)]),
            ("mok_kernel_unload", None, [c_void_p]),
            ("mok_kernel_query", c_void_p, [c_void_p, POINTER(Info)]),
            ("mok_workspace_create", c_void_p, [POINTER(Group), POINTER(c_void_p)]),
            ("mok_workspace_destroy", None, [c_void_p]),
            ("mok_forward", c_void_p, [c_void_p, c_void_p, POINTER(LaunchOptions), c_void_p]),
            ("mok_check", c_void_p, [c_void_p, c_void_p]),
        ]:
            function = getattr(c, name)
            function.restype, function.argtypes = result, arguments

    def version(self):
        return self.c.mok_version().decode()

    def ok(self, status):
        if status:
            code, text = self.c.mok_status_exit_code(status), self.c.mok_status_text(status).decode()
            self.c.mok_status_free(status)
            raise Error(code, text)

    def load(self, path, device=0):
        return Kernel(self, path, device)

    def create(self, kernels):
        """One workspace for each kernel: each has a rank, or a single one all of them."""
        handles = (c_void_p * len(kernels))(*[k.handle for k in kernels])
        out = (c_void_p * len(kernels))()
        group = Group(kernels=handles, kernel_count=len(kernels))
        self.ok(self.c.mok_workspace_create(byref(group), out))
        return [Workspace(self, h) for h in out]


class Kernel:
    def __init__(self, library, path, device):
        self.library, self.handle, self.info = library, c_void_p(), Info()
        library.ok(library.c.mok_kernel_load(byref(LoadArgs(path=path.encode(), device=device)), byref(self.handle)))
        library.ok(library.c.mok_kernel_query(self.handle, byref(self.info)))

    def unload(self):
        self.library.c.mok_kernel_unload(self.handle)
        self.handle = None


class Workspace:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def forward(self, args, stream=None, options=None):
        """args: an array of ForwardArgs, one for each rank of the workspace, as forward_args() makes it."""
        self.library.ok(self.library.c.mok_forward(self.handle, args, byref(options) if options else None, stream))

    def check(self):
        self.library.ok(self.library.c.mok_check(self.handle, None))

    def destroy(self):
        self.library.c.mok_workspace_destroy(self.handle)
        self.handle = None


def forward_args(ranks):
    """The array that Workspace.forward takes; keep it as long as it is used."""
    return (ForwardArgs * len(ranks))(*ranks)
