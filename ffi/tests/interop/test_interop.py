# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Libraries built against our headers and against released ones work under either runtime."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from child_process import python_environment

from tvm_ffi import libinfo

HERE = Path(__file__).resolve().parent
CXX = os.environ.get("CXX", "c++")

# What the released library exports and headers may use, besides the C functions TVMFFI*.
_RELEASED_CXX_SYMBOLS = (
    r"tvm::ffi::Recursive(Eq|Lt|Le|Gt|Ge)\(tvm::ffi::Any const&, tvm::ffi::Any const&\)",
    r"tvm::ffi::RecursiveHash\(tvm::ffi::Any const&\)",
    r"tvm::ffi::(DeepCopy|ReprPrint|FromJSONGraph)\(tvm::ffi::Any const&\)",
    r"tvm::ffi::ToJSONGraph\(tvm::ffi::Any const&, tvm::ffi::Any const&\)",
    r"tvm::ffi::StructuralHash::Hash\(tvm::ffi::Any const&, bool, bool\)",
    r"tvm::ffi::StructuralEqual::(Equal|GetFirstMismatch)\(tvm::ffi::Any const&, "
    r"tvm::ffi::Any const&, bool, bool\)",
    r"tvm::ffi::VisitErrorContext::FindAccessPaths\(tvm::ffi::ObjectRef const&, "
    r"tvm::ffi::VisitErrorContext const&, bool\)",
    r"tvm::ffi::json::Parse\(tvm::ffi::String const&, tvm::ffi::String\*\)",
    r"tvm::ffi::json::Stringify\(tvm::ffi::Any const&, tvm::ffi::Optional<int, void> const&\)",
    r"tvm::ffi::Module::LoadFromFile\(tvm::ffi::String const&\)",
    r"tvm::ffi::Module::VisitContextSymbols\(tvm::ffi::TypedFunction<void \(tvm::ffi::String, "
    r"void\*\)> const&\)",
    r"tvm::ffi::ModuleObj::(GetFunction|GetFunctionDoc|GetFunctionMetadata|ImplementsFunction)"
    r"\(tvm::ffi::String const&, bool\)",
    r"tvm::ffi::ModuleObj::ImportModule\(tvm::ffi::Module const&\)",
    r"tvm::ffi::ModuleObj::ClearImports\(\)",
    r"(vtable|typeinfo|typeinfo name) for tvm::ffi::(Error|ModuleObj)",
)


def run(python, *args, env=None):
    return subprocess.run([python, *args], capture_output=True, text=True, check=False, env=env)


def undefined_symbols(path):
    """What an object file needs; weak imports may stay open."""
    done = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    names = [fields[-1] for fields in lines if fields[0] != "w"]
    return {name for name in names if "tvm" in name or name.startswith("TVMFFI")}


def demangle(names):
    done = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def c_functions():
    text = (Path(libinfo.find_include_path()) / "tvm/ffi/c_api.h").read_text()
    text += (Path(libinfo.find_include_path()) / "tvm/ffi/extra/c_env_api.h").read_text()
    return set(re.findall(r"\bTVMFFI\w+(?=\()", text))


@pytest.fixture(scope="module")
def every_header(tmp_path_factory):
    """Object file that uses something of every public header."""
    output = str(tmp_path_factory.mktemp("headers") / "every_header.o")
    command = [CXX, "-std=c++17", "-O0", "-fPIC", "-c", str(HERE / "every_header.cc"), "-o", output]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def test_headers_import_only_what_releases_export(every_header):
    symbols = undefined_symbols(every_header)
    cxx = {name for name in symbols if not name.startswith("TVMFFI")}
    assert len(symbols) > 40
    assert symbols - cxx <= c_functions()
    allowed = re.compile("|".join(f"(?:{pattern})" for pattern in _RELEASED_CXX_SYMBOLS))
    assert [name for name in demangle(sorted(cxx)) if not allowed.fullmatch(name)] == []


def test_released_library_exports_what_our_headers_import(every_header, release):
    done = subprocess.run(
        ["nm", "-D", "--defined-only", release.library], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in done.stdout.splitlines()}
    assert undefined_symbols(every_header) <= exported


def test_our_library_exports_what_releases_export(release):
    def exported(library):
        done = subprocess.run(
            ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
        )
        names = {line.split()[-1] for line in done.stdout.splitlines()}
        return {n for n in names if n.startswith("TVMFFI") or "3tvm3ffi" in n}

    missing = exported(release.library) - exported(libinfo.find_libtvm_ffi())
    # Templates and statics of inline functions are weak: every user brings its own.
    own = [name for name in demangle(sorted(missing)) if name.startswith("tvm::ffi::")]
    assert [name for name in own if not name.endswith("::mutex_")] == []


def test_under_our_runtime(own_extension, released_extension):
    for pair in (
        (own_extension, "own", released_extension, "rel"),
        (released_extension, "rel", own_extension, "own"),
    ):
        done = run(
            sys.executable, str(HERE / "driver.py"), *pair, "--strict", env=python_environment()
        )
        assert done.stdout == "ok\n", done.stderr


def test_under_the_released_runtime(own_extension, released_extension, release):
    environment = dict(release.environment)
    for pair in (
        (own_extension, "own", released_extension, "rel"),
        (released_extension, "rel", own_extension, "own"),
    ):
        done = run(release.python, str(HERE / "driver.py"), *pair, env=environment)
        assert done.stdout == "ok\n", done.stderr


def test_without_a_release(own_extension, build):
    """The driver itself, with two builds of ours."""
    twin = build("twin", libinfo.include_paths(), libinfo.find_libtvm_ffi())
    done = run(
        sys.executable,
        str(HERE / "driver.py"),
        own_extension,
        "own",
        twin,
        "twin",
        "--strict",
        env=python_environment(),
    )
    assert done.stdout == "ok\n", done.stderr


@pytest.mark.parametrize(
    "runtime, headers", [("ours", "ours"), ("ours", "released"), ("released", "ours")]
)
def test_the_public_jit_addon(release, headers, runtime, tmp_path):
    """It links objects of both kinds of headers, on both kinds of libtvm_ffi."""
    if not (Path(release.site_packages) / "tvm_ffi_orcjit").is_dir():
        pytest.skip("apache-tvm-ffi-orcjit is not installed beside the released wheel")
    include = libinfo.include_paths() if headers == "ours" else [release.include]
    objects = []
    for side in ("jit", "jit2"):  # types of their own
        objects.append(str(tmp_path / f"{side}.o"))
        command = [CXX, "-std=c++17", "-O1", "-fPIC", "-c", f'-DSIDE="{side}"']
        command += [f"-I{path}" for path in include]
        subprocess.run([*command, str(HERE / "extension.cc"), "-o", objects[-1]], check=True)
    done = run(
        sys.executable if runtime == "ours" else release.python,
        str(HERE / "orcjit_driver.py"),
        *objects,
        release.site_packages,
        env=python_environment() if runtime == "ours" else dict(release.environment),
    )
    assert done.stdout == f"{runtime}\n", done.stderr
