// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Statements of TIRx.
///
/// Scoping is flat: Bind, AllocBuffer and DeclBuffer are visible to the statements that follow them
/// in the same SeqStmt (and to everything nested in those), and end with that sequence.
/// SBlock and its realize statement live in <tvm/tirx/sblock.h>, tile primitives in
/// <tvm/tirx/tile_primitive.h>.
#ifndef TVM_TIRX_STMT_H_
#define TVM_TIRX_STMT_H_

#include <tvm/tirx/expr.h>

#include <type_traits>
#include <utility>

namespace tvm {
namespace tirx {

/// Base of every statement.
class StmtNode : public ffi::Object {
 public:
  /// Source location; never part of equality.
  mutable Span span;

  StmtNode() = default;

  static void RegisterReflection();

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr const uint32_t _type_child_slots = 24;
  TVM_FFI_DECLARE_OBJECT_INFO("tirx.Stmt", StmtNode, ffi::Object);
};

class Stmt : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Stmt, ffi::ObjectRef, StmtNode);
};

/// Gives `value` the name `var` for the statements that follow.
class BindNode : public StmtNode {
 public:
  Var var;
  Expr value;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Bind", BindNode, StmtNode);
};

class Bind : public Stmt {
 public:
  TVM_DLL Bind(Var var, Expr value, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Bind, Stmt, BindNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BindNode);
};

/// Attaches `attr_key` = `value` to `node` for the extent of `body`.
class AttrStmtNode : public StmtNode {
 public:
  ffi::Any node;
  ffi::String attr_key;
  Expr value;
  Stmt body;

  ~AttrStmtNode() { ReleaseDeep(&body); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.AttrStmt", AttrStmtNode, StmtNode);
};

class AttrStmt : public Stmt {
 public:
  TVM_DLL AttrStmt(ffi::Any node, ffi::String attr_key, Expr value, Stmt body, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(AttrStmt, Stmt, AttrStmtNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(AttrStmtNode);
};

/// Raises `error_kind` with the joined message parts unless `condition` holds.
class AssertStmtNode : public StmtNode {
 public:
  PrimExpr condition;
  StringImm error_kind;
  ffi::Array<StringImm> message_parts;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.AssertStmt", AssertStmtNode, StmtNode);
};

class AssertStmt : public Stmt {
 public:
  TVM_DLL AssertStmt(PrimExpr condition, StringImm error_kind, ffi::Array<StringImm> message_parts,
                     Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(AssertStmt, Stmt, AssertStmtNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(AssertStmtNode);
};

/// Writes `value` to one element, or to the lanes of a vector index, of `buffer`.
/// With a predicate only the lanes whose predicate is true are written.
class BufferStoreNode : public StmtNode {
 public:
  Buffer buffer;
  PrimExpr value;
  ffi::Array<PrimExpr> indices;
  ffi::Optional<PrimExpr> predicate;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.BufferStore", BufferStoreNode, StmtNode);
};

class BufferStore : public Stmt {
 public:
  TVM_DLL BufferStore(Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices,
                      ffi::Optional<PrimExpr> predicate = std::nullopt, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BufferStore, Stmt, BufferStoreNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BufferStoreNode);
};

/// Allocates storage for `buffer`, alive until the enclosing sequence ends.
class AllocBufferNode : public StmtNode {
 public:
  Buffer buffer;
  ffi::Map<ffi::String, ffi::Any> annotations;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.AllocBuffer", AllocBufferNode, StmtNode);
};

class AllocBuffer : public Stmt {
 public:
  TVM_DLL explicit AllocBuffer(Buffer buffer, ffi::Map<ffi::String, ffi::Any> annotations = {},
                               Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(AllocBuffer, Stmt, AllocBufferNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(AllocBufferNode);
};

/// Declares `buffer` as a view on the memory that the pointer `data` refers to.
class DeclBufferNode : public StmtNode {
 public:
  Buffer buffer;
  Expr data;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.DeclBuffer", DeclBufferNode, StmtNode);
};

class DeclBuffer : public Stmt {
 public:
  TVM_DLL DeclBuffer(Buffer buffer, Expr data, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DeclBuffer, Stmt, DeclBufferNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(DeclBufferNode);
};

/// Statements in order. Built sequences never nest and hold at least two statements when they come
/// from Flatten.
class SeqStmtNode : public StmtNode {
 public:
  ffi::Array<Stmt> seq;

  size_t size() const { return seq.size(); }
  Stmt operator[](size_t index) const { return seq[index]; }

  ~SeqStmtNode() { ReleaseDeep(&seq); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.SeqStmt", SeqStmtNode, StmtNode);
};

class EvaluateNode : public StmtNode {
 public:
  Expr value;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Evaluate", EvaluateNode, StmtNode);
};

/// Evaluates an expression for its effect.
class Evaluate : public Stmt {
 public:
  TVM_DLL explicit Evaluate(Expr value, Span span = Span());
  explicit Evaluate(int value, Span span = Span()) : Evaluate(PrimExpr(value), std::move(span)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Evaluate, Stmt, EvaluateNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(EvaluateNode);
};

class SeqStmt : public Stmt {
 public:
  TVM_DLL explicit SeqStmt(ffi::Array<Stmt> seq, Span span = Span());

  /// Joins statements and arrays of statements into one statement: nested sequences are spliced,
  /// null statements and constant Evaluates dropped; one statement is returned as it is.
  template <typename... Parts>
  static Stmt Flatten(Parts&&... parts) {
    ffi::Array<Stmt> seq;
    (Append(&seq, parts), ...);
    return FromFlat(std::move(seq));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SeqStmt, Stmt, SeqStmtNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(SeqStmtNode);

 private:
  TVM_DLL static void Append(ffi::Array<Stmt>* seq, const Stmt& stmt);
  template <typename Range, typename = typename std::decay_t<Range>::iterator>
  static void Append(ffi::Array<Stmt>* seq, const Range& range) {
    for (const auto& stmt : range) Append(seq, static_cast<const Stmt&>(stmt));
  }
  TVM_DLL static Stmt FromFlat(ffi::Array<Stmt> seq);
};

class IfThenElseNode : public StmtNode {
 public:
  PrimExpr condition;
  Stmt then_case;
  ffi::Optional<Stmt> else_case;

  ~IfThenElseNode() {
    ReleaseDeep(&then_case);
    if (else_case.has_value()) {
      Stmt last = *std::move(else_case);
      else_case = std::nullopt;
      ReleaseDeep(&last);
    }
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.IfThenElse", IfThenElseNode, StmtNode);
};

class IfThenElse : public Stmt {
 public:
  TVM_DLL IfThenElse(PrimExpr condition, Stmt then_case,
                     ffi::Optional<Stmt> else_case = std::nullopt, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IfThenElse, Stmt, IfThenElseNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IfThenElseNode);
};

/// How the iterations of a loop run.
enum class ForKind : int {
  kSerial = 0,
  kParallel = 1,
  kVectorized = 2,
  kUnrolled = 3,
  kThreadBinding = 4,
};

TVM_DLL const char* ForKind2String(ForKind kind);

/// `for loop_var in [min, min + extent)` with stride `step` (1 when absent).
class ForNode : public StmtNode {
 public:
  Var loop_var;
  PrimExpr min;
  PrimExpr extent;
  ForKind kind = ForKind::kSerial;
  Stmt body;
  /// The thread axis of a kThreadBinding loop.
  ffi::Optional<IterVar> thread_binding;
  ffi::Map<ffi::String, ffi::Any> annotations;
  ffi::Optional<PrimExpr> step;

  /// Whether the step is absent or the constant 1.
  TVM_DLL bool HasTrivialStep() const;

  ~ForNode() { ReleaseDeep(&body); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.For", ForNode, StmtNode);
};

class For : public Stmt {
 public:
  TVM_DLL For(Var loop_var, PrimExpr min, PrimExpr extent, ForKind kind, Stmt body,
              ffi::Optional<IterVar> thread_binding = std::nullopt,
              ffi::Map<ffi::String, ffi::Any> annotations = {},
              ffi::Optional<PrimExpr> step = std::nullopt, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(For, Stmt, ForNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ForNode);
};

class WhileNode : public StmtNode {
 public:
  PrimExpr condition;
  Stmt body;

  ~WhileNode() { ReleaseDeep(&body); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.While", WhileNode, StmtNode);
};

class While : public Stmt {
 public:
  TVM_DLL While(PrimExpr condition, Stmt body, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(While, Stmt, WhileNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(WhileNode);
};

class ReturnNode : public StmtNode {
 public:
  Expr value;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Return", ReturnNode, StmtNode);
};

class Return : public Stmt {
 public:
  TVM_DLL explicit Return(Expr value, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Return, Stmt, ReturnNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ReturnNode);
};

class BreakNode : public StmtNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Break", BreakNode, StmtNode);
};

class Break : public Stmt {
 public:
  TVM_DLL explicit Break(Span span);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Break, Stmt, BreakNode);
};

class ContinueNode : public StmtNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Continue", ContinueNode, StmtNode);
};

class Continue : public Stmt {
 public:
  TVM_DLL explicit Continue(Span span);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Continue, Stmt, ContinueNode);
};

/// Keys of AttrStmt and of block and loop annotations.
namespace attr {

inline constexpr const char* thread_extent = "thread_extent";
inline constexpr const char* virtual_thread = "virtual_thread";
inline constexpr const char* device_id = "device_id";
inline constexpr const char* device_type = "device_type";
inline constexpr const char* device_scope = "device_scope";
inline constexpr const char* compute_scope = "compute_scope";
inline constexpr const char* extern_scope = "extern_scope";
inline constexpr const char* storage_alignment = "storage_alignment";
inline constexpr const char* buffer_data_alignment = "buffer_data_alignment";
inline constexpr const char* buffer_allocated_addr = "buffer_allocated_addr";
inline constexpr const char* buffer_dim_align = "buffer_dim_align";
inline constexpr const char* volatile_scope = "tirx.volatile";
inline constexpr const char* tirx_hint = "tirx_hint";
inline constexpr const char* device_entry = "tirx.device_entry";
inline constexpr const char* dyn_smem_bytes = "tirx.dyn_smem_bytes";
inline constexpr const char* persistent_kernel = "tirx.persistent_kernel";
inline constexpr const char* reduce_scope = "reduce_scope";
inline constexpr const char* double_buffer_scope = "double_buffer_scope";
inline constexpr const char* double_buffer_write = "double_buffer_write";
inline constexpr const char* pragma_prefix = "pragma_";
inline constexpr const char* pragma_auto_unroll_max_step = "pragma_auto_unroll_max_step";
inline constexpr const char* pragma_unroll_explicit = "pragma_unroll_explicit";
inline constexpr const char* pragma_import_c = "pragma_import_c";
inline constexpr const char* pragma_import_llvm = "pragma_import_llvm";
inline constexpr const char* pragma_loop_partition_hint = "pragma_loop_partition_hint";
inline constexpr const char* disable_unroll = "disable_unroll";
inline constexpr const char* pragma_unroll = "pragma_unroll";
inline constexpr const char* layout_free_buffers = "layout_free_buffers";
inline constexpr const char* explicit_read_region = "explicit_read_region";
inline constexpr const char* explicit_write_region = "explicit_write_region";
inline constexpr const char* script_parsing_detect_access = "tirx.script_parsing_detect_access";
/// Marks an AllocBuffer that LowerTVMBuiltin must leave to the code generator.
inline constexpr const char* disable_lower_builtin = "disable_lower_builtin";

inline bool IsPragmaKey(const ffi::String& key) {
  return std::string_view(key.data(), key.size()).substr(0, 7) == pragma_prefix;
}

}  // namespace attr

/// Converts `value` of a pragma annotation to the expression an AttrStmt holds.
TVM_DLL Expr ConvertAttrValue(const ffi::Any& value);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_STMT_H_
