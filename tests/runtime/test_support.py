# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compiler wrappers, archives, temporary folders."""

import ctypes
import os
import tarfile

import pytest

import tvm
from tvm.support import cc, tar, utils


def _source(folder, name="a", body="int answer() { return 42; }"):
    path = folder.relpath(f"{name}.cc")
    with open(path, "w") as out:
        out.write(f'extern "C" {body}\n')
    return path


def test_create_shared():
    with utils.tempdir() as folder:
        library = folder.relpath("lib.so")
        cc.create_shared(library, [_source(folder)])
        assert ctypes.CDLL(library).answer() == 42
        assert cc.get_global_symbol_section_map(library)["answer"] == "T"


def test_compile_error_shows_output_and_command():
    with utils.tempdir() as folder:
        source = _source(folder, body="int broken(")
        with pytest.raises(RuntimeError, match="Compilation error:\n") as info:
            cc.create_shared(folder.relpath("x.so"), [source])
        assert "Command line:" in str(info.value) and source in str(info.value)


def test_executable_and_static_library():
    with utils.tempdir() as folder:
        program = folder.relpath("prog")
        cc.create_executable(program, [_source(folder, body="int main() { return 3; }")])
        assert os.waitstatus_to_exitcode(os.system(program)) == 3
        source = _source(folder, "b")
        obj = folder.relpath("b.o")
        cc._run([cc.get_cc(), "-c", source, "-o", obj], None, None, "Compilation error")
        archive = folder.relpath("b.tar")
        tar.tar(archive, [obj])
        cc.create_staticlib(folder.relpath("b.a"), [archive])
        assert os.path.getsize(folder.relpath("b.a")) > 0


def test_cross_compiler_does_not_grow():
    calls = []

    def link(output, objects, options=None):
        calls.append((output, list(objects), list(options)))

    compiler = cc.cross_compiler(link, options=["-a"], output_format="x", add_files=["f.o"])
    assert compiler.output_format == "x"
    compiler("o", ["1.o"], options=["-b"])
    compiler("o", ["1.o"], options=["-b"])
    assert calls == [("o", ["1.o", "f.o"], ["-a", "-b"])] * 2


def test_tar_refuses_paths_outside(tmp_path):
    evil = tmp_path / "evil.tar"
    (tmp_path / "x").write_text("x")
    with tarfile.open(evil, "w") as archive:
        archive.add(tmp_path / "x", arcname="../outside")
    with pytest.raises(ValueError, match="refusing member"):
        tar.untar(evil, tmp_path / "out")
    with pytest.raises(ValueError, match="duplicate"):
        tar.tar(tmp_path / "d.tar", ["a/x", "b/x"])


@pytest.mark.parametrize("tenth", range(10))
def test_archives_that_are_cut_short(tmp_path, tenth):
    (tmp_path / "x").write_bytes(os.urandom(20_000))
    whole, part = tmp_path / "whole.tar", tmp_path / "part.tar"
    tar.tar(whole, [tmp_path / "x"])
    data = whole.read_bytes()
    part.write_bytes(data[: 20_000 * tenth // 10])  # what follows is padding
    with pytest.raises(ValueError, match="part.tar: expected a tar archive"):
        tar.untar(part, tmp_path / "out")
    part.write_bytes(data)
    tar.untar(part, tmp_path / "out")
    assert (tmp_path / "out" / "x").read_bytes() == (tmp_path / "x").read_bytes()


def test_archives_that_are_none(tmp_path):
    path = tmp_path / "x.tar"
    for content in (
        os.urandom(3000),
        b"",
        bytes(100),
        b"\x1f\x8b" + bytes(200),
        b"BZh9" + bytes(99),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="x.tar: expected a tar archive"):
            tvm.runtime.load_module(path)


def test_tempdir():
    with utils.tempdir() as folder:
        path = folder.temp_dir
        (folder / "f").write_text("x")
        assert folder.listdir() == ["f"] and os.path.isdir(path)
    assert not os.path.exists(path)
    folder = utils.tempdir()
    path = folder.temp_dir
    del folder
    assert not os.path.exists(path)
    with utils.TempDirectory.set_keep_for_debug():
        kept = utils.tempdir()
    kept.remove()
    assert os.path.isdir(kept.temp_dir)
    os.rmdir(kept.temp_dir)


def test_filelock(tmp_path):
    with utils.filelock(tmp_path / "lock") as lock:
        lock.release()
        lock.release()


def test_libinfo():
    assert isinstance(tvm.support.libinfo(), dict)
