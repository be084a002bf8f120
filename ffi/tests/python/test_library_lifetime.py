# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""How long libraries stay in memory, and what keeps them there."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from tvm_ffi import libinfo

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


def unloadable_flags(command: str) -> list[str]:
    """g++ marks inline variables as unique by default; their libraries are never unloaded."""
    compiler = subprocess.run([command, "--version"], capture_output=True, text=True).stdout
    return [] if "clang" in compiler else ["-fno-gnu-unique"]


_LIBRARY_SCRIPT = """
    import gc, os, sys
    import tvm_ffi, tvm_ffi.cpp

    REGISTERING = '''
        #include <tvm/ffi/reflection/registry.h>
        TVM_FFI_STATIC_INIT_BLOCK() {
          tvm::ffi::reflection::GlobalDef().def("testing.safety.stays", [] { return 7; });
        }
        int64_t two() { return 2; }
    '''

    def build(name, source, functions):
        return tvm_ffi.cpp.build_inline(
            name, cpp_sources=source, functions=functions,
            build_directory=f"{sys.argv[1]}/{name}", extra_cflags=["-O1", *sys.argv[2:]])

    def mapped(name):
        return any(name in line for line in open("/proc/self/maps"))

    plain = build("plain_library", "int64_t one() { return 1; }", "one")
    registering = build("registering_library", REGISTERING, "two")
    one = tvm_ffi.load_module(plain, keep_module_alive=False).one
    gc.collect()
    assert one() == 1 and mapped("plain_library")
    del one
    gc.collect()
    assert not mapped("plain_library")
    os.chdir(os.path.dirname(plain))  # a bare name is a file of the current folder
    assert tvm_ffi.load_module(os.path.basename(plain), keep_module_alive=False).one() == 1
    module = tvm_ffi.load_module(registering, keep_module_alive=False)
    assert module.two() == 2
    del module
    gc.collect()
    assert tvm_ffi.get_global_func("testing.safety.stays")() == 7
"""


def test_library_that_registered_something_stays(tmp_path):
    """Its module may go, but its code is still reached through the tables."""
    flags = unloadable_flags(os.environ.get("CXX", "c++"))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_LIBRARY_SCRIPT), str(tmp_path), *flags],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


_LIFETIME_SOURCE = """
#include <tvm/ffi/tvm_ffi.h>
#include <tvm/ffi/extra/c_env_api.h>

namespace ffi = tvm::ffi;

class OwnedObj : public ffi::Object {
 public:
  ~OwnedObj() { ++destroyed; }
  static inline volatile int destroyed = 0;
  static constexpr int32_t _type_index = ffi::TypeIndex::kTVMFFIObject;
};

extern "C" TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = nullptr;

int64_t Plain(int64_t x) { return x + 1; }
ffi::String Text(ffi::String x) { return ffi::String(x.c_str()); }
ffi::String Joined(ffi::String x) { return x + "!"; }  // takes a string's memory over
int64_t Size(ffi::Tensor x) { return x.size(0); }
ffi::ObjectRef Made() { return ffi::ObjectRef(ffi::make_object<OwnedObj>()); }
ffi::Function Closure() { return ffi::Function::FromTyped([](int64_t x) { return x * 2; }); }
void Append(ffi::List<ffi::Any> x) { x.push_back(Made()); }
void Throw() { TVM_FFI_THROW(ValueError) << "no"; }
void ThrowWithContext() { throw ffi::Error("ValueError", "no", "", std::nullopt, Made()); }
void Register() { ffi::Function::SetGlobal("testing.safety.late", Closure()); }
int64_t Imported(int64_t x) {
  TVMFFIObjectHandle callee = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "callee", &callee));
  ffi::Any result;
  ffi::AnyView arg(x);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionCall(callee, reinterpret_cast<TVMFFIAny*>(&arg), 1,
                                             reinterpret_cast<TVMFFIAny*>(&result)));
  return result.cast<int64_t>();
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(callee, [](int64_t x) { return 100 + x; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(plain, Plain);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(text, Text);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(joined, Joined);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(size, Size);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(made, Made);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(closure, Closure);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(append, Append);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, Throw);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail_with_context, ThrowWithContext);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_late, Register);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(imported, Imported);

#ifdef WITH_ROOT
#define U64(x) x, 0, 0, 0, 0, 0, 0, 0
extern "C" TVM_FFI_DLL_EXPORT const unsigned char __tvm_ffi__library_bin[] = {
    U64(84), U64(3), U64(0), U64(1), U64(1), U64(1), U64(1),
    U64(8), 'l', 'i', 'f', 'e', 'r', 'o', 'o', 't', U64(0), U64(4), '_', 'l', 'i', 'b'};
#endif
"""


@pytest.fixture(scope="module")
def lifetime_libraries(tmp_path_factory):
    """Libraries that may be unloaded: one plain, one that a module of its blob imports."""
    folder = tmp_path_factory.mktemp("lifetime")
    source = folder / "lifetime.cc"
    source.write_text(_LIFETIME_SOURCE)
    libdir = libinfo.find_libtvm_ffi().rsplit("/", 1)[0]
    for name, flags in (("lifeplain", []), ("lifebelow", ["-DWITH_ROOT"])):
        command = ["c++", "-std=c++17", "-O1", "-fPIC", "-shared", *flags, str(source)]
        command += [f"-I{path}" for path in libinfo.include_paths()]
        command += [f"-L{libdir}", "-ltvm_ffi", "-o", str(folder / f"{name}.so")]
        subprocess.run([*command, *unloadable_flags("c++")], check=True)
    return folder


def _run_with_libraries(folder, body):
    script = f"""
        import gc, sys
        import numpy as np
        import tvm_ffi

        def load(name):
            return tvm_ffi.load_module("{folder}/" + name + ".so", keep_module_alive=False)

        def mapped(name):
            gc.collect()
            # A backtrace may have mapped the file to read its lines.
            return any(name in line and "r-xp" in line for line in open("/proc/self/maps"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script) + textwrap.dedent(body)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "use, stays",
    [
        ("assert module.plain(1) == 2", False),
        ("assert module.text('short') == 'short'", False),
        ("assert module.size(np.zeros(5)) == 5", False),
        ("held = str(ends(module.fail))", False),
        ("held = module.joined('a text for the heap'); assert len(held) == 20", True),
        ("held = module.made()", True),
        ("held = module.closure(); assert held(4) == 8", True),
        ("held = tvm_ffi.List([]); module.append(held); assert len(held) == 1", True),
        ("held = ends(module.fail_with_context)", True),
        ("module.register_late()", True),
    ],
)
def test_libraries_stay_when_something_of_them_is_left(lifetime_libraries, use, stays):
    """Their objects carry addresses of their code; plain values do not."""
    _run_with_libraries(
        lifetime_libraries,
        f"""
        def ends(call):
            try:
                call()
            except ValueError as error:
                return error

        module = load("lifeplain")
        {use}
        del module
        assert mapped("lifeplain.so") == {stays}
        if "held" in globals():
            text = repr(held)
            del held
        if {"register_late" in use}:
            assert tvm_ffi.get_global_func("testing.safety.late")(3) == 6
        gc.collect()
        """,
    )


def test_functions_of_a_library_keep_the_root_of_its_modules(lifetime_libraries):
    """Code looks its callees up in what the root imports."""
    _run_with_libraries(
        lifetime_libraries,
        """
        roots = []

        def make_root(data):
            root = load("lifeplain")
            roots.append(root)
            return root

        tvm_ffi.register_global_func("ffi.Module.load_from_bytes.liferoot", make_root)
        root = load("lifebelow")
        assert root.same_as(roots.pop()) and mapped("lifeplain.so")
        library = root.imports[0]
        imported = library.imported
        del root, library
        assert mapped("lifeplain.so") and mapped("lifebelow.so")
        assert imported(1) == 101  # the library's own function, through the root
        assert imported(2) == 102  # cached
        del imported
        assert not mapped("lifebelow.so"), "nothing keeps itself"

        library = load("lifebelow").imports[0]
        roots.clear()
        gc.collect()  # the root is gone
        try:
            library.imported(1)
            raise AssertionError("found without a root")
        except RuntimeError as error:
            assert "Cannot find function `callee`" in str(error)
        library.import_module(load("lifeplain"))
        assert library.imported(1) == 101
        """,
    )
