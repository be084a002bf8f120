#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors

# Makes the environment with the released wheel that the tests of this folder compare with.
#   make_release_venv.sh [PYTHON [FOLDER]]
# FOLDER is what TVM_FFI_RELEASE_VENV names for the tests; ffi/build/release-venv if left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${1:-python3}
venv=${2:-${TVM_FFI_RELEASE_VENV:-$here/../../build/release-venv}}
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check apache-tvm-ffi==0.1.15.post2 numpy pytest
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  apache-tvm-ffi-orcjit==0.1.3 || echo "apache-tvm-ffi-orcjit is not available; its test will be skipped"
"$venv/bin/python" -c "import tvm_ffi; print('tvm_ffi', tvm_ffi.__version__)"
