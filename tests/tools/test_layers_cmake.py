# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``cmake/Layers.cmake`` takes the .cc files of a layer and refuses other languages."""

import shutil
import subprocess

import pytest

PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(layers LANGUAGES CXX)
include("{root}/cmake/Layers.cmake")
add_library(tvm_ffi_header INTERFACE)
tvm_add_layer(low EXCLUDE "/apart/")
get_target_property(sources tvm_low_objs SOURCES)
message(STATUS "found ${{sources}}")
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_files_of_a_layer(root, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=root.as_posix()))
    folder = tmp_path / "src" / "low"
    (folder / "apart").mkdir(parents=True)
    for name in ("a.cc", "b.h", "a_test.cc", "a_fuzz.cc", "apart/c.c", "apart/d.cc"):
        (folder / name).write_text("")

    def configure():
        command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
        return subprocess.run(command, capture_output=True, text=True)

    done = configure()
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "found" in line)
    assert [part.rpartition("/")[2] for part in line.split(";")] == ["a.cc"]
    for name in ("stray.c", "stray.cpp"):
        (folder / name).write_text("")
        done = configure()
        assert done.returncode != 0 and "expected .cc files only" in done.stderr
        assert name in done.stderr
        (folder / name).unlink()
