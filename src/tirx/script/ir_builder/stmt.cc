// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Statements: loops, scopes, stores, bindings.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/ir_builder.h>

#include <algorithm>
#include <string>

#include "script/ir_builder/api.h"

namespace tvm::tirx::ir_builder {

PrimExpr ConvertTo(DataType dtype, PrimExpr value, const ffi::String& what) {
  DataType from = value.dtype();
  if (from == dtype) return value;
  if (from.is_handle() || value.as<StringImmNode>() != nullptr) {
    TVM_FFI_THROW(TypeError) << "Incompatible types in " << what << ": expected " << dtype
                             << ", found " << value << " of type " << value->ty;
  }
  if (from.is_scalable_vector() != dtype.is_scalable_vector() && !from.is_scalar()) {
    TVM_FFI_THROW(TypeError) << "Incompatible types in " << what << ": expected " << dtype
                             << ", found " << from;
  }
  if (from.is_scalable_vector() || dtype.is_scalable_vector()) {
    if (from.is_scalar()) {
      TVM_FFI_THROW(TypeError) << "Incompatible types in " << what << ": expected " << dtype
                               << ", found the scalar " << from << "; use T.Broadcast";
    }
    return cast(dtype, std::move(value));
  }
  if (from.lanes() != dtype.lanes()) {
    TVM_FFI_THROW(TypeError) << "Incompatible types in " << what << ": LHS is `" << dtype
                             << "`, RHS is `" << from << "`, indexing lanes: " << dtype.lanes();
  }
  return cast(dtype, std::move(value));
}

namespace {

/// Type of a loop variable: that of the bounds; literals follow the other bound.
DataType LoopType(const PrimExpr& start, const PrimExpr& stop) {
  DataType a = start.dtype(), b = stop.dtype();
  for (DataType dtype : {a, b}) {
    if (!dtype.is_scalar() || !(dtype.is_int() || dtype.is_uint())) {
      TVM_FFI_THROW(TypeError) << "bounds of a loop must be scalar integers, found " << a << " and "
                               << b;
    }
  }
  if (start.as<IntImmNode>() != nullptr && stop.as<IntImmNode>() == nullptr && a.bits() == 32) {
    return b;
  }
  return a.bits() > b.bits() ? a : b;
}

/// [start, stop) such that `stop = start + extent` as written gives `extent` as written.
Range LoopRange(PrimExpr start, PrimExpr stop) {
  DataType dtype = LoopType(start, stop);
  start = ConvertTo(dtype, std::move(start), "the bounds of a loop");
  stop = ConvertTo(dtype, std::move(stop), "the bounds of a loop");
  if (is_zero(start)) return Range::FromMinExtent(start, stop);
  if (const auto* sum = stop.as<AddNode>()) {
    if (ExprDeepEqual()(sum->a, start)) return Range::FromMinExtent(start, sum->b);
  }
  arith::Analyzer analyzer;
  PrimExpr extent = stop - start;
  return Range::FromMinExtent(
      start, extent.as<IntImmNode>() != nullptr ? extent : analyzer->Simplify(extent));
}

ForFrame MakeFor(ffi::Array<Range> doms, ForKind kind,
                 ffi::Optional<ffi::Map<ffi::String, ffi::Any>> annotations,
                 ffi::Optional<ffi::String> thread, const ffi::Optional<PrimExpr>& step) {
  auto node = ffi::make_object<ForFrameNode>();
  for (const Range& dom : doms) node->vars.push_back(Var("v", dom->extent.dtype()));
  if (step.has_value()) {
    PrimExpr value = ConvertTo(doms[0]->extent.dtype(), step.value(), "the step of a loop");
    if (!is_one(value)) node->step = value;
  }
  node->doms = std::move(doms);
  node->kind = kind;
  node->thread = std::move(thread);
  if (annotations.has_value()) node->annotations = annotations.value();
  return ForFrame(std::move(node));
}

using Annotations = ffi::Optional<ffi::Map<ffi::String, ffi::Any>>;

Range LoopDomain(PrimExpr start, PrimExpr stop, const ffi::Optional<PrimExpr>& extent) {
  if (!extent.has_value()) return LoopRange(std::move(start), std::move(stop));
  DataType dtype = LoopType(start, stop);
  return Range::FromMinExtent(ConvertTo(dtype, std::move(start), "the bounds of a loop"),
                              ConvertTo(dtype, extent.value(), "the extent of a loop"));
}

template <ForKind kind>
ForFrame Loop(PrimExpr start, PrimExpr stop, Annotations annotations, ffi::Optional<PrimExpr> step,
              ffi::Optional<PrimExpr> extent) {
  return MakeFor({LoopDomain(std::move(start), std::move(stop), extent)}, kind,
                 std::move(annotations), std::nullopt, step);
}

ForFrame ThreadBinding(PrimExpr start, PrimExpr stop, const ffi::String& thread,
                       Annotations annotations, ffi::Optional<PrimExpr> step,
                       ffi::Optional<PrimExpr> extent) {
  return MakeFor({LoopDomain(std::move(start), std::move(stop), extent)}, ForKind::kThreadBinding,
                 std::move(annotations), thread, step);
}

ForFrame Grid(const ffi::Array<ffi::Any>& extents) {
  ffi::Array<Range> doms;
  for (const ffi::Any& entry : extents) {
    if (entry == nullptr) TVM_FFI_THROW(TypeError) << "an extent of T.grid must not be None";
    if (auto range = entry.as<Range>()) {
      doms.push_back(*range);
    } else {
      PrimExpr extent = entry.cast<PrimExpr>();
      doms.push_back(Range::FromMinExtent(make_zero(extent.dtype()), extent));
    }
  }
  if (doms.empty()) TVM_FFI_THROW(ValueError) << "T.grid needs at least one extent";
  return MakeFor(std::move(doms), ForKind::kSerial, std::nullopt, std::nullopt, std::nullopt);
}

AssertFrame MakeAssert(PrimExpr condition, StringImm kind, ffi::Array<StringImm> parts) {
  auto node = ffi::make_object<AssertFrameNode>();
  node->condition = std::move(condition);
  node->error_kind = std::move(kind);
  node->message_parts = std::move(parts);
  return AssertFrame(std::move(node));
}

AttrFrame MakeAttr(ffi::Any node, ffi::Array<ffi::String> keys, ffi::Array<Expr> values) {
  auto frame = ffi::make_object<AttrFrameNode>();
  frame->node = std::move(node);
  frame->attr_keys = std::move(keys);
  frame->values = std::move(values);
  return AttrFrame(std::move(frame));
}

HintFrame MakeHint(ffi::String message, ffi::Map<ffi::String, ffi::Any> attrs) {
  auto frame = ffi::make_object<HintFrameNode>();
  frame->message = std::move(message);
  frame->attrs = std::move(attrs);
  return HintFrame(std::move(frame));
}

WhileFrame MakeWhile(PrimExpr condition) {
  auto frame = ffi::make_object<WhileFrameNode>();
  frame->condition = std::move(condition);
  return WhileFrame(std::move(frame));
}

IfFrame MakeIf(PrimExpr condition) {
  auto frame = ffi::make_object<IfFrameNode>();
  frame->condition = std::move(condition);
  return IfFrame(std::move(frame));
}

/// Makes a thread axis of the function; `LaunchThread` gives it its extent.
Var EnvThread(const ffi::String& tag, DataType dtype) {
  IterVar iter(Range(), Var("", dtype), kThreadIndex, tag);
  RequireFunc("T.env_thread")->env_threads.Set(iter->var, iter);
  return iter->var;
}

/// `axis` is the tag of a new thread axis, or the variable of one that EnvThread made.
IterVar ThreadAxis(const ffi::Any& axis, DataType dtype) {
  if (auto tag = axis.as<ffi::String>()) {
    return IterVar(Range(), Var("", dtype), kThreadIndex, *tag);
  }
  if (auto iter = axis.as<IterVar>()) return *iter;
  Var var = axis.cast<Var>();
  auto iter = RequireFunc("T.launch_thread")->env_threads.Get(var);
  if (!iter.has_value()) {
    TVM_FFI_THROW(ValueError) << "T.launch_thread: " << var->name
                              << " was not made by T.env_thread in this function";
  }
  return *iter;
}

LaunchThreadFrame LaunchThread(const ffi::Any& axis, PrimExpr extent) {
  auto frame = ffi::make_object<LaunchThreadFrameNode>();
  IterVar iter = ThreadAxis(axis, extent.dtype());
  DataType dtype = iter->var->dtype();
  frame->extent = ConvertTo(dtype, std::move(extent), "the extent of a thread axis");
  if (!iter->dom.defined()) {
    // The variable is known to the script already; only its domain was not.
    const_cast<IterVarNode*>(iter.get())->dom =
        Range::FromMinExtent(make_zero(dtype), frame->extent);
  } else if (!ExprDeepEqual()(iter->dom->extent, frame->extent)) {
    TVM_FFI_THROW(ValueError) << "T.launch_thread: extent of " << iter->thread_tag << " was "
                              << iter->dom->extent << " before, now it is " << frame->extent;
  }
  bool is_virtual =
      iter->thread_tag == "vthread" || std::string(iter->thread_tag).rfind("vthread.", 0) == 0;
  frame->attr_key = is_virtual ? attr::virtual_thread : attr::thread_extent;
  frame->iter_var = std::move(iter);
  return LaunchThreadFrame(std::move(frame));
}

Var MakeBind(Expr value, ffi::Optional<Var> var) {
  if (value->ty.IsMissing()) {
    TVM_FFI_THROW(TypeError) << "T.bind: the type of " << value << " is not known";
  }
  Var bound = var.has_value() ? var.value() : Var("v", value->ty);
  AddToParent(Bind(bound, std::move(value), IRBuilder::CurrentSpan()));
  return bound;
}

DataType AccessType(const Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
  // A load knows the rules, and its errors.
  return BufferLoad(buffer, indices).dtype();
}

void Store(Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices,
           ffi::Optional<PrimExpr> predicate) {
  DataType dtype = AccessType(buffer, indices);
  value = ConvertTo(dtype, std::move(value), "BufferStore");
  AddToParent(BufferStore(std::move(buffer), std::move(value), std::move(indices),
                          std::move(predicate), IRBuilder::CurrentSpan()));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  script::ir_builder::BuilderApi()
      .def("script.ir_builder.tirx.Serial", Loop<ForKind::kSerial>)
      .def("script.ir_builder.tirx.Parallel", Loop<ForKind::kParallel>)
      .def("script.ir_builder.tirx.Vectorized", Loop<ForKind::kVectorized>)
      .def("script.ir_builder.tirx.Unroll", Loop<ForKind::kUnrolled>)
      .def("script.ir_builder.tirx.ThreadBinding", ThreadBinding)
      .def("script.ir_builder.tirx.Grid", Grid)
      .def("script.ir_builder.tirx.Assert", MakeAssert)
      .def("script.ir_builder.tirx.Attr", MakeAttr)
      .def("script.ir_builder.tirx.Hint", MakeHint)
      .def("script.ir_builder.tirx.While", MakeWhile)
      .def("script.ir_builder.tirx.If", MakeIf)
      .def("script.ir_builder.tirx.Then",
           [] { return ThenFrame(ffi::make_object<ThenFrameNode>()); })
      .def("script.ir_builder.tirx.Else",
           [] { return ElseFrame(ffi::make_object<ElseFrameNode>()); })
      .def("script.ir_builder.tirx.EnvThread",
           [](const ffi::String& tag, DLDataType dtype) { return EnvThread(tag, DataType(dtype)); })
      .def("script.ir_builder.tirx.LaunchThread", LaunchThread)
      .def("script.ir_builder.tirx.Bind", MakeBind)
      .def("script.ir_builder.tirx.BufferStore", Store);
  script::ir_builder::BuilderApi()
      .def("script.ir_builder.tirx.AddToParent", [](Stmt stmt) { AddToParent(std::move(stmt)); })
      .def("script.ir_builder.tirx.Evaluate",
           [](Expr value) { AddToParent(Evaluate(std::move(value), IRBuilder::CurrentSpan())); })
      .def("script.ir_builder.tirx.Return",
           [](Expr value) { AddToParent(Return(std::move(value), IRBuilder::CurrentSpan())); })
      .def("script.ir_builder.tirx.Break", [] { AddToParent(Break(IRBuilder::CurrentSpan())); })
      .def("script.ir_builder.tirx.Continue",
           [] { AddToParent(Continue(IRBuilder::CurrentSpan())); })
      .def("script.ir_builder.tirx.AssertStmt",
           [](PrimExpr condition, StringImm kind, ffi::Array<StringImm> parts) {
             AddToParent(AssertStmt(condition, kind, parts, IRBuilder::CurrentSpan()));
           })
      .def("script.ir_builder.tirx.AllocBuffer",
           [](Buffer buffer, ffi::Map<ffi::String, ffi::Any> annotations) {
             AddToParent(AllocBuffer(buffer, annotations, IRBuilder::CurrentSpan()));
             return buffer;
           })
      .def("script.ir_builder.tirx.DeclBuffer",
           [](Buffer buffer, Expr data) {
             AddToParent(DeclBuffer(buffer, data, IRBuilder::CurrentSpan()));
             return buffer;
           })
      .def("script.ir_builder.tirx.ScopeIdDef",
           [](ScopeIdDef def) { AddToParent(ScopeIdDefStmt(def, IRBuilder::CurrentSpan())); })
      .def("script.ir_builder.tirx.DeclBufferFrame",
           [](Buffer buffer, ffi::Optional<Expr> data) {
             auto frame = ffi::make_object<DeclBufferFrameNode>();
             frame->buffer = std::move(buffer);
             frame->data = std::move(data);
             return DeclBufferFrame(std::move(frame));
           })
      .def("script.ir_builder.tirx.AllocBufferFrame",
           [](Buffer buffer, ffi::Map<ffi::String, ffi::Any> annotations) {
             auto frame = ffi::make_object<AllocBufferFrameNode>();
             frame->buffer = std::move(buffer);
             frame->annotations = std::move(annotations);
             return AllocBufferFrame(std::move(frame));
           })
      .def("script.ir_builder.tirx.ComposeOp",
           [](ffi::Map<ffi::String, Buffer> workspace, ffi::Map<ffi::String, ffi::Any> config,
              ffi::Optional<ffi::String> dispatch, ExecScope scope) {
             auto frame = ffi::make_object<ComposeOpFrameNode>();
             frame->workspace = std::move(workspace);
             frame->config = std::move(config);
             frame->dispatch = std::move(dispatch);
             frame->scope = std::move(scope);
             return ComposeOpFrame(std::move(frame));
           });
}

}  // namespace tvm::tirx::ir_builder
