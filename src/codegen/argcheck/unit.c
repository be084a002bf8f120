// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
//
// The translation unit that becomes the bitcode embedded in libtvm_compiler_llvm.
#include "codegen/argcheck/argcheck.c"
#include "codegen/argcheck/glue.c"
