// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Headers that nearly every test of the compiler includes; precompiled when TVM_PCH is on.
#pragma once
#include <gtest/gtest.h>

#include "pch_ir.h"
