// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The table of TIRx operators that are not arithmetic, and constructors of common calls.
#include <tvm/tirx/builtin.h>

#include <string>

namespace tvm {
namespace tirx {

namespace {

/// One operator: its effect, argument count (-1: any) and meaning.
struct BuiltinRow {
  const char* name;
  CallEffectKind effect;
  int num_inputs;
  const char* doc;
};

constexpr CallEffectKind kPure = CallEffectKind::kPure;
constexpr CallEffectKind kRead = CallEffectKind::kReadState;
constexpr CallEffectKind kOpaque = CallEffectKind::kOpaque;
constexpr CallEffectKind kEmbed = CallEffectKind::kEmbedInfo;
constexpr CallEffectKind kSpecial = CallEffectKind::kSpecialCallArg;
constexpr CallEffectKind kJump = CallEffectKind::kControlJump;

constexpr BuiltinRow kBuiltins[] = {
    // Control.
    {"ret", kJump, 1, "Returns the argument from the function."},
    {"continue_loop", kJump, 0, "Goes to the next iteration of the innermost loop."},
    {"break_loop", kJump, 0, "Leaves the innermost loop."},
    {"thread_return", kJump, 0, "Ends the current thread."},
    {"assume", kEmbed, 1, "States that the argument holds here."},
    {"undef", kRead, 0, "A value that nobody reads."},
    {"ignore_loop_partition", kPure, 1, "The condition, hidden from LoopPartition."},
    {"filter", kPure, 2, "(var, condition): narrows the active threads."},
    {"selector", kPure, -1, "Chooses the active threads."},
    // Memory.
    {"address_of", kPure, 1, "Address of the element a load names."},
    {"isnullptr", kPure, 1, "Whether a pointer is null."},
    {"ptr_byte_offset", kPure, -1, "(pointer, bytes, dtype): pointer moved by bytes."},
    {"handle_add_byte_offset", kPure, 2, "(pointer, bytes): pointer moved by bytes."},
    {"type_annotation", kPure, 0, "Carries a type and nothing else."},
    {"tvm_access_ptr", kSpecial, 5, "(type, pointer, offset, extent, rw mask): checked pointer."},
    {"prefetch", kOpaque, 4, "(address, rw, locality, cache kind): hint to load a line."},
    {"atomic_add", kOpaque, 2, "(address, value): adds atomically, gives the old value."},
    {"mem_copy", kOpaque, 3, "(destination pointer, source pointer, bytes)."},
    {"nd_mem_alloc_with_scope", kOpaque, -1, "(scope, rank, shape): allocation of a device."},
    {"texture2d_store", kOpaque, -1, "Writes one texel."},
    {"texture2d_load", kOpaque, -1, "Reads one texel."},
    {"lookup_param", kEmbed, 1, "(name): parameter linked into the module."},
    // Packed ABI.
    {"tvm_static_handle", kPure, 0, "A handle slot that lives as long as the module."},
    {"tvm_context_id", kRead, 0, "Identity of the running context."},
    {"tvm_tuple", kEmbed, -1, "Groups arguments."},
    {"tvm_struct_get", kRead, 3, "(handle, index, field): reads a field of a struct array."},
    {"tvm_struct_set", kOpaque, 4, "(handle, index, field, value): writes a field."},
    {"tvm_throw_last_error", kOpaque, 0, "Returns with the error that is set."},
    {"tvm_stack_alloca", kOpaque, 2, "(kind, count): structs on the stack of the function."},
    {"tvm_stack_make_shape", kOpaque, -1, "(extents...): int64 array on the stack."},
    {"tvm_stack_make_array", kOpaque, 6,
     "(data, shape, strides, ndim, dtype, elem_offset): DLTensor on the stack."},
    {"tvm_call_packed", kOpaque, -1, "(name, args...): calls a global packed function."},
    {"tvm_call_cpacked", kOpaque, -1, "(name, args..., context): calls a symbol of packed ABI."},
    {"tvm_call_trace_packed", kOpaque, -1, "Like tvm_call_packed; the result replaces the trace."},
    {"tvm_call_packed_lowered", kOpaque, -1, "(name, stack, begin, end): packed call on a stack."},
    {"tvm_call_cpacked_lowered", kOpaque, -1,
     "(name, stack, begin, end, context): symbol call on a stack."},
    {"tvm_call_trace_packed_lowered", kOpaque, -1, "(name, stack, begin, end, traced value)."},
    {"tvm_check_return", kOpaque, 3, "(expected, on mismatch, call): checked return code."},
    {"check_args", kOpaque, -1,
     "(args, count, slots, strings and words...): runs an argument check program, see "
     "tvm/support/argcheck.h."},
    {"TVMBackendAllocWorkspace", kOpaque, 5, "(device type, id, bytes, code, bits): workspace."},
    {"TVMBackendFreeWorkspace", kOpaque, 3, "(device type, id, pointer)."},
    {"anylist_getitem", kRead, 2, "(list, index): element of a list of any values."},
    {"anylist_resetitem", kOpaque, 2, "(list, index): clears an element."},
    {"anylist_move", kOpaque, 4, "(list, index, any values, slot): moves a value into a list."},
    {"anylist_setitem_call_packed", kOpaque, -1, "(list, index, name or function, args...)."},
    {"anylist_setitem_call_cpacked", kOpaque, -1, "(list, index, symbol, args...)."},
    // Foreign calls.
    {"call_extern", kOpaque, -1, "(symbol, args...): calls a C function."},
    {"call_pure_extern", kPure, -1, "(symbol, args...): calls a C function without effect."},
    {"call_llvm_intrin", kOpaque, -1, "(id, args...): LLVM intrinsic."},
    {"call_llvm_pure_intrin", kPure, -1, "(id, args...): LLVM intrinsic without effect."},
    {"call_spirv_pure_glsl450", kPure, -1, "(id, args...): GLSL.std.450 instruction."},
    // Vectors.
    {"vectorhigh", kPure, 1, "High half of a vector."},
    {"vectorlow", kPure, 1, "Low half of a vector."},
    {"vectorcombine", kPure, 2, "Two halves joined."},
    {"dp4a", kPure, 3, "(a, b, acc): dot product of four bytes."},
    {"dot_lanes", kPure, 3,
     "(a, b, c): c[i] + sum over j < g of a[i * g + j] * b[i * g + j], g = lanes of a / lanes of "
     "c; "
     "products and sums in the type of c, in any order."},
    {"get_active_lane_mask", kPure, 2, "(base, limit): lanes i with base + i < limit."},
    // Threads.
    {"tvm_storage_sync", kOpaque, -1, "(scope): barrier."},
    {"tvm_kernel_replace_point", kOpaque, 0, "Where initialising statements go."},
    {"tvm_warp_shuffle", kOpaque, 5, "(mask, value, lane, width, warp size)."},
    {"tvm_warp_shuffle_up", kOpaque, 5, "(mask, value, delta, width, warp size)."},
    {"tvm_warp_shuffle_down", kOpaque, 5, "(mask, value, delta, width, warp size)."},
    {"tvm_warp_shuffle_xor", kOpaque, 5, "(mask, value, lane mask, width, warp size)."},
    {"tvm_warp_activemask", kOpaque, 0, "Mask of the active lanes."},
    {"tvm_global_barrier_kinit", kOpaque, 0, "Initialises the grid barrier."},
    {"tvm_thread_allreduce", kOpaque, -1, "(count, values, predicate, results, axes)."},
    {"tvm_thread_invariant", kPure, 1, "A value equal in all threads."},
    {"tvm_load_matrix_sync", kOpaque, 8, "Loads a matrix fragment."},
    {"tvm_mma_sync", kOpaque, 8, "Multiplies matrix fragments."},
    {"tvm_bmma_sync", kOpaque, 8, "Multiplies binary matrix fragments."},
    {"tvm_fill_fragment", kOpaque, 6, "Fills a matrix fragment."},
    {"tvm_store_matrix_sync", kOpaque, 8, "Stores a matrix fragment."},
    // Tools.
    {"start_profile_intrinsic", kPure, -1, "Start of a profiled region."},
    {"end_profile_intrinsic", kPure, -1, "End of a profiled region."},
    {"print_buffer", kOpaque, -1, "Prints the elements of a buffer."},
};

const bool kRegistered = [] {
  for (const BuiltinRow& row : kBuiltins) {
    OpRegEntry& entry = OpRegEntry::RegisterOrGet(ffi::String(std::string("tirx.") + row.name));
    entry.describe(row.doc)
        .set_num_inputs(row.num_inputs)
        .set_attr<TCallEffectKind>("TCallEffectKind", static_cast<int>(row.effect))
        .set_attr<ffi::String>("TScriptPrinterName", row.name)
        .set_attr<ffi::String>("TIRxOpCategory", "builtin");
  }
  return true;
}();

}  // namespace

namespace builtin {

#define TVM_TIRX_BUILTIN_ACCESSOR(Name)          \
  const Op& Name() {                             \
    static const Op op = Op::Get("tirx." #Name); \
    return op;                                   \
  }
TVM_TIRX_FOR_EACH_SCALAR_BUILTIN(TVM_TIRX_BUILTIN_ACCESSOR)
TVM_TIRX_FOR_EACH_BUILTIN(TVM_TIRX_BUILTIN_ACCESSOR)
TVM_TIRX_BUILTIN_ACCESSOR(TVMBackendAllocWorkspace)
TVM_TIRX_BUILTIN_ACCESSOR(TVMBackendFreeWorkspace)
#undef TVM_TIRX_BUILTIN_ACCESSOR

}  // namespace builtin

PrimExpr CallBuiltin(DataType dtype, const Op& op, ffi::Array<Expr> args) {
  return PrimExpr(Call(PrimType(dtype), op, std::move(args)));
}

Expr CallBuiltinTyped(Type type, const Op& op, ffi::Array<Expr> args) {
  return Call(std::move(type), op, std::move(args));
}

Type HandleType() { return PointerType::VoidPointerTy(); }

Type VoidTy() { return PrimType::Void(); }

Expr AddressOf(const Buffer& buffer, ffi::Array<PrimExpr> indices) {
  return Call(PointerType(PrimType(buffer.dtype()), buffer.scope()), builtin::address_of(),
              {BufferLoad(buffer, std::move(indices))});
}

Expr StructGet(Type type, Expr handle, int index, builtin::TVMStructFieldKind kind) {
  return Call(std::move(type), builtin::tvm_struct_get(),
              {std::move(handle), IntImm::Int32(index), IntImm::Int32(static_cast<int>(kind))});
}

Expr StructSet(Expr handle, int index, builtin::TVMStructFieldKind kind, Expr value) {
  return Call(PrimType(DataType::Int(32)), builtin::tvm_struct_set(),
              {std::move(handle), IntImm::Int32(index), IntImm::Int32(static_cast<int>(kind)),
               std::move(value)});
}

}  // namespace tirx
}  // namespace tvm
