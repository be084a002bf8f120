// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Functions, parameters, and what stands directly in a function.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/ir_builder.h>

#include "script/ir_builder/api.h"

namespace tvm::tirx::ir_builder {

namespace {

PrimFuncFrame MakePrimFunc(bool is_private, bool s_tir, bool persistent) {
  auto node = ffi::make_object<PrimFuncFrameNode>();
  node->is_private = is_private;
  node->s_tir = s_tir;
  node->persistent = persistent;
  return PrimFuncFrame(std::move(node));
}

/// Adds a parameter. The frame may not use one variable for two parameters.
Var Arg(const ffi::String& name, Var var) {
  PrimFuncFrame frame = RequireFunc("T.arg");
  bool taken = IsBuffer(var.get());
  for (const Var& arg : frame->args) taken = taken || arg.same_as(var);
  if (taken) var = var.copy_with_name(name);
  IRBuilder::NameObject(name, var);
  frame->args.push_back(var);
  return var;
}

void FuncName(const ffi::String& name) {
  PrimFuncFrame frame = RequireFunc("T.func_name");
  if (frame->name.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate prim func name, previous one is: "
                              << frame->name.value();
  }
  frame->name = name;
}

void FuncAttrs(const ffi::Map<ffi::String, ffi::Any>& attrs) {
  PrimFuncFrame frame = RequireFunc("T.func_attr");
  for (const auto& [key, value] : attrs) {
    if (key == tvm::attr::kGlobalSymbol) {
      if (frame->is_private) {
        TVM_FFI_THROW(ValueError) << "A private function may not have the kGlobalSymbol ("
                                  << tvm::attr::kGlobalSymbol << ") attribute";
      }
    } else if (frame->attrs.count(key) != 0) {
      TVM_FFI_THROW(ValueError) << "Duplicate prim func annotation: " << key;
    }
    frame->attrs.Set(key, value);
  }
}

Type FuncRet(const Type& type) {
  PrimFuncFrame frame = RequireFunc("T.func_ret");
  if (frame->ret_type.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate prim func return type, previous one is "
                              << frame->ret_type.value();
  }
  frame->ret_type = type;
  return type;
}

/// `source` is a pointer parameter (the buffer takes its place) or, in a block, a region.
Buffer MatchBuffer(Buffer buffer, const ffi::Any& source) {
  if (auto param = source.as<Var>(); param.has_value() && !IsBuffer(param->get())) {
    PrimFuncFrame frame = RequireFunc("T.match_buffer");
    for (size_t i = 0; i < frame->args.size(); ++i) {
      if (!frame->args[i].same_as(*param)) continue;
      if ((*param)->ty.as<PointerTypeNode>() == nullptr) {
        TVM_FFI_THROW(TypeError) << "T.match_buffer: parameter " << (*param)->name
                                 << " must be a handle, but has type " << (*param)->ty;
      }
      frame->args.Set(i, buffer);
      return buffer;
    }
    TVM_FFI_THROW(ValueError) << "Can not bind non-input param to buffer: " << (*param)->name;
  }
  ffi::Optional<BufferRegion> region = source.as<BufferRegion>();
  if (auto whole = source.as<Buffer>()) region = BufferRegion::FullRegion(*whole);
  if (auto load = source.as<BufferLoad>()) {
    region = BufferRegion::FromPoint((*load)->buffer, (*load)->indices);
  }
  if (!region.has_value()) {
    TVM_FFI_THROW(TypeError)
        << "T.match_buffer expects a parameter or the region of a buffer, found "
        << source.GetTypeKey();
  }
  SBlockFrame block = RequireSBlock("T.match_buffer of a region");
  block->match_buffers.push_back(MatchBufferRegion(buffer, *region));
  return buffer;
}

Buffer SBlockAllocBuffer(Buffer buffer) {
  PrimFuncFrame func = RequireFunc("T.sblock_alloc_buffer");
  if (!func->s_tir) {
    TVM_FFI_THROW(ValueError)
        << "`T.sblock_alloc_buffer()` is only for s_tir PrimFuncs. Use `T.alloc_buffer()` inside "
           "default (tirx) PrimFuncs.";
  }
  IRBuilder builder = IRBuilder::Current();
  if (SBlockFrame block = builder->LastFrame<SBlockFrame>(); block.defined()) {
    block->alloc_buffers.push_back(buffer);
  } else if (builder->LastFrame<PrimFuncFrame>().defined()) {
    func->root_alloc_buffers.push_back(buffer);
  } else {
    TVM_FFI_THROW(ValueError) << "Block frame or PrimFunc frame not find. Please ensure "
                                 "'T.sblock_alloc_buffer' is called under 'T.sblock()' or "
                                 "'T.prim_func()'";
  }
  return buffer;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  script::ir_builder::BuilderApi()
      .def("script.ir_builder.tirx.PrimFunc", MakePrimFunc)
      .def("script.ir_builder.tirx.Arg", Arg)
      .def("script.ir_builder.tirx.FuncName", FuncName)
      .def("script.ir_builder.tirx.FuncAttrs", FuncAttrs)
      .def("script.ir_builder.tirx.FuncRet", FuncRet)
      .def("script.ir_builder.tirx.MatchBuffer", MatchBuffer)
      .def("script.ir_builder.tirx.SBlockAllocBuffer", SBlockAllocBuffer);
}

}  // namespace tvm::tirx::ir_builder
