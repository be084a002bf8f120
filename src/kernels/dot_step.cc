// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/dot_step.h"

#include <tvm/target/cpu_features.h>

namespace tvm {
namespace kernels {
namespace {

bool IsByte(DataType dtype) {
  return (dtype.is_int() || dtype.is_uint()) && dtype.bits() == 8 && dtype.lanes() == 1;
}

/// One way to multiply on one kind of processor; the first row that fits is taken.
struct StepRow {
  bool (*has)(const CpuFeatures&);
  /// Whether elements of A and B are signed; -1: either.
  int a_signed, b_signed;
  int bits;  // of A's and B's elements as they are multiplied
  int64_t group;
  bool shifts_a;
};

bool HasVnni(const CpuFeatures& f) { return f.avx512vnni || f.avxvnni; }
bool HasDotProd(const CpuFeatures& f) { return f.dotprod && f.vector_bits == 128; }
/// pmaddwd: signed pairs of 16 bits, which bytes of either kind fit.
bool HasPairs(const CpuFeatures& f) {
  if (f.arch != "x86_64" && f.arch != "i386") return false;
  return f.vector_bits == 128 || (f.vector_bits == 256 && f.avx2) ||
         (f.vector_bits == 512 && f.avx512bw);
}

constexpr StepRow kByteRows[] = {
    {HasVnni, 0, 1, 8, 4, false},
    {HasVnni, 1, 1, 8, 4, true},
    {HasDotProd, 1, 1, 8, 4, false},
    {HasDotProd, 0, 0, 8, 4, false},
    {[](const CpuFeatures& f) { return HasDotProd(f) && f.i8mm; }, 0, 1, 8, 4, false},
    {HasPairs, -1, -1, 16, 2, false},
};

/// Cores that have avx512fp16 take two cycles for each vdpbf16ps (measured on Emerald Rapids), in
/// which they do twice as many multiply-adds of float32.
bool HasFastBFloat16(const CpuFeatures& f) {
  return f.avx512bf16 && (f.vector_bits == 512 || f.avx512vl) && !f.avx512fp16;
}

}  // namespace

DataType SumType(DataType out) {
  return out.is_any_float() && out.bits() < 32 ? DataType::Float(32) : out;
}

std::optional<DotStep> ChooseDotStep(DataType a, DataType b, DataType acc, const Target& target) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const bool vectors = cpu.vector_bits >= 128;
  auto number = [](DataType t) {
    return (t.is_any_float() || t.is_int() || t.is_uint()) && t.bits() >= 8 && !t.is_bool();
  };
  if (!number(a) || !number(b)) return std::nullopt;
  if (acc.is_int() && acc.bits() == 32) {
    if (a.is_any_float() || b.is_any_float() || a.bits() > 32 || b.bits() > 32) {
      return std::nullopt;
    }
    for (const StepRow& row : kByteRows) {
      if (!vectors || !IsByte(a) || !IsByte(b) || !row.has(cpu)) continue;
      if (row.a_signed >= 0 && row.a_signed != static_cast<int>(a.is_int())) continue;
      if (row.b_signed >= 0 && row.b_signed != static_cast<int>(b.is_int())) continue;
      const bool wider = row.bits > 8;
      return DotStep{acc,
                     wider          ? DataType::Int(row.bits)
                     : row.shifts_a ? DataType::UInt(8)
                                    : a,
                     wider ? DataType::Int(row.bits) : b, row.group, row.shifts_a};
    }
    return DotStep{acc, acc, acc, 1, false};
  }
  if (!acc.is_float() || acc.bits() < 32) return std::nullopt;
  if (vectors && HasFastBFloat16(cpu) && acc.bits() == 32 && a.is_bfloat16() && b.is_bfloat16()) {
    return DotStep{acc, a, b, 2, false};
  }
  return DotStep{acc, acc, acc, 1, false};
}

}  // namespace kernels
}  // namespace tvm
