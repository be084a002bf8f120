// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/te/create_prim_func.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "te/lower_compute.h"
#include "tirx/transform/index_dtype.h"

namespace tvm {
namespace te {

using tirx::AllocBuffer;
using tirx::Buffer;
using tirx::BufferRegion;
using tirx::PrimFunc;
using tirx::SBlock;
using tirx::SBlockRealize;
using tirx::SeqStmt;
using tirx::Stmt;

namespace {

constexpr const char* kLayoutFreePlaceholders = "layout_free_placeholders";

class FuncBuilder {
 public:
  PrimFunc Build(const ffi::Array<ffi::ObjectRef>& args) {
    ffi::Array<Tensor> outputs = BindParams(args);
    ffi::Array<Stmt> body;
    for (const Operation& op : PostDFSOrder(outputs)) body.push_back(LowerOp(op));
    body = DropEmpty(body);
    Stmt root_body = SeqStmt::Flatten(body);
    ffi::Map<ffi::String, ffi::Any> no_annotations;
    SBlock root({}, {}, {}, "root", root_body, std::nullopt, allocs_, {}, no_annotations);
    ffi::Map<ffi::String, ffi::Any> attrs{
        {"global_symbol", ffi::String("main")}, {"tirx.noalias", true}, {"s_tir", true}};
    ffi::Array<int64_t> layout_free = LayoutFreeParams(args);
    if (!layout_free.empty()) attrs.Set("layout_free_buffers", layout_free);
    return PrimFunc(params_, SBlockRealize({}, Bool(true), root), std::nullopt, DictAttrs(attrs));
  }

 private:
  /// Makes the parameters; returns the tensors to compute.
  ffi::Array<Tensor> BindParams(const ffi::Array<ffi::ObjectRef>& args) {
    ffi::Array<Tensor> outputs;
    for (const ffi::ObjectRef& arg : args) {
      if (auto scalar = arg.as<Var>()) {
        params_.push_back(*scalar);
        continue;
      }
      auto tensor = arg.as<Tensor>();
      if (!tensor.has_value()) {
        TVM_FFI_THROW(TypeError) << "create_prim_func takes tensors and variables, got "
                                 << arg->GetTypeKey();
      }
      if (env_.buffers.count(*tensor) != 0) {
        TVM_FFI_THROW(ValueError) << "create_prim_func: tensor " << (*tensor)->GetNameHint()
                                  << " is given twice";
      }
      Buffer buffer = MakeBuffer(*tensor);
      params_.push_back(buffer);
      if ((*tensor)->op.as<PlaceholderOpNode>() == nullptr) outputs.push_back(*tensor);
    }
    return outputs;
  }

  Buffer MakeBuffer(const Tensor& tensor) {
    std::string name = tensor->GetNameHint();
    for (char& c : name) {
      if (c == '.') c = '_';
    }
    Buffer buffer =
        tirx::decl_buffer(tensor->shape, tensor->dtype, buffer_names_.Fresh(std::move(name)));
    env_.buffers.emplace(tensor, buffer);
    return buffer;
  }

  Stmt LowerOp(const Operation& op) {
    if (op.as<PlaceholderOpNode>() != nullptr) {
      if (env_.buffers.count(op.output(0)) == 0) {
        TVM_FFI_THROW(ValueError) << "create_prim_func: the computation reads placeholder "
                                  << op->name << ", which is not among the arguments";
      }
      return Stmt();
    }
    ffi::Array<Buffer> outputs;
    for (int i = 0; i < op->num_outputs(); ++i) {
      Tensor output = op.output(i);
      auto it = env_.buffers.find(output);
      if (it != env_.buffers.end()) {
        outputs.push_back(it->second);
      } else {
        outputs.push_back(MakeBuffer(output));
        allocs_.push_back(outputs.back());
      }
    }
    ffi::Map<ffi::String, ffi::Any> annotations;
    for (const auto& [key, value] : op->attrs) {
      if (key == kLayoutFreePlaceholders) {
        for (const Tensor& tensor : value.cast<ffi::Array<Tensor>>()) layout_free_.insert(tensor);
      } else {
        annotations.Set(key, value);
      }
    }
    ffi::String block_name = block_names_.Fresh(std::string(op->name));
    if (const auto* compute = op.as<ComputeOpNode>()) {
      return LowerCompute(compute, block_name, outputs, annotations, env_);
    }
    if (const auto* ext = op.as<ExternOpNode>()) {
      return LowerExtern(ext, block_name, outputs, annotations, env_);
    }
    TVM_FFI_THROW(TypeError) << "create_prim_func: unsupported operation " << op->name
                             << " of type " << op->GetTypeKey()
                             << ", expected a placeholder, compute or extern";
    TVM_FFI_UNREACHABLE();
  }

  static ffi::Array<Stmt> DropEmpty(const ffi::Array<Stmt>& stmts) {
    ffi::Array<Stmt> result;
    for (const Stmt& stmt : stmts) {
      if (stmt.defined()) result.push_back(stmt);
    }
    return result;
  }

  ffi::Array<int64_t> LayoutFreeParams(const ffi::Array<ffi::ObjectRef>& args) const {
    ffi::Array<int64_t> indices;
    for (size_t i = 0; i < args.size(); ++i) {
      auto tensor = args[i].as<Tensor>();
      if (tensor.has_value() && layout_free_.count(*tensor) != 0) {
        indices.push_back(static_cast<int64_t>(i));
      }
    }
    return indices;
  }

  ffi::Array<Var> params_;
  ffi::Array<Buffer> allocs_;
  LowerEnv env_;
  NameTable buffer_names_;
  NameTable block_names_;
  std::unordered_set<Tensor> layout_free_;
};

}  // namespace

PrimFunc CreatePrimFuncFromArgs(const ffi::Array<ffi::ObjectRef>& args,
                                std::optional<DataType> index_dtype_override) {
  PrimFunc func = FuncBuilder().Build(args);
  if (index_dtype_override.has_value()) {
    func = tirx::ConvertIndexDtype(std::move(func), *index_dtype_override);
  }
  return func;
}

PrimFunc CreatePrimFunc(const ffi::Array<Tensor>& args,
                        std::optional<DataType> index_dtype_override) {
  return CreatePrimFuncFromArgs(ffi::Array<ffi::ObjectRef>(args.begin(), args.end()),
                                index_dtype_override);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("te.CreatePrimFunc", [](ffi::Array<ffi::ObjectRef> args,
                                                ffi::Optional<DLDataType> index_dtype_override) {
    std::optional<DataType> dtype;
    if (index_dtype_override.has_value()) dtype = DataType(index_dtype_override.value());
    return CreatePrimFuncFromArgs(args, dtype);
  });
}

}  // namespace te
}  // namespace tvm
