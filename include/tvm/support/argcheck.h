// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file tvm/support/argcheck.h
/// Program format of the argument check that packed functions run before their body.
///
/// Plain constants without any include, shared by MakePackedAPI (the writer), the code generators
/// (which place the program in read-only data) and the one interpreting routine,
/// src/codegen/argcheck/argcheck.c.
///
/// In TIRx the check is one statement
///
///     Evaluate(Call(Bool/Int32, Op("tirx.check_args"),
///                   {args, num_args, slots, StringImm..., IntImm(int64)...}))
///
///   args      handle   TVMFFIAny array of the packed call
///   num_args  int32
///   slots     handle   int64 array, written by the check (data pointer of a local AllocBuffer)
///   StringImm          string table, in order; entry 0 is the signature
///                      `f(A: Tensor([m, 4], float32), n: int32)`
///   IntImm             program words, in order, ending with kArgCheckEnd
///
/// Strings and words may be interleaved: each kind keeps its own order. Code generators return -1
/// from the function when the check fails (the error is then set), so the statement needs no
/// branch around it. After it, slots hold what the body binds:
///   integer, bool  -> int64 value;      float -> bits of a double;     pointer -> address
///   tensor         -> DLTensor*;        data  -> address (byte_offset NOT added)
///   shape, stride, element offset, device id -> int64 value
///
/// A program is a list of `opcode, operands...`. The writer controls the order of the checks.
/// `t` below is the slot that kArgCheckTensor filled; `s` a slot to write; `i` an argument index;
/// `str` an index into the string table; `expr` an expression (see below).
#ifndef TVM_SUPPORT_ARGCHECK_H_
#define TVM_SUPPORT_ARGCHECK_H_

/// Opcodes, with their operands.
enum TVMArgCheckOp {
  /// End of the program. -
  kArgCheckEnd = 0,
  /// n. TypeError `Expected n arguments`, then TypeError `args pointer is NULL` (n > 0).
  kArgCheckCount = 1,
  /// i, s, name_str. Accepts DLTensor*, Tensor and opaque pointers to a DLTensor, not NULL.
  /// TypeError `Mismatched type on argument #i`, expected Tensor.
  kArgCheckTensor = 2,
  /// i, s, name_str. None, opaque pointer, DLTensor*, Tensor (gives its DLTensor*) or any object.
  kArgCheckPointer = 3,
  /// i, s, name_str, bits, is_unsigned. int or bool, in the range of the type when bits < 64:
  /// ValueError `Invalid n on argument #i`, expected value in int32 range.
  kArgCheckInt = 4,
  /// i, s, name_str. int or bool; the slot gets 0 or 1.
  kArgCheckBool = 5,
  /// i, s, name_str. float, int or bool; the slot gets the bits of a double.
  kArgCheckFloat = 6,
  /// t, n. ValueError `Mismatched A.ndim`, expected n.
  kArgCheckNdim = 7,
  /// t, code, bits, lanes, dtype_str. TypeError `Mismatched A.dtype on argument #i`.
  kArgCheckDType = 8,
  /// t, k, s, bits, is_unsigned. slot = shape[k]; ValueError `Invalid A.shape[k]` if not
  /// representable in the symbol's type.
  kArgCheckBindShape = 9,
  /// t, k, slot, str. ValueError `Mismatched B.shape[k]`, expected str (`to match A.shape[j]`).
  kArgCheckMatchShape = 10,
  /// t, k, expr, str. ValueError `Invalid A.shape[k]`, expected str (constant or expression text).
  kArgCheckShape = 11,
  /// t, device_type, str. ValueError `Mismatched A.device_type`, expected str (`cpu`).
  kArgCheckDeviceType = 12,
  /// t, s. slot = device_id.
  kArgCheckBindDeviceId = 13,
  /// t, slot, str. ValueError `Mismatched B.device_id`, expected str (`to match A.device_id`).
  kArgCheckMatchDeviceId = 14,
  /// t, n, expr x n. Declared extents, first to last. Null strides, or row-major compact with any
  /// stride where the declared extent is 1, or any strides if an extent is 0.
  /// ValueError `Mismatched A.strides`, expected `to be compact array`.
  kArgCheckCompact = 15,
  /// t, k, s, bits. slot = strides[k], or the compact stride when strides is NULL.
  kArgCheckBindStride = 16,
  /// t, k, expr, str. ValueError `Invalid A.strides[k]`, expected str.
  kArgCheckStride = 17,
  /// t, s, alignment. slot = data; ValueError `A data pointer is NULL on argument #i` unless an
  /// extent is 0. alignment > 1: ValueError `Misaligned Tensor data`, expected
  /// `data alignment=N bytes`, tests data + byte_offset.
  kArgCheckData = 18,
  /// t, expr, str. ValueError `Invalid A.byte_offset`, expected str.
  kArgCheckByteOffset = 19,
  /// t, s, elem_bytes, factor. slot = byte_offset / elem_bytes; ValueError
  /// `Misaligned Tensor data` unless byte_offset is a multiple of elem_bytes * factor.
  kArgCheckBindElemOffset = 20,
  /// expr, kind_str, str0, n, str x n. General assertion: expr != 0, else raises an error of kind
  /// strings[kind_str] whose message is strings[str0], the suffix `when calling`, and the n parts.
  kArgCheckAssert = 21
};

/// An expr is `count, word x count`: a postfix program over int64 with wrap-around.
/// The frequent constant is {2, kArgExprConst, value}; a symbol {2, kArgExprSlot, slot}.
enum TVMArgCheckExpr {
  /// value. Push a constant.
  kArgExprConst = 1,
  /// slot. Push a slot.
  kArgExprSlot = 2,
  /// Pop b, pop a, push the result; division by zero gives 0 (and so a failed check).
  kArgExprAdd = 3,
  kArgExprSub = 4,
  kArgExprMul = 5,
  kArgExprFloorDiv = 6,
  kArgExprFloorMod = 7,
  kArgExprMin = 8,
  kArgExprMax = 9,
  kArgExprTruncDiv = 10,
  kArgExprTruncMod = 11,
  kArgExprShiftLeft = 12,
  kArgExprShiftRight = 13,
  kArgExprEq = 14,
  kArgExprNe = 15,
  kArgExprLt = 16,
  kArgExprLe = 17,
  kArgExprAnd = 18,
  kArgExprOr = 19
};

/// Deepest stack an expr may need; a writer turns deeper ones into AssertStmt.
enum { kArgExprMaxDepth = 16 };

#endif  // TVM_SUPPORT_ARGCHECK_H_
