// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Headers that nearly every file of the compiler includes; precompiled when TVM_PCH is on.
#pragma once
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/module.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/ir/transform.h>

#include "pch.h"
