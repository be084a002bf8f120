// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/* What caller.c uses. */
#include <stdint.h>

int64_t orcjit_test_value = 1000;
int64_t orcjit_test_base(int64_t x) { return 2 * x; }
