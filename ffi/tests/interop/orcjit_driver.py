# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Runs the public JIT addon on the tvm_ffi of this interpreter, ours or the released one.

python orcjit_driver.py OBJECT.o OTHER_OBJECT.o SITE_PACKAGES_OF_THE_ADDON
"""

import gc
import sys

import tvm_ffi

sys.path.append(sys.argv[3])  # after ours: only the addon comes from there
import tvm_ffi_orcjit  # noqa: E402

is_released = tvm_ffi.__file__.startswith(sys.argv[3])
session = tvm_ffi_orcjit.ExecutionSession()
module = session.load_module(sys.argv[1])
assert module.add(3, 4) == 7
assert list(module.map_keys(module.make_map(20))) == [f"key{i}" for i in range(20)]
try:
    module.throw_error("ValueError", "text")
except ValueError as error:
    assert str(error) == "text"
else:
    raise AssertionError("nothing raised")
assert module.call_back(lambda x: x + 1, 1) == 2

# In memory, beside the first one, without sharing its variables.
with open(sys.argv[2], "rb") as file:
    content = file.read()
second = tvm_ffi_orcjit.default_session().load_module([content], name="second")
assert module.kind == second.kind == "orcjit"
counted = module.make_counted(5)
assert (module.alive(), second.alive()) == (1, 0)
assert module.is_pair(counted) and second.map_get(second.make_map(9), "key8") == 8
del counted
assert module.alive() == 0

# A function keeps its library; errors of Python pass through.
add, call_back = second.add, second.call_back
del second
gc.collect()
assert add(20, 22) == 42


class Own(Exception):
    pass


def fail(_):
    raise original


original = Own("mine")
try:
    call_back(fail, 1)
except Own as error:
    assert error is original
except RuntimeError:
    assert is_released  # which does not know the class
else:
    raise AssertionError("nothing raised")
del add, call_back, module
gc.collect()
assert session.clear_free_slabs() >= 0
try:
    session.load_module(b"garbage")
except RuntimeError:
    pass
else:
    raise AssertionError("nothing raised")
print("released" if is_released else "ours")
