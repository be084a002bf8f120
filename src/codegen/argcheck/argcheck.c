// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
//
// The one interpreter of argument-check programs (format: tvm/support/argcheck.h).
// Linked, hidden, once into every compiled library and JIT session; the C target prints this text
// into its output. Therefore: C11, no libc calls, only the C API of libtvm_ffi.
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/support/argcheck.h>

#ifndef TVM_GLUE
#define TVM_GLUE __attribute__((weak, visibility("hidden")))
#endif

enum { kTVMTensorPrefixBytes = 24 };  // object header before the DLTensor of a Tensor object

// Everything that an error message may need.
typedef struct {
  const int64_t* program;
  const int64_t* slots;
  const char* const* strings;
} TVMCheckState;

static const int64_t* TVMSkipExpr(const int64_t* pc) { return pc + 1 + pc[0]; }

// First word of the instruction after the one at pc.
static const int64_t* TVMSkipInstruction(const int64_t* pc) {
  static const uint8_t kFixed[] = {1, 2, 4, 4, 6, 4, 4, 3, 6, 6, 5,
                                   0, 4, 3, 4, 0, 5, 0, 4, 0, 5, 0};
  int64_t op = pc[0];
  switch (op) {
    case kArgCheckShape:
    case kArgCheckStride:
      return TVMSkipExpr(pc + 3) + 1;
    case kArgCheckByteOffset:
      return TVMSkipExpr(pc + 2) + 1;
    case kArgCheckCompact: {
      const int64_t* next = pc + 3;
      for (int64_t k = 0; k < pc[2]; ++k) next = TVMSkipExpr(next);
      return next;
    }
    case kArgCheckAssert: {
      const int64_t* tail = TVMSkipExpr(pc + 1);  // kind_str, str0, n, str x n
      return tail + 3 + tail[2];
    }
    default:
      return pc + kFixed[op];
  }
}

static int64_t TVMFloorDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static int64_t TVMTruncDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t TVMBinary(int64_t op, int64_t a, int64_t b) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  switch (op) {
    case kArgExprAdd:
      return (int64_t)(ua + ub);
    case kArgExprSub:
      return (int64_t)(ua - ub);
    case kArgExprMul:
      return (int64_t)(ua * ub);
    case kArgExprFloorDiv:
      return TVMFloorDiv(a, b);
    case kArgExprFloorMod:
      return b == 0 ? 0 : (int64_t)(ua - (uint64_t)TVMFloorDiv(a, b) * ub);
    case kArgExprMin:
      return a < b ? a : b;
    case kArgExprMax:
      return a > b ? a : b;
    case kArgExprTruncDiv:
      return TVMTruncDiv(a, b);
    case kArgExprTruncMod:
      return b == 0 ? 0 : (int64_t)(ua - (uint64_t)TVMTruncDiv(a, b) * ub);
    case kArgExprShiftLeft:
      return (int64_t)(ua << (ub & 63));
    case kArgExprShiftRight:
      return a >> (ub & 63);
    case kArgExprEq:
      return a == b;
    case kArgExprNe:
      return a != b;
    case kArgExprLt:
      return a < b;
    case kArgExprLe:
      return a <= b;
    case kArgExprAnd:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

// Evaluates the expression at *pc and moves *pc behind it.
static int64_t TVMEval(const int64_t** pc, const int64_t* slots) {
  const int64_t* word = *pc + 1;
  const int64_t* end = word + (*pc)[0];
  *pc = end;
  int64_t stack[kArgExprMaxDepth];
  int depth = 0;
  while (word < end) {
    int64_t op = *word++;
    if (op == kArgExprConst) {
      stack[depth++] = *word++;
    } else if (op == kArgExprSlot) {
      stack[depth++] = slots[*word++];
    } else {
      --depth;
      stack[depth - 1] = TVMBinary(op, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

static const char* TVMFormatInt(int64_t value, char buffer[24]) {
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  char* at = buffer + 23;
  *at = 0;
  do {
    *--at = (char)('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude != 0);
  if (value < 0) *--at = '-';
  return at;
}

// Raises `<a><b><c><d> when calling:\n  `signature`[,\n  expected E]`.
static int TVMRaise(const TVMCheckState* state, const char* kind, const char* a, const char* b,
                    const char* c, const char* d, const char* expected) {
  const char* parts[9];
  int32_t n = 0;
  if (a) parts[n++] = a;
  if (b) parts[n++] = b;
  if (c) parts[n++] = c;
  if (d) parts[n++] = d;
  parts[n++] = " when calling:\n  `";
  parts[n++] = state->strings[0];
  parts[n++] = expected ? "`,\n  expected " : "`";
  if (expected) parts[n++] = expected;
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, n);
  return -1;
}

static int TVMRaiseType(const TVMCheckState* state, int64_t argument, const char* expected) {
  char digits[24];
  return TVMRaise(state, "TypeError", "Mismatched type on argument #",
                  TVMFormatInt(argument, digits), NULL, NULL, expected);
}

// Argument index of the tensor whose DLTensor* lies in slot `tensor`; *name is its name.
static int64_t TVMTensorOf(const TVMCheckState* state, int64_t tensor, const char** name) {
  for (const int64_t* pc = state->program; *pc != kArgCheckEnd; pc = TVMSkipInstruction(pc)) {
    if (*pc == kArgCheckTensor && pc[2] == tensor) {
      *name = state->strings[pc[3]];
      return pc[1];
    }
  }
  *name = "?";
  return -1;
}

// Raises `<verb> <name><field>[<k>]` (k < 0: no index).
static int TVMRaiseField(const TVMCheckState* state, const char* verb, int64_t tensor,
                         const char* field, int64_t k, const char* expected) {
  const char* name;
  char digits[24];
  TVMTensorOf(state, tensor, &name);
  const char* index = k < 0 ? NULL : TVMFormatInt(k, digits);
  const char* parts[10];
  int32_t n = 0;
  parts[n++] = verb;
  parts[n++] = name;
  parts[n++] = field;
  if (index) {
    parts[n++] = index;
    parts[n++] = "]";
  }
  parts[n++] = " when calling:\n  `";
  parts[n++] = state->strings[0];
  parts[n++] = "`,\n  expected ";
  parts[n++] = expected;
  TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, n);
  return -1;
}

// Raises `<A><field> on argument #<i>`; verb first when given.
static int TVMRaiseOnArgument(const TVMCheckState* state, const char* kind, const char* verb,
                              int64_t tensor, const char* field, const char* expected) {
  const char* name;
  char digits[24];
  int64_t argument = TVMTensorOf(state, tensor, &name);
  const char* index = TVMFormatInt(argument, digits);
  if (verb) return TVMRaise(state, kind, verb, name, field, index, expected);
  return TVMRaise(state, kind, name, field, index, NULL, expected);
}

static int TVMFits(int64_t value, int64_t bits, int64_t is_unsigned) {
  if (bits >= 64) return 1;
  if (is_unsigned) return value >= 0 && value <= ((int64_t)1 << bits) - 1;
  return value >= -((int64_t)1 << (bits - 1)) && value <= ((int64_t)1 << (bits - 1)) - 1;
}

static int TVMRaiseRange(const TVMCheckState* state, const char* name, int64_t argument,
                         int64_t bits, int64_t is_unsigned) {
  char digits[24], width[24];
  const char* parts[10] = {
      "Invalid ",
      name,
      " on argument #",
      TVMFormatInt(argument, digits),
      " when calling:\n  `",
      state->strings[0],
      is_unsigned ? "`,\n  expected value in uint" : "`,\n  expected value in int",
      TVMFormatInt(bits, width),
      " range"};
  TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, 9);
  return -1;
}

// DLTensor of an argument, or NULL when it is none.
static const DLTensor* TVMTensorArgument(const TVMFFIAny* arg) {
  switch (arg->type_index) {
    case kTVMFFITensor:
      return (const DLTensor*)((const char*)arg->v_ptr + kTVMTensorPrefixBytes);
    case kTVMFFIDLTensorPtr:
    case kTVMFFIOpaquePtr:
      return (const DLTensor*)arg->v_ptr;
    default:
      return NULL;
  }
}

static int TVMPointerArgument(const TVMFFIAny* arg, int64_t* slot) {
  int32_t index = arg->type_index;
  if (index == kTVMFFINone) {
    *slot = 0;
  } else if (index == kTVMFFITensor) {
    *slot = (int64_t)(intptr_t)TVMTensorArgument(arg);
  } else if (index == kTVMFFIOpaquePtr || index == kTVMFFIDLTensorPtr ||
             index >= kTVMFFIStaticObjectBegin) {
    *slot = (int64_t)(intptr_t)arg->v_ptr;
  } else {
    return -1;
  }
  return 0;
}

static int TVMIsInt(const TVMFFIAny* arg) {
  return arg->type_index == kTVMFFIInt || arg->type_index == kTVMFFIBool;
}

static int64_t TVMFloatBits(const TVMFFIAny* arg) {
  union {
    double value;
    int64_t bits;
  } pun;
  pun.value = arg->type_index == kTVMFFIFloat ? arg->v_float64 : (double)arg->v_int64;
  return pun.bits;
}

static int TVMIsEmpty(const DLTensor* tensor) {
  for (int32_t k = 0; k < tensor->ndim; ++k) {
    if (tensor->shape[k] == 0) return 1;
  }
  return 0;
}

// Walks from the outermost dimension: each stride must be the next one times the next extent.
static int TVMIsCompact(const int64_t** pc, int64_t n, const DLTensor* tensor,
                        const int64_t* slots) {
  int64_t outer = -1;
  int good = 1, empty = 0, seen = 0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t extent = TVMEval(pc, slots);
    if (extent == 0) empty = 1;
    if (tensor->strides == NULL || extent == 1) continue;
    int64_t stride = tensor->strides[k];
    if (seen && (uint64_t)outer != (uint64_t)stride * (uint64_t)extent) good = 0;
    outer = stride;
    seen = 1;
  }
  return empty || (good && (!seen || outer == 1));
}

static int64_t TVMStrideOf(const DLTensor* tensor, int64_t k) {
  if (tensor->strides != NULL) return tensor->strides[k];
  uint64_t stride = 1;
  for (int32_t d = tensor->ndim - 1; d > k; --d) stride *= (uint64_t)tensor->shape[d];
  return (int64_t)stride;
}

#define TVM_TENSOR(word) ((const DLTensor*)(intptr_t)slots[word])

// Arguments themselves: opcodes up to kArgCheckFloat.
static int TVMCheckArgument(const TVMCheckState* state, const int64_t* pc, const TVMFFIAny* args,
                            int32_t num_args, int64_t* slots) {
  char digits[24];
  if (pc[0] == kArgCheckCount) {
    if (num_args != pc[1]) {
      return TVMRaise(state, "TypeError", "Expected ", TVMFormatInt(pc[1], digits), " arguments",
                      NULL, NULL);
    }
    if (args == NULL && num_args > 0) {
      return TVMRaise(state, "TypeError", "args pointer is NULL", NULL, NULL, NULL, NULL);
    }
    return 0;
  }
  const TVMFFIAny* arg = args + pc[1];
  switch (pc[0]) {
    case kArgCheckTensor: {
      const DLTensor* tensor = TVMTensorArgument(arg);
      if (tensor == NULL) return TVMRaiseType(state, pc[1], "Tensor");
      slots[pc[2]] = (int64_t)(intptr_t)tensor;
      return 0;
    }
    case kArgCheckPointer:
      return TVMPointerArgument(arg, &slots[pc[2]]) ? TVMRaiseType(state, pc[1], "pointer") : 0;
    case kArgCheckInt:
      if (!TVMIsInt(arg)) return TVMRaiseType(state, pc[1], "int");
      if (!TVMFits(arg->v_int64, pc[4], pc[5])) {
        return TVMRaiseRange(state, state->strings[pc[3]], pc[1], pc[4], pc[5]);
      }
      slots[pc[2]] = arg->v_int64;
      return 0;
    case kArgCheckBool:
      if (!TVMIsInt(arg)) return TVMRaiseType(state, pc[1], "boolean");
      slots[pc[2]] = arg->v_int64 != 0;
      return 0;
    default:
      if (!TVMIsInt(arg) && arg->type_index != kTVMFFIFloat) {
        return TVMRaiseType(state, pc[1], "float");
      }
      slots[pc[2]] = TVMFloatBits(arg);
      return 0;
  }
}

static int TVMRaiseMisaligned(const TVMCheckState* state, int64_t alignment) {
  char digits[24];
  const char* parts[7] = {"Misaligned Tensor data when calling:\n  `", state->strings[0],
                          "`,\n  expected data alignment=", TVMFormatInt(alignment, digits),
                          " bytes"};
  TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, 5);
  return -1;
}

// Checks of one tensor that have no expression operand.
static int TVMCheckTensorField(const TVMCheckState* state, const int64_t* pc, int64_t* slots) {
  const DLTensor* tensor = TVM_TENSOR(pc[1]);
  char digits[24];
  switch (pc[0]) {
    case kArgCheckNdim:
      if (tensor->ndim == pc[2]) return 0;
      return TVMRaiseField(state, "Mismatched ", pc[1], ".ndim", -1, TVMFormatInt(pc[2], digits));
    case kArgCheckDType:
      if (tensor->dtype.code == pc[2] && tensor->dtype.bits == pc[3] &&
          tensor->dtype.lanes == pc[4]) {
        return 0;
      }
      return TVMRaiseOnArgument(state, "TypeError", "Mismatched ", pc[1], ".dtype on argument #",
                                state->strings[pc[5]]);
    case kArgCheckBindShape:
      slots[pc[3]] = tensor->shape[pc[2]];
      if (TVMFits(tensor->shape[pc[2]], pc[4], pc[5])) return 0;
      return TVMRaiseField(state, "Invalid ", pc[1], ".shape[", pc[2], "extent in int32 range");
    case kArgCheckMatchShape:
      if (tensor->shape[pc[2]] == slots[pc[3]]) return 0;
      return TVMRaiseField(state, "Mismatched ", pc[1], ".shape[", pc[2], state->strings[pc[4]]);
    case kArgCheckDeviceType:
      if ((int64_t)tensor->device.device_type == pc[2]) return 0;
      return TVMRaiseField(state, "Mismatched ", pc[1], ".device_type", -1, state->strings[pc[3]]);
    case kArgCheckBindDeviceId:
      slots[pc[2]] = tensor->device.device_id;
      return 0;
    case kArgCheckMatchDeviceId:
      if (tensor->device.device_id == slots[pc[2]]) return 0;
      return TVMRaiseField(state, "Mismatched ", pc[1], ".device_id", -1, state->strings[pc[3]]);
    case kArgCheckBindStride:
      slots[pc[3]] = TVMStrideOf(tensor, pc[2]);
      if (TVMFits(slots[pc[3]], pc[4], 0)) return 0;
      return TVMRaiseField(state, "Invalid ", pc[1], ".strides[", pc[2], "stride in int32 range");
    case kArgCheckData:
      slots[pc[2]] = (int64_t)(intptr_t)tensor->data;
      if (tensor->data == NULL && !TVMIsEmpty(tensor)) {
        return TVMRaiseOnArgument(state, "ValueError", NULL, pc[1],
                                  " data pointer is NULL on argument #", "non-NULL data pointer");
      }
      if (pc[3] > 1 && ((uintptr_t)tensor->data + tensor->byte_offset) % (uint64_t)pc[3] != 0) {
        return TVMRaiseMisaligned(state, pc[3]);
      }
      return 0;
    default:  // kArgCheckBindElemOffset
      slots[pc[2]] = (int64_t)(tensor->byte_offset / (uint64_t)pc[3]);
      if (tensor->byte_offset % (uint64_t)(pc[3] * pc[4]) == 0) return 0;
      return TVMRaiseMisaligned(state, pc[3] * pc[4]);
  }
}

// Checks with expression operands.
static int TVMCheckExpression(const TVMCheckState* state, const int64_t* pc, int64_t* slots) {
  const int64_t* at;
  switch (pc[0]) {
    case kArgCheckShape:
      at = pc + 3;
      if (TVM_TENSOR(pc[1])->shape[pc[2]] == TVMEval(&at, slots)) return 0;
      return TVMRaiseField(state, "Invalid ", pc[1], ".shape[", pc[2], state->strings[*at]);
    case kArgCheckStride:
      at = pc + 3;
      if (TVMStrideOf(TVM_TENSOR(pc[1]), pc[2]) == TVMEval(&at, slots)) return 0;
      return TVMRaiseField(state, "Invalid ", pc[1], ".strides[", pc[2], state->strings[*at]);
    case kArgCheckCompact:
      at = pc + 3;
      if (TVMIsCompact(&at, pc[2], TVM_TENSOR(pc[1]), slots)) return 0;
      return TVMRaiseField(state, "Mismatched ", pc[1], ".strides", -1, "to be compact array");
    case kArgCheckByteOffset:
      at = pc + 2;
      if ((int64_t)TVM_TENSOR(pc[1])->byte_offset == TVMEval(&at, slots)) return 0;
      return TVMRaiseField(state, "Invalid ", pc[1], ".byte_offset", -1, state->strings[*at]);
    default: {  // kArgCheckAssert
      at = pc + 1;
      if (TVMEval(&at, slots) != 0) return 0;
      const char* parts[16];
      int32_t n = 0;
      parts[n++] = state->strings[at[1]];
      parts[n++] = " when calling:\n  `";
      parts[n++] = state->strings[0];
      parts[n++] = "`";
      for (int64_t k = 0; k < at[2] && n < 16; ++k) parts[n++] = state->strings[at[3 + k]];
      TVMFFIErrorSetRaisedFromCStrParts(state->strings[at[0]], parts, n);
      return -1;
    }
  }
}

TVM_GLUE int __tvm_check_args(const TVMFFIAny* args, int32_t num_args, int64_t* slots,
                              const int64_t* program, const char* const* strings) {
  TVMCheckState state = {program, slots, strings};
  for (const int64_t* pc = program; *pc != kArgCheckEnd; pc = TVMSkipInstruction(pc)) {
    int failed;
    switch (*pc) {
      case kArgCheckCount:
      case kArgCheckTensor:
      case kArgCheckPointer:
      case kArgCheckInt:
      case kArgCheckBool:
      case kArgCheckFloat:
        failed = TVMCheckArgument(&state, pc, args, num_args, slots);
        break;
      case kArgCheckShape:
      case kArgCheckStride:
      case kArgCheckCompact:
      case kArgCheckByteOffset:
      case kArgCheckAssert:
        failed = TVMCheckExpression(&state, pc, slots);
        break;
      default:
        failed = TVMCheckTensorField(&state, pc, slots);
        break;
    }
    if (failed) return -1;
  }
  return 0;
}
