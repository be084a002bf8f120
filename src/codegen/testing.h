// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Hand-built packed functions for tests of code generators, without the lowering passes.
#ifndef TVM_CODEGEN_TESTING_H_
#define TVM_CODEGEN_TESTING_H_

#include <tvm/codegen/codegen.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ir/module.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt.h>

#include <string>
#include <vector>

namespace tvm {
namespace codegen {
namespace testing {

using namespace tirx;  // NOLINT

inline Buffer Vector(const char* name, DataType dtype, int64_t n, const char* scope = "global") {
  return decl_buffer({PrimExpr(n)}, dtype, name, scope);
}

/// `int f(self, args, num_args, result)` whose arguments are DLTensor pointers, one a buffer.
inline PrimFunc Packed(const std::string& name, const std::vector<Buffer>& buffers, Stmt body,
                       bool noalias = true) {
  Var self("self", HandleType()), args("args", HandleType());
  Var num_args("num_args", DataType::Int(32)), result("result", HandleType());
  std::vector<Stmt> seq;
  int index = 0;
  for (const Buffer& buffer : buffers) {
    Var tensor(std::string(buffer->name) + "_tensor", HandleType());
    Var data(std::string(buffer->name) + "_data", HandleType());
    seq.push_back(
        Bind(tensor, StructGet(HandleType(), args, index++, builtin::kTVMFFIAnyUnionValue)));
    seq.push_back(Bind(data, StructGet(HandleType(), tensor, 0, builtin::kDLTensorData)));
    seq.push_back(DeclBuffer(buffer, data));
  }
  seq.push_back(body);
  PrimFunc func({self, args, num_args, result}, SeqStmt::Flatten(seq), PrimType(DataType::Int(32)));
  func = WithAttr(std::move(func), tvm::attr::kGlobalSymbol, ffi::String("__tvm_ffi_" + name));
  func = WithAttr(std::move(func), tvm::attr::kCallingConv, static_cast<int64_t>(1));
  if (noalias) func = WithAttr(std::move(func), tirx::attr::kNoAlias, true);
  return func;
}

inline IRModule ModuleOf(const std::vector<PrimFunc>& funcs) {
  IRModule mod;
  for (const PrimFunc& func : funcs) {
    const std::string symbol(*func->GetAttr<ffi::String>(tvm::attr::kGlobalSymbol));
    mod.CopyOnWrite()->Add(GlobalVar(symbol), func);
  }
  return mod;
}

inline ffi::Module BuildFor(const std::vector<PrimFunc>& funcs, const char* target = "llvm") {
  return Build(ModuleOf(funcs), Target(target));
}

/// A std::vector seen as a one-dimensional CPU tensor.
template <typename T>
class Tensor1D {
 public:
  Tensor1D(std::vector<T>* values, DataType dtype) : size_(static_cast<int64_t>(values->size())) {
    view_ = DLTensor{};
    view_.data = values->data();
    view_.device = {kDLCPU, 0};
    view_.ndim = 1;
    view_.dtype = dtype;
    view_.shape = &size_;
  }
  operator DLTensor*() { return &view_; }  // NOLINT(*)

 private:
  int64_t size_;
  DLTensor view_;
};

/// Serial loop of constant extent.
inline Stmt Loop(const Var& var, int64_t extent, Stmt body, ForKind kind = ForKind::kSerial) {
  return For(var, PrimExpr(0), PrimExpr(extent), kind, std::move(body));
}

}  // namespace testing
}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_TESTING_H_
