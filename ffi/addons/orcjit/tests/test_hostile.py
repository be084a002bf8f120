# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Input that must be refused with a message, and odd input that must work."""

import gc
import os
import random
import shutil
import stat
import struct
import subprocess
from pathlib import Path

import pytest

import tvm_ffi

EM_AARCH64, EM_386, E_MACHINE, EI_CLASS = 183, 3, 18, 4
SHT_RELA = 4


def patched(data: bytes, *changes: tuple[int, int]) -> bytes:
    out = bytearray(data)
    for at, value in changes:
        out[at] = value
    return bytes(out)


@pytest.fixture
def data(compile_object):
    """Content of a good object."""
    return Path(compile_object("functions.c")).read_bytes()


def test_what_is_no_object(session, data, tmp_path):
    for bad, message in (
        (b"", "it is empty"),
        (b"garbage", "no object file"),
        (b"!<arch>\n", "an archive; extract its members"),
        (b"BC\xc0\xde" + bytes(60), "LLVM bitcode"),
        (data[:10], "no object file|cut off"),
        (data[:40], "cut off"),
        (patched(data, (16, 3)), "a shared library; load it with tvm_ffi.load_module"),
        (patched(data, (16, 2)), "a program"),
        (patched(data, (E_MACHINE, EM_AARCH64)), "for AArch64, expected x86-64"),
        (patched(data, (E_MACHINE, EM_386), (EI_CLASS, 1)), "for x86, expected x86-64"),
    ):
        with pytest.raises(RuntimeError, match=f"cannot load object `<bytes>`: .*(?:{message})"):
            session.load_module(bad)
    path = tmp_path / "bad.o"
    path.write_bytes(b"garbage")
    with pytest.raises(RuntimeError, match="bad.o`: it is no object file"):
        session.load_module(path)
    with pytest.raises(RuntimeError, match=f"cannot read object file `{tmp_path}`"):
        session.load_module(tmp_path)


def test_truncated(session, data):
    for size in range(0, len(data), 37):
        with pytest.raises(RuntimeError, match="cannot load object"):
            session.load_module(data[:size])
    assert session.load_module(data).add(1, 2) == 3


def test_relocation_against_no_symbol(session, data):
    """The linker would look it up for its message; what does nothing needs none."""
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    (count,) = struct.unpack_from("<H", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + 64 * i) for i in range(count)]
    first = next(header[4] for header in headers if header[1] == SHT_RELA)
    (where,) = struct.unpack_from("<Q", data, first)
    bad = patched(data, *((first + 12 + i, 0) for i in range(4)))
    with pytest.raises(RuntimeError, match=f"relocation at {where} against no symbol"):
        session.load_module(bad)
    session.load_module(patched(bad, *((first + 8 + i, 0) for i in range(4))))


def test_damaged(run_python, compile_object):
    """Whatever a file says about itself, linking it ends in a library or an error."""
    code = """if True:
        import random, sys, tvm_ffi, tvm_ffi_orcjit
        session = tvm_ffi_orcjit.ExecutionSession()
        outcomes = {"loaded": 0, "refused": 0}
        for path in sys.argv[2:]:
            good = open(path, "rb").read()
            chance = random.Random(int(sys.argv[1]))
            for _ in range(700):
                bad = bytearray(good)
                for _ in range(chance.choice((1, 1, 2, 8))):
                    value = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
                    bad[chance.randrange(len(bad))] = value
                try:
                    session.load_module(bytes(bad))
                    outcomes["loaded"] += 1
                except RuntimeError:
                    outcomes["refused"] += 1
        print(min(outcomes.values()) > 50)
    """
    seed = os.environ.get("ORCJIT_TEST_SEED", str(random.randrange(1 << 30)))
    paths = [compile_object(name) for name in ("functions.c", "base.c", "caller.c")]
    done = run_python(code, seed, *paths[:2])
    assert (done.returncode, done.stdout) == (0, "True\n"), f"seed {seed}: {done.stderr}"


def test_missing_symbols_are_named(session, compile_object):
    with pytest.raises(RuntimeError) as error:
        session.load_module(compile_object("caller.c"), name="lonely")
    assert str(error.value) == (
        "cannot link JIT library `lonely`: undefined symbols: orcjit_test_base, orcjit_test_value"
    )
    flags = ("-x", "c++", "-Dorcjit_test_base=cxx_base")
    with pytest.raises(RuntimeError, match=r"_Z8cxx_basel \(cxx_base\(long\)\)"):
        session.load_module(compile_object("caller.c", *flags))


def test_duplicate_definitions(session, compile_object):
    path = compile_object("functions.c")
    with pytest.raises(RuntimeError, match="duplicate definition of symbol '__tvm_ffi_"):
        session.load_module([path, compile_object("functions.c", "-DOFFSET=1")])
    # Inline functions come with every object that uses them.
    objects = [compile_object("exceptions.cc"), compile_object("bad_constructor.cc")]
    with pytest.raises(ValueError, match="constructor failed"):
        session.load_module(objects)
    assert session.load_module(path).add(1, 2) == 3


def test_any_order_of_unloading(orcjit, compile_object):
    path = compile_object("lifecycle.cc")
    chance = random.Random(7)
    for _ in range(5):
        sessions = [orcjit.ExecutionSession() for _ in range(2)]
        held = [s.load_module(path) for s in sessions for _ in range(3)]
        held += [module.touch for module in held] + sessions
        del sessions
        chance.shuffle(held)
        while held:
            held.pop()
            gc.collect()


def test_thread_local_variables_that_objects_may_share(session, compile_object, compiler):
    path = compile_object("hidden_inline.cc", compiler=compiler)
    assert session.load_module(path).next() == 8
    flags = ("-fvisibility=hidden", "-DHIDDEN_INLINE")
    path = compile_object("hidden_inline.cc", *flags, compiler=compiler)
    try:
        assert session.load_module(path).next() == 8  # gcc
    except RuntimeError as error:
        assert "hidden but may be defined by several objects" in str(error)


class TestSurroundings:
    """What objects get besides their own symbols."""

    def test_imports_through_the_library_context(self, session, compile_object):
        module = session.load_module(compile_object("context.c"))
        module.import_module(session.load_module(compile_object("functions.c")))
        assert module.call_imported(5, 6) == 11
        call = module.call_imported
        del module
        gc.collect()
        assert call(1, 1) == 2

    def test_modules_inside_the_object(self, session, compile_object):
        loaded = []

        def load(data):
            loaded.append(bytes(data))
            return session.load_module(compile_object("functions.c"))

        tvm_ffi.register_global_func("ffi.Module.load_from_bytes.orcjit_test", load)
        module = session.load_module(compile_object("context.c", "-DWITH_MODULES"))
        assert loaded == [b"body"]
        assert module.get_function("add", query_imports=True)(2, 3) == 5
        assert module.call_imported(2, 3) == 5
        with pytest.raises(ValueError, match="library_bin of library is damaged"):
            session.load_module(compile_object("context.c", "-DWITH_MODULES", "-DDAMAGED"))

    def test_functions_below_a_root_keep_what_they_call(self, session, compile_object):
        """The root of the tree is another module, which imports the library."""
        roots = []

        def load(data):
            root = session.load_module(compile_object("functions.c", "-DOFFSET=10"))
            root.import_module(session.load_module(compile_object("functions.c", "-DOFFSET=20")))
            roots.append(root)
            return root

        tvm_ffi.register_global_func("ffi.Module.load_from_bytes.orcjit_root", load)
        root = session.load_module(compile_object("context.c", "-DWITH_MODULES", "-DBELOW"))
        assert root.same_as(roots.pop()) and root.add(0, 0) == 10
        library = root.imports[1]
        assert library.implements_function("call_imported")
        call = library.call_imported
        del root, library
        gc.collect()
        assert call(1, 2) == 23 and call(3, 4) == 27
        library = session.load_module(compile_object("context.c", "-DWITH_MODULES", "-DBELOW"))
        library = library.imports[1]  # its root goes
        roots.clear()
        gc.collect()
        with pytest.raises(RuntimeError, match="Cannot find function `add`"):
            library.call_imported(1, 2)

    @pytest.fixture
    def fake_compiler(self, tmp_path, compile_object):
        """A compiler whose C++ library has something new, and an archive with more."""
        for name, flags in (("libstdc++.so.6", ["-shared"]), ("extra.o", ["-c"])):
            source = "base.c"
            rename = (
                "-Dorcjit_test_base=unused" if name.endswith("6") else "-Dorcjit_test_value=other"
            )
            command = ["gcc", "-fPIC", *flags, rename, "-o", str(tmp_path / name)]
            subprocess.run([*command, str(Path(__file__).parent / "sources" / source)], check=True)
        subprocess.run(["ar", "rcs", "libstdc++_nonshared.a", "extra.o"], cwd=tmp_path, check=True)
        script = tmp_path / "fake c++"
        script.write_text(f'#!/bin/sh\necho "{tmp_path}/${{1#-print-file-name=}}"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return f"'{script}'"

    @pytest.mark.skipif(not shutil.which("ar") or not shutil.which("gcc"), reason="needs gcc, ar")
    def test_library_of_the_compiler(self, session, compile_object, fake_compiler, monkeypatch):
        path = compile_object("caller.c")
        assert session.load_module(path, cxx=fake_compiler).call_base(2) == 1004
        with pytest.raises(RuntimeError, match="undefined symbols: orcjit_test_base"):
            session.load_module(path)
        with pytest.raises(RuntimeError, match="undefined symbols: orcjit_test_base"):
            session.load_module(path, cxx="no-such-compiler")
        monkeypatch.setenv("CXX", fake_compiler)
        assert session.load_module(path).call_base(3) == 1006

    def test_an_orc_runtime(self, orcjit, compile_object):
        found = subprocess.run(
            ["clang-22", "-print-file-name=lib/linux/liborc_rt-x86_64.a"],
            capture_output=True, text=True, check=False,
        ) if shutil.which("clang-22") else None  # fmt: skip
        if found is None or not os.path.isfile(found.stdout.strip()):
            pytest.skip("no ORC runtime found (Debian: libclang-rt-22-dev)")
        path = found.stdout.strip()
        for runtime in (path, Path(path), Path(path).read_bytes()):
            session = orcjit.ExecutionSession(orc_rt=runtime)
            module = session.load_module(compile_object("functions.c"))
            assert [module.count(), module.count(), module.add(1, 2)] == [1, 2, 3]
            with pytest.raises(RuntimeError, match="orcjit_test_base"):
                session.load_module(compile_object("caller.c"))
        exceptions = session.load_module(compile_object("exceptions.cc"))
        assert exceptions.catch_own(3) == 407

    @pytest.mark.parametrize(
        "triple, named",
        [
            ("aarch64-unknown-linux-gnu", "aarch64, linux"),
            ("x86_64-apple-macosx", "x86_64, macosx"),
        ],
    )
    def test_machines_that_need_an_orc_runtime(self, orcjit, triple, named):
        require = tvm_ffi.get_global_func("tvm_ffi_orcjit._RequireOwnSupport")
        require("x86_64-unknown-linux-gnu")
        with pytest.raises(RuntimeError, match=f"{triple} .{named}. need an ORC runtime.*orc_rt"):
            require(triple)

    def test_bad_runtimes(self, orcjit):
        with pytest.raises(RuntimeError, match="cannot read ORC runtime `/no/such/file`"):
            orcjit.ExecutionSession(orc_rt="/no/such/file")
        with pytest.raises(RuntimeError, match="cannot start a JIT session"):
            orcjit.ExecutionSession(orc_rt=b"garbage")
        with pytest.raises(TypeError, match="orc_rt must be a path"):
            orcjit.ExecutionSession(orc_rt=3)
