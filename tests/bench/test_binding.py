#!/usr/bin/env python3
"""mok.py on the emulated driver: the same bits as `mokgen run` on the host target, and errors as exceptions.

    test_binding.py MOKGEN LIBMOK EMULATED_LIBCUDA MODEL.lua
"""
import ctypes
import os
import subprocess
import sys
import tempfile

import mok

tool, library_path, emulated, model = sys.argv[1:]


def array(path):
    """Bytes of a .npy file, at an address that is a multiple of 64."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:6] == b"\x93NUMPY", path
    data = data[10 + int.from_bytes(data[8:10], "little"):]
    memory = ctypes.create_string_buffer(len(data) + 64)
    address = (ctypes.addressof(memory) + 63) // 64 * 64
    ctypes.memmove(address, data, len(data))
    return memory, address, data


with tempfile.TemporaryDirectory() as folder:
    run = lambda *words: subprocess.run([tool, *words], check=True, stdout=subprocess.DEVNULL)
    dump, package, host = (os.path.join(folder, name) for name in ("dump", "layer.mok", "host.mok"))
    run("run", "-q", "--target", "host", model, "--dump", dump)
    run("build", "-q", "--target", "host", model, "-o", host)
    run("build", "-q", "--target", "sm_90a", model, "-o", package)
    os.environ["EMULATED_KERNEL"] = os.path.join(host, "kernel.host.so")
    driver = ctypes.CDLL(emulated)  # found by its name from now on

    library = mok.Library(library_path)
    kernel = library.load(package)
    info, [workspace] = kernel.info, library.create([kernel])
    with open(os.path.join(package, "manifest.txt")) as lines:
        assert f"cluster {info.cluster}\n" in lines, info.cluster
    names = [name[:-4] for name in os.listdir(dump) if name.endswith(".npy")]
    arrays = {name: array(os.path.join(dump, name + ".npy")) for name in names}
    at = {name: address for name, (_, address, _) in arrays.items()}
    expected = arrays["out_0"][2]
    out = ctypes.create_string_buffer(len(expected) + 64)
    out_at = (ctypes.addressof(out) + 63) // 64 * 64
    matrices = ("gate", "up", "down", "shared_gate", "shared_up", "shared_down")
    weights = {name: mok.Weights(base=at[name]) for name in matrices}
    tokens = len(expected) // (2 * info.hidden)
    assert tokens > 0
    args = mok.forward_args([mok.ForwardArgs(x=at["x_0"], topk_ids=at["topk_ids_0"], topk_weights=at["topk_weights_0"],
                                             out=out_at, tokens=tokens, **weights)])
    workspace.forward(args)
    workspace.check()
    assert ctypes.string_at(out_at, len(expected)) == expected, "other bits than mokgen run on the host"

    args[0].tokens = info.tokens_per_rank + 1
    try:
        workspace.forward(args)
        sys.exit("a token count above the capacity is no error")
    except mok.Error as error:
        assert error.code == 2 and f"{info.tokens_per_rank + 1} tokens" in str(error), error
    workspace.destroy()
    kernel.unload()
    assert driver.emulated_live() == 0
print(f"{tokens} tokens through libmok {library.version()}: the bits of the host target")
