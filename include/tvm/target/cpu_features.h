// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What a CPU target can do, from its mcpu and mattr or from the machine itself.
#ifndef TVM_TARGET_CPU_FEATURES_H_
#define TVM_TARGET_CPU_FEATURES_H_

#include <tvm/target/target.h>

#include <string>
#include <vector>

namespace tvm {

struct CpuFeatures {
  /// Architecture part of the triple: "x86_64", "aarch64", "riscv64", ...
  std::string arch;
  /// Width of the vector registers that kernels should use; 0 where code has scalars only, as for
  /// the target `c`: the compiler of the source finds vectors in the loops.
  int vector_bits = 128;
  int num_vector_registers = 16;
  // x86
  bool sse41 = false, avx = false, avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false;
  bool avx512vnni = false, avx512bf16 = false, avx512fp16 = false, avxvnni = false;
  bool amx_tile = false, amx_int8 = false, amx_bf16 = false;
  // arm
  bool neon = false, dotprod = false, i8mm = false, bf16 = false, fp16 = false, sve = false;
  bool sme = false;
  // riscv
  bool rvv = false;
  /// Bytes per core (l1d, l2) and per socket (l3); 0 when unknown.
  int64_t l1d = 32 * 1024, l2 = 512 * 1024, l3 = 0;
  int num_cores = 1;

  /// Lanes of a register for elements of that width.
  int Lanes(int element_bits) const { return vector_bits / element_bits; }
};

/// Features of a CPU target. An llvm target with neither mcpu nor mattr, or mcpu "native", is this
/// machine; with an mcpu, what that CPU is documented to have, then mattr's +/- on top.
TVM_DLL CpuFeatures CpuFeaturesOf(const Target& target);
/// This machine, detected once.
TVM_DLL const CpuFeatures& HostCpuFeatures();
/// LLVM's name of this machine's CPU ("skylake-avx512"), or "generic".
TVM_DLL const std::string& HostCpuName();
/// Names of LLVM features ("+avx2") that switch on what `features` says.
TVM_DLL std::vector<std::string> LLVMFeatureNames(const CpuFeatures& features);

}  // namespace tvm
#endif  // TVM_TARGET_CPU_FEATURES_H_
