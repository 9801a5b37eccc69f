"""The ctypes structs against the headers, by a compiled C program: names, order, offsets and sizes of members, and constants."""
import ctypes
import os
import re
import subprocess
import unittest

import support
from mok import _errors, _kernel, _step, _structs, host

HEADERS = ("runtime/include/mok.h", "templates/mok_args.h", "templates/host/mok_host.h")
# Last members that the package does not use; libmok takes structs without them.
LATER = {}


def text_of(header):
    with open(os.path.join(support.source, header), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.DOTALL)


def members(body):
    """Names of a struct's members, in order."""
    for declaration in body.split(";"):
        for part in declaration.split(","):
            match = re.search(r"(\w+)\s*(?:\[\w+\]\s*)*$", part.strip())
            if match:
                yield match.group(1)


TEXTS = [text_of(header) for header in HEADERS]
STRUCTS = {match.group(1): list(members(match.group(2)))
           for text in TEXTS for match in re.finditer(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL)}
OURS = {name: struct for module in (_structs, host) for name, struct in vars(module).items()
        if isinstance(struct, type) and issubclass(struct, ctypes.Structure) and name.startswith("mok_")}
CONSTANTS = {"MOK_VERSION_MAJOR": _structs.VERSION[0], "MOK_VERSION_MINOR": _structs.VERSION[1],
             "MOK_STATUS_ARGUMENT": _errors.ArgumentError.code, "MOK_STATUS_DEVICE": _errors.DeviceError.code,
             "MOK_STATUS_ABORTED": _errors.AbortedError.code, "MOK_STATUS_FILE": _errors.FileError.code,
             "MOK_ARGS_ABI": host.ARGS_ABI, "MOK_MAX_RANKS": host.MAX_RANKS, "MOK_MAX_MAPS": host.MAX_MAPS,
             "MOK_PHASE_ALL": host.PHASE_ALL, "MOK_LINE_WORDS * 4": host.LINE_BYTES,
             "MOK_LINE_INPUT_ERROR": host.LINE_INPUT_ERROR,
             "MOK_INPUT_BAD_IDS": host.INPUT_BAD_IDS, "MOK_INPUT_ROUTE": host.INPUT_ROUTE, "MOK_INPUT_ID": host.INPUT_ID,
             "MOK_INPUT_BAD_TOKENS": host.INPUT_BAD_TOKENS, "MOK_INPUT_TOKENS": host.INPUT_TOKENS,
             "MOK_HOST_ABI": host.HOST_ABI, "MOK_HOST_RACES": host.RACES, "MOK_HOST_OK": host.OK,
             "MOK_HOST_DEADLOCK": host.DEADLOCK, "MOK_HOST_BAD_LAUNCH": host.BAD_LAUNCH, "MOK_HOST_FAULT": host.FAULT,
             "MOK_HOST_FINDING": host.FINDING, "MOK_HOST_ABORTED": host.ABORTED, "MOK_HOST_NO_MEMORY": host.NO_MEMORY}


def compiled():
    """{struct: size}, {(struct, member): (offset, size)} and {constant: value} as the C compiler has them."""
    lines = ["#include <stdio.h>", "#include <stddef.h>"]
    lines += [f'#include "{os.path.join(support.source, header)}"' for header in HEADERS]
    lines += ["int main(void) {"]
    for name in OURS:
        lines.append(f'  printf("{name} . 0 %zu\\n", sizeof({name}));')
        for member in STRUCTS[name]:
            lines.append(f'  printf("{name} {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));')
    lines += [f'  printf("= %lld 0 0\\n", (long long)({name}));' for name in CONSTANTS] + ["}"]
    program = os.path.join(support.folder.name, "layout")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    subprocess.run([support.compiler, "-o", program, program + ".c"], check=True)
    rows = [line.split() for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()]
    sizes = {row[0]: int(row[3]) for row in rows if row[1] == "."}
    places = {(row[0], row[1]): (int(row[2]), int(row[3])) for row in rows if row[0] != "=" and row[1] != "."}
    return sizes, places, dict(zip(CONSTANTS, (int(row[1]) for row in rows if row[0] == "=")))


class Header(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sizes, cls.places, cls.constants = compiled()

    def test_all_structs_are_there(self):
        others = ("mok_weights", "mok_args", "mok_rank_args")
        declared = {name for name in STRUCTS if "struct_size" in STRUCTS[name] or name in others}
        self.assertGreaterEqual(len(declared), 9)
        self.assertEqual(declared - set(OURS), set(), "the headers have structs that the package lacks")

    def test_members(self):
        for name, struct in OURS.items():
            with self.subTest(struct=name):
                ours, theirs = [field[0] for field in struct._fields_], STRUCTS[name]
                later = [member for member in LATER.get(name, []) if member in theirs and member not in ours]
                self.assertEqual(ours + later, theirs)
                for member in ours:
                    field = getattr(struct, member)
                    self.assertEqual((field.offset, field.size), self.places[name, member], member)
                if not later:
                    self.assertEqual(ctypes.sizeof(struct), self.sizes[name])

    def test_constants(self):
        self.assertEqual(CONSTANTS, self.constants)

    def test_functions(self):
        declared = {name: arguments for name, arguments in
                    re.findall(r"^(?:const char \*|int |void |mok_status )(mok_\w+)\(([^;]*)\);", TEXTS[0], re.MULTILINE)}
        for name, (_, arguments) in _structs.FUNCTIONS.items():
            with self.subTest(function=name):
                self.assertIn(name, declared)
                theirs = declared[name]
                self.assertEqual(len(arguments), 0 if theirs == "void" else theirs.count(",") + 1)

    def test_tuples_have_the_names_of_structs(self):
        for ours, struct in ((_step.KernelInfo, _structs.mok_kernel_info), (_kernel.InputErrors, _structs.mok_input_errors),
                             (_kernel.LaunchOptions, _structs.mok_launch_options)):
            self.assertEqual(["struct_size", *ours._fields], [field[0] for field in struct._fields_])
        self.assertEqual([name for name, kind in _structs.mok_forward_args._fields_ if kind is _structs.mok_weights],
                         list(_step.Weights._fields))


support.main()
