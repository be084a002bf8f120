// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Which kernels of a module need no compiling: equal ones, and those in the compile cache.
#ifndef TVM_DRIVER_KERNEL_REUSE_H_
#define TVM_DRIVER_KERNEL_REUSE_H_

#include <tvm/codegen/codegen.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>

namespace tvm {
namespace driver {

/// The functions left to lower and compile, and how to make up for the others.
struct KernelReuse {
  IRModule compile;
  codegen::CodeReuse reuse;
};

/// Looks at the kernels that the graph compiler made (attribute `tirx.no_arg_check`) before they
/// are lowered. Other functions always compile: passes and intrinsics that users register may
/// change what becomes of them.
KernelReuse PlanKernelReuse(const IRModule& mod, const Target& host, const ffi::String& pipeline);

/// What the options of the current pass context mean for a key; empty when they cannot be told.
std::string PassOptionsText();

}  // namespace driver
}  // namespace tvm
#endif  // TVM_DRIVER_KERNEL_REUSE_H_
