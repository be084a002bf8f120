// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Passes over PrimFuncs. Each returns the function object it got when nothing changed.
#ifndef TVM_TIRX_TRANSFORM_H_
#define TVM_TIRX_TRANSFORM_H_

#include <tvm/ir/transform.h>
#include <tvm/target/target.h>
#include <tvm/tirx/function.h>

#include <functional>
#include <string>

namespace tvm {
namespace tirx {
namespace transform {

using tvm::transform::CreateModulePass;
using tvm::transform::Pass;
using tvm::transform::PassContext;
using tvm::transform::PassInfo;
using tvm::transform::Sequential;

using PrimFuncPassFn = std::function<PrimFunc(PrimFunc, const IRModule&, const PassContext&)>;

/// Module pass that applies `run` to every PrimFunc and keeps the module object if all stay equal.
TVM_DLL Pass CreatePrimFuncPass(PrimFuncPassFn run, int opt_level, ffi::String name,
                                ffi::Array<ffi::String> required = {});

/// One registered pass without options; see PassRegistration.
struct PrimFuncPassSpec {
  const char* name;     ///< "tirx.RemoveNoOp": layer and pass
  const char* summary;  ///< one sentence
  PrimFunc (*run)(PrimFunc, const PassContext&);
  int opt_level = 0;
};

/// Static object in a pass's file: defines the global `<layer>.transform.<Name>` that makes it.
class PrimFuncPassRegistration {
 public:
  TVM_DLL explicit PrimFuncPassRegistration(const PrimFuncPassSpec& spec);
  /// The pass itself, for the C++ factory.
  TVM_DLL Pass Create() const;

 private:
  PrimFuncPassSpec spec_;
};

// Whole functions and modules.
TVM_DLL Pass Apply(std::function<PrimFunc(PrimFunc)> func);
TVM_DLL Pass Filter(std::function<bool(PrimFunc)> keep);
TVM_DLL Pass BindTarget(Target target);
TVM_DLL Pass AnnotateEntryFunc();
TVM_DLL Pass SplitHostDevice();
TVM_DLL Pass MakePackedAPI();

// Cleanup and simplification.
TVM_DLL Pass StmtSimplify();
TVM_DLL Pass RemoveNoOp();
TVM_DLL Pass RemoveAssume();
TVM_DLL Pass SkipAssert();
TVM_DLL Pass ConvertSSA();
TVM_DLL Pass CommonSubexprElim();
TVM_DLL Pass NarrowDataType(int target_bits);
TVM_DLL Pass ForceNarrowIndexToInt32();

// Buffers and loops.
TVM_DLL Pass FlattenBuffer();
TVM_DLL Pass VectorizeLoop(bool enable_vectorize = true);
TVM_DLL Pass UnrollLoop();
TVM_DLL Pass StorageRewrite();

// Host code.
TVM_DLL Pass LowerTVMBuiltin();
TVM_DLL Pass LowerIntrin();

// Verification.
TVM_DLL Pass VerifyMemory();
TVM_DLL Pass VerifySSA();

}  // namespace transform
}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_TRANSFORM_H_
