#!/usr/bin/env python3
"""Compares what the README shows with what the tool prints.

    readme.py MOKGEN SOURCE_FOLDER [--update]

Text between a line '<!-- output of: COMMAND -->' and the next '<!-- end -->' must be what COMMAND prints, run in the source folder;
inside a ``` block if it starts with one. --update rewrites it.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

tool, source = os.path.abspath(sys.argv[1]), sys.argv[2]
update = sys.argv[3:] == ["--update"]
path = os.path.join(source, "README.md")
text = open(path, encoding="utf-8").read()
sections = 0


def output_of(command):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(tool, os.path.join(folder, "mokgen"))
        env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], LC_ALL="C", MOKGEN_CACHE_DIR=folder)
        done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=source, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 141):  # 141: `| head` closed the pipe
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def replace(match):
    global sections
    sections += 1
    begin, body, end = match.group(1), match.group(3), match.group(4)
    now = output_of(match.group(2))
    fenced = body.startswith("```")
    return begin + ("```\n" + now + "```\n" if fenced else now) + end


fresh = re.sub(r"(<!-- output of: (.*?) -->\n)(.*?)(<!-- end -->\n)", replace, text, flags=re.DOTALL)
if sections == 0:
    sys.exit("README.md has no section to compare")
if fresh == text:
    print(f"{sections} sections of README.md are what the tool prints")
elif update:
    with open(path, "w", encoding="utf-8") as file:
        file.write(fresh)
    print("updated README.md")
else:
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), fresh.splitlines(True), "README.md", "README.md, now"))
    sys.exit("README.md shows what the tool does not print; if that is meant: cmake --build BUILD -t update-golden")
