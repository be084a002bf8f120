# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Runs the public JIT addon on the tvm_ffi of this interpreter.

python orcjit_driver.py OBJECT.o SITE_PACKAGES_OF_THE_ADDON
"""

import sys

import tvm_ffi

sys.path.append(sys.argv[2])  # after ours: only the addon comes from there
import tvm_ffi_orcjit  # noqa: E402

assert not tvm_ffi.__file__.startswith(sys.argv[2])
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
print("ok")
