// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lowers what the host asks of the runtime: packed calls put their arguments on a stack of
/// TVMFFIAny values, tensors and shapes passed along are built on the stack, and allocations that
/// are too large for the stack come from the workspace pool of the device.
///
///   B = alloc_buffer((n,))         ==>    p = bind(TVMBackendAllocWorkspace(1, 0, n * 4, 2, 32))
///   ...                                   if isnullptr(p): throw_last_error()
///                                         B = decl_buffer((n,), data=p)
///                                         ...
///                                         TVMBackendFreeWorkspace(1, 0, p)
///
/// A list of any values is an array of TVMFFIAny. What a call puts into one is moved there from the
/// stack of arguments by anylist_move, which lets go of the element that was there.
#include <tvm/ffi/c_api.h>
#include <tvm/target/target.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

/// Largest allocation in global scope that stays on the stack.
constexpr int64_t kMaxStackAlloca = 1024;
/// The same for buffers that a kernel asked to be local: register tiles and packed panels.
constexpr int64_t kMaxLocalStackAlloca = 64 * 1024;

int64_t ElementBytes(DataType dtype) { return (dtype.bits() * dtype.lanes() + 7) / 8; }

class BuiltinLowerer final : public StmtExprMutator {
 public:
  explicit BuiltinLowerer(int device_type) : device_type_(IntImm::Int32(device_type)) {}

  Stmt Lower(const Stmt& body) { return InStackFrame(body); }

 private:
  /// Stack space of one function or of one parallel body, which runs on a stack of its own.
  struct Frame {
    Var args{"stack_ffi_any", PointerType::VoidPointerTy()};
    Var shapes{"stack_shape", PointerType::VoidPointerTy()};
    Var arrays{"stack_array", PointerType::VoidPointerTy()};
    int64_t max_args = 0, max_shapes = 0, max_arrays = 0;
    // In use by the statement being lowered.
    int64_t used_args = 0, used_shapes = 0, used_arrays = 0;
  };

  Stmt InStackFrame(const Stmt& body) {
    Frame outer = std::move(frame_);
    std::vector<Var> outer_workspaces = std::move(workspaces_);
    frame_ = Frame();
    workspaces_.clear();
    Stmt lowered = VisitStmt(body);
    ffi::Array<Stmt> seq;
    auto reserve = [&seq](const Var& var, const char* kind, int64_t count) {
      if (count == 0) return;
      seq.push_back(Bind(var, Call(var->ty, builtin::tvm_stack_alloca(),
                                   {StringImm(kind), IntImm::Int32(count)})));
    };
    reserve(frame_.args, "tvm_ffi_any", frame_.max_args);
    reserve(frame_.shapes, "shape", frame_.max_shapes);
    reserve(frame_.arrays, "array", frame_.max_arrays);
    frame_ = std::move(outer);
    workspaces_ = std::move(outer_workspaces);
    if (seq.empty()) return lowered;
    return SeqStmt::Flatten(seq, lowered);
  }

  // ---- statements ----

  Stmt VisitStmt(const Stmt& stmt) final {
    // Expressions of a statement may need statements in front of it. Those are kept apart from what
    // the statement around this one collects.
    std::vector<Stmt> outer = std::move(prologue_);
    prologue_.clear();
    int64_t args = frame_.used_args, shapes = frame_.used_shapes, arrays = frame_.used_arrays;
    Stmt result = StmtExprMutator::VisitStmt(stmt);
    frame_.used_args = args;
    frame_.used_shapes = shapes;
    frame_.used_arrays = arrays;
    if (!prologue_.empty()) {
      result = SeqStmt::Flatten(prologue_, result);
    }
    prologue_ = std::move(outer);
    return result;
  }

  Stmt VisitStmt_(const ForNode* op) final {
    if (op->kind != ForKind::kParallel) return StmtExprMutator::VisitStmt_(op);
    PrimExpr min = VisitPrimExpr(op->min);
    PrimExpr extent = VisitPrimExpr(op->extent);
    Stmt body = InStackFrame(op->body);
    if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) {
      return ffi::GetRef<Stmt>(op);
    }
    For loop = ffi::GetRef<For>(op);
    ForNode* node = loop.CopyOnWrite();
    node->min = min;
    node->extent = extent;
    node->body = body;
    return loop;
  }

  Stmt VisitStmt_(const WhileNode* op) final {
    PrimExpr condition = VisitPrimExpr(op->condition);
    TVM_FFI_CHECK(prologue_.empty(), ValueError)
        << "LowerTVMBuiltin: a packed call in the condition of a while loop is not supported";
    Stmt body = VisitStmt(op->body);
    if (condition.same_as(op->condition) && body.same_as(op->body)) return ffi::GetRef<Stmt>(op);
    return While(condition, body, op->span);
  }

  Stmt VisitStmt_(const AttrStmtNode* op) final {
    if (op->attr_key == attr::device_type) {
      PrimExpr saved = device_type_;
      device_type_ = PrimExpr(op->value);
      Stmt body = VisitStmt(op->body);
      device_type_ = saved;
      return body;
    }
    if (op->attr_key == attr::device_id) {
      PrimExpr saved = device_id_;
      device_id_ = PrimExpr(op->value);
      Stmt body = VisitStmt(op->body);
      device_id_ = saved;
      return body;
    }
    // The code of a compute scope may be moved into a function of its own.
    if (op->attr_key == attr::compute_scope) {
      Stmt body = InStackFrame(op->body);
      if (body.same_as(op->body)) return ffi::GetRef<Stmt>(op);
      return AttrStmt(op->node, op->attr_key, op->value, body, op->span);
    }
    return StmtExprMutator::VisitStmt_(op);
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    size_t live = workspaces_.size();
    bool changed = false;
    ffi::Array<Stmt> seq;
    for (const Stmt& stmt : op->seq) {
      Stmt result = VisitStmt(stmt);
      changed = changed || !result.same_as(stmt);
      seq.push_back(result);
    }
    bool ends_in_return = seq.size() > 0 && seq[seq.size() - 1].as<ReturnNode>() != nullptr;
    while (workspaces_.size() > live) {
      if (!ends_in_return) seq.push_back(FreeWorkspace(workspaces_.back()));
      workspaces_.pop_back();
      changed = true;
    }
    if (!changed) return ffi::GetRef<Stmt>(op);
    return SeqStmt::Flatten(seq);
  }

  Stmt VisitStmt_(const ReturnNode* op) final {
    Stmt visited = StmtExprMutator::VisitStmt_(op);
    if (workspaces_.empty()) return visited;
    ffi::Array<Stmt> seq;
    for (size_t i = workspaces_.size(); i-- > 0;) seq.push_back(FreeWorkspace(workspaces_[i]));
    seq.push_back(visited);
    return SeqStmt(seq);
  }

  Stmt VisitStmt_(const AllocBufferNode* op) final {
    const Buffer& buffer = op->buffer;
    if (op->annotations.count(attr::disable_lower_builtin)) return ffi::GetRef<Stmt>(op);
    std::string scope(buffer.scope());
    bool is_local = scope == "local";
    if (!is_local && scope != "global" && !scope.empty()) return ffi::GetRef<Stmt>(op);
    PrimExpr elements = make_const(DataType::Int(64), 1);
    for (const PrimExpr& extent : buffer.shape()) {
      elements = elements * cast(DataType::Int(64), extent);
    }
    PrimExpr bytes = elements * IntImm::Int64(ElementBytes(buffer.dtype()));
    const int64_t* constant = as_const_int(bytes);
    int64_t limit = is_local ? kMaxLocalStackAlloca : kMaxStackAlloca - 1;
    if (constant != nullptr && *constant <= limit) return ffi::GetRef<Stmt>(op);
    Var pointer(std::string(buffer->name) + "_ptr",
                PointerType(PrimType(buffer.dtype()), buffer.scope()));
    Expr alloc = Call(pointer->ty, builtin::TVMBackendAllocWorkspace(),
                      {device_type_, device_id_, cast(DataType::UInt(64), bytes),
                       IntImm::Int32(buffer.dtype().code()), IntImm::Int32(buffer.dtype().bits())});
    workspaces_.push_back(pointer);
    return SeqStmt::Flatten(
        Bind(pointer, alloc),
        IfThenElse(PrimExpr(Call(DataType::Bool(), builtin::isnullptr(), {pointer})),
                   Evaluate(Call(DataType::Int(32), builtin::tvm_throw_last_error(), {}))),
        DeclBuffer(buffer, pointer));
  }

  Stmt FreeWorkspace(const Var& pointer) {
    PrimExpr status(Call(DataType::Int(32), builtin::TVMBackendFreeWorkspace(),
                         {device_type_, device_id_, pointer}));
    return IfThenElse(not_equal(status, IntImm::Int32(0)),
                      Evaluate(Call(DataType::Int(32), builtin::tvm_throw_last_error(), {})));
  }

  // ---- calls ----

  Expr VisitExpr_(const CallNode* op) final {
    if (op->op.same_as(builtin::tvm_call_packed())) {
      return PackedCall(op, builtin::tvm_call_packed_lowered(), 1, 0);
    }
    if (op->op.same_as(builtin::tvm_call_cpacked())) {
      return PackedCall(op, builtin::tvm_call_cpacked_lowered(), 1, 1);
    }
    if (op->op.same_as(builtin::tvm_call_trace_packed())) {
      return PackedCall(op, builtin::tvm_call_trace_packed_lowered(), 1, 0);
    }
    if (op->op.same_as(builtin::anylist_setitem_call_packed())) {
      return CallIntoList(op, builtin::tvm_call_packed_lowered(), 0);
    }
    if (op->op.same_as(builtin::anylist_setitem_call_cpacked())) {
      return CallIntoList(op, builtin::tvm_call_cpacked_lowered(), 1);
    }
    if (op->op.same_as(builtin::anylist_getitem())) {
      return ListItem(op, HandleType(), builtin::kTVMFFIAnyUnionValue);
    }
    if (op->op.same_as(builtin::tvm_stack_make_shape())) return MakeShape(op);
    if (op->op.same_as(builtin::tvm_stack_make_array())) return MakeArray(op);
    if (op->op.same_as(builtin::tvm_context_id())) return IntImm::Int32(0);
    return StmtExprMutator::VisitExpr_(op);
  }

  void Push(Expr effect) { prologue_.push_back(Evaluate(std::move(effect))); }

  /// Arguments from `first` on, but for `trailing` ones at the end, go to the stack.
  Expr PackedCall(const CallNode* op, const Op& lowered, size_t first, size_t trailing) {
    TVM_FFI_CHECK(op->args.size() >= first + trailing, ValueError)
        << "LowerTVMBuiltin: " << lowered->name << " lacks arguments";
    int64_t begin = frame_.used_args;
    size_t count = op->args.size() - first - trailing;
    // Inner calls run before this one fills its slots, and use the slots behind.
    frame_.used_args = begin + static_cast<int64_t>(count) + 1;
    frame_.max_args = std::max(frame_.max_args, frame_.used_args);
    std::vector<Expr> values;
    for (size_t i = 0; i < count; ++i) {
      const Expr& arg = op->args[first + i];
      values.push_back(AsListItem(arg) != nullptr ? arg : VisitExpr(arg));
    }
    for (size_t i = 0; i < count; ++i) SetArg(begin + static_cast<int64_t>(i), values[i]);
    int64_t end = begin + static_cast<int64_t>(count);
    // By name, or the handle of a function.
    Expr callee = op->args[0].as<StringImmNode>() ? op->args[0] : VisitExpr(op->args[0]);
    ffi::Array<Expr> args{callee, frame_.args, IntImm::Int32(begin), IntImm::Int32(end)};
    for (size_t i = 0; i < trailing; ++i) args.push_back(op->args[first + count + i]);
    if (lowered.same_as(builtin::tvm_call_trace_packed_lowered())) {
      TVM_FFI_CHECK(count > 0, ValueError) << "LowerTVMBuiltin: a traced call needs a value";
      args.push_back(values[count - 1]);
    }
    return Call(op->ty, lowered, args, op->attrs, op->ty_args, op->span);
  }

  // ---- lists of any values ----

  static int ListIndex(const CallNode* op) {
    const int64_t* index = op->args.size() > 1 ? as_const_int(op->args[1]) : nullptr;
    TVM_FFI_CHECK(index != nullptr && *index >= 0 && *index <= INT32_MAX, ValueError)
        << "LowerTVMBuiltin: the index of " << op->op.as<OpNode>()->name
        << " must be a constant that is not negative";
    return static_cast<int>(*index);
  }

  Expr ListItem(const CallNode* op, Type type, builtin::TVMStructFieldKind field) {
    return StructGet(std::move(type), VisitExpr(op->args[0]), ListIndex(op), field);
  }

  /// (list, index, callee, args...): calls, and moves the result into the list.
  Expr CallIntoList(const CallNode* op, const Op& lowered, size_t trailing) {
    TVM_FFI_CHECK(op->args.size() >= 3, ValueError)
        << "LowerTVMBuiltin: " << op->op.as<OpNode>()->name << " lacks arguments";
    const int index = ListIndex(op);
    ffi::Array<Expr> args(op->args.begin() + 2, op->args.end());
    // Typed as a pointer, the lowered call leaves an object it returns alone.
    Call call(HandleType(), op->op, args);
    Expr result = PackedCall(call.get(), lowered, 1, trailing);
    Push(result);
    PrimExpr end(result.as<CallNode>()->args[3]);
    static const Op& move = *new Op(Op::Get("tirx.anylist_move"));
    return Call(DataType::Int(32), move,
                {VisitExpr(op->args[0]), IntImm::Int32(index), frame_.args, end});
  }

  static const CallNode* AsListItem(const Expr& value) {
    const auto* call = value.as<CallNode>();
    return call != nullptr && call->op.same_as(builtin::anylist_getitem()) ? call : nullptr;
  }

  /// The argument is the element as it is, whatever its type.
  void SetArgFromList(int slot, const CallNode* item) {
    auto copy = [&](builtin::TVMStructFieldKind field, DataType dtype) {
      Push(StructSet(frame_.args, slot, field, ListItem(item, PrimType(dtype), field)));
    };
    copy(builtin::kTVMFFIAnyTypeIndex, DataType::Int(32));
    copy(builtin::kTVMFFIAnyZeroPadding, DataType::Int(32));  // the length of a small string
    copy(builtin::kTVMFFIAnyUnionValue, DataType::Int(64));
  }

  void SetArg(int64_t slot, const Expr& value) {
    int index = static_cast<int>(slot);
    if (const CallNode* item = AsListItem(value)) return SetArgFromList(index, item);
    Expr stored = value;
    PrimExpr type_index;
    if (value.as<StringImmNode>() != nullptr) {
      type_index = IntImm::Int32(kTVMFFIRawStr);
    } else if (IsArrayPointer(value)) {
      type_index = IntImm::Int32(kTVMFFIDLTensorPtr);
    } else {
      DataType dtype = value->dtype();
      TVM_FFI_CHECK(dtype.is_handle() || dtype.is_scalar(), TypeError)
          << "LowerTVMBuiltin: an argument of dtype " << dtype
          << " cannot be passed to a packed function";
      if (dtype.is_handle()) {
        PrimExpr is_null(Call(DataType::Bool(), builtin::isnullptr(), {value}));
        type_index = Select(is_null, IntImm::Int32(kTVMFFINone), IntImm::Int32(kTVMFFIOpaquePtr));
      } else if (dtype.is_bool()) {
        type_index = IntImm::Int32(kTVMFFIBool);
        stored = cast(DataType::Int(64), PrimExpr(value));
      } else if (dtype.is_int() || dtype.is_uint()) {
        type_index = IntImm::Int32(kTVMFFIInt);
        stored = cast(DataType::Int(64), PrimExpr(value));
      } else {
        type_index = IntImm::Int32(kTVMFFIFloat);
        stored = cast(DataType::Float(64), PrimExpr(value));
      }
    }
    Push(StructSet(frame_.args, index, builtin::kTVMFFIAnyTypeIndex, type_index));
    Push(StructSet(frame_.args, index, builtin::kTVMFFIAnyZeroPadding, IntImm::Int32(0)));
    Push(StructSet(frame_.args, index, builtin::kTVMFFIAnyUnionValue, stored));
  }

  static bool IsArrayPointer(const Expr& value) {
    const auto* call = value.as<CallNode>();
    if (call == nullptr || !call->op.same_as(builtin::tvm_struct_get())) return false;
    return is_const_int(call->args[2], builtin::kDLTensorAddr);
  }

  Expr MakeShape(const CallNode* op) {
    int64_t begin = frame_.used_shapes;
    frame_.used_shapes += static_cast<int64_t>(op->args.size());
    frame_.max_shapes = std::max(frame_.max_shapes, frame_.used_shapes);
    for (size_t i = 0; i < op->args.size(); ++i) {
      Push(StructSet(frame_.shapes, static_cast<int>(begin + i), builtin::kInt64ArrayElem,
                     cast(DataType::Int(64), VisitPrimExpr(PrimExpr(op->args[i])))));
    }
    return Call(HandleType(), builtin::handle_add_byte_offset(),
                {frame_.shapes, IntImm::Int64(begin * 8)});
  }

  Expr MakeArray(const CallNode* op) {
    TVM_FFI_CHECK(op->args.size() == 6, ValueError)
        << "LowerTVMBuiltin: tvm_stack_make_array takes 6 arguments, got " << op->args.size();
    int index = static_cast<int>(frame_.used_arrays++);
    frame_.max_arrays = std::max(frame_.max_arrays, frame_.used_arrays);
    auto set = [&](builtin::TVMStructFieldKind kind, Expr value) {
      Push(StructSet(frame_.arrays, index, kind, std::move(value)));
    };
    DataType dtype = op->args[4]->dtype();
    set(builtin::kDLTensorData, VisitExpr(op->args[0]));
    set(builtin::kDLTensorShape, VisitExpr(op->args[1]));
    Expr strides = VisitExpr(op->args[2]);
    if (!strides->dtype().is_handle()) {
      strides = Call(HandleType(), builtin::reinterpret(), {IntImm::Int64(0)});
    }
    set(builtin::kDLTensorStrides, strides);
    set(builtin::kDLTensorNDim, cast(DataType::Int(32), PrimExpr(VisitExpr(op->args[3]))));
    set(builtin::kDLTensorTypeCode, make_const(DataType::UInt(8), dtype.code()));
    set(builtin::kDLTensorTypeBits, make_const(DataType::UInt(8), dtype.bits()));
    set(builtin::kDLTensorTypeLanes, make_const(DataType::UInt(16), dtype.lanes()));
    PrimExpr offset(VisitExpr(op->args[5]));
    set(builtin::kDLTensorByteOffset,
        cast(DataType::UInt(64), offset) * make_const(DataType::UInt(64), ElementBytes(dtype)));
    set(builtin::kDLTensorDeviceId, cast(DataType::Int(32), device_id_));
    set(builtin::kDLTensorDeviceType, cast(DataType::Int(32), device_type_));
    return StructGet(HandleType(), frame_.arrays, index, builtin::kDLTensorAddr);
  }

  PrimExpr device_type_;
  PrimExpr device_id_ = IntImm::Int32(0);
  Frame frame_;
  std::vector<Stmt> prologue_;
  /// Workspaces alive at the current statement, of the current function.
  std::vector<Var> workspaces_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.LowerTVMBuiltin",
    .summary = "Lower packed calls and large allocations of host functions to the C runtime",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          auto target = func->GetAttr<Target>(attr::kTarget);
          int device_type =
              target.has_value() ? target.value()->GetTargetDeviceType() : static_cast<int>(kDLCPU);
          Stmt body = BuiltinLowerer(device_type).Lower(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass LowerTVMBuiltin() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
