// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Functors over statements, alone and together with expressions.
///
/// A visitor or mutator overrides VisitStmt_ / VisitExpr_ for the nodes it cares about and calls
/// the base for the rest. Mutators return the very node they got when nothing below it changed. An
/// error that leaves a visit remembers the statements and expressions it came through.
#ifndef TVM_TIRX_STMT_FUNCTOR_H_
#define TVM_TIRX_STMT_FUNCTOR_H_

#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt.h>
#include <tvm/tirx/tile_primitive.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace tvm {
namespace tirx {

/// Every statement class, once. `X(Name)` is expanded for NameNode.
#define TVM_TIRX_FOR_EACH_STMT(X) \
  X(Bind)                         \
  X(AttrStmt)                     \
  X(AssertStmt)                   \
  X(BufferStore)                  \
  X(AllocBuffer)                  \
  X(DeclBuffer)                   \
  X(SeqStmt)                      \
  X(Evaluate)                     \
  X(IfThenElse)                   \
  X(For)                          \
  X(While)                        \
  X(Return)                       \
  X(Break)                        \
  X(Continue)                     \
  X(ScopeIdDefStmt)               \
  X(TilePrimitiveCall)            \
  X(SBlock)                       \
  X(SBlockRealize)

/// Dense number of a statement class, for dispatch by switch.
enum class StmtClass : int8_t {
#define TVM_TIRX_STMT_CLASS(Name) k##Name,
  TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_STMT_CLASS)
#undef TVM_TIRX_STMT_CLASS
      kOther,
};

TVM_DLL StmtClass StmtClassOf(const StmtNode* node);

template <typename FType>
class StmtFunctor;

template <typename R, typename... Args>
class StmtFunctor<R(const Stmt& stmt, Args... args)> {
 public:
  using result_type = R;

  virtual ~StmtFunctor() = default;

  R operator()(const Stmt& stmt, Args... args) {
    return VisitStmt(stmt, std::forward<Args>(args)...);
  }

  virtual R VisitStmt(const Stmt& stmt, Args... args) {
    TVM_FFI_VISIT_BEGIN();
    CheckStackDepth();
    const auto* node = static_cast<const StmtNode*>(stmt.get());
    switch (StmtClassOf(node)) {
#define TVM_TIRX_STMT_CASE(Name) \
  case StmtClass::k##Name:       \
    return VisitStmt_(static_cast<const Name##Node*>(node), std::forward<Args>(args)...);
      TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_STMT_CASE)
#undef TVM_TIRX_STMT_CASE
      case StmtClass::kOther:
        break;
    }
    return VisitStmtDefault_(node, std::forward<Args>(args)...);
    TVM_FFI_VISIT_END(stmt);
  }

#define TVM_TIRX_STMT_METHOD(Name)                             \
  virtual R VisitStmt_(const Name##Node* op, Args... args) {   \
    return VisitStmtDefault_(op, std::forward<Args>(args)...); \
  }
  TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_STMT_METHOD)
#undef TVM_TIRX_STMT_METHOD

  virtual R VisitStmtDefault_(const ffi::Object* op, Args...) {
    TVM_FFI_THROW(InternalError) << "no visitor for statement "
                                 << (op == nullptr ? std::string("null")
                                                   : std::string(op->GetTypeKey()));
    TVM_FFI_UNREACHABLE();
  }
};

/// Walks statements; expressions go to VisitExpr, which does nothing by default.
class TVM_DLL StmtVisitor : protected StmtFunctor<void(const Stmt&)> {
 public:
  using StmtFunctor::operator();

 protected:
  using StmtFunctor::VisitStmt;
  using StmtFunctor::VisitStmt_;

  virtual void VisitExpr(const Expr&) {}
  /// Called where a buffer is defined (AllocBuffer, DeclBuffer, block allocations and matches);
  /// visits the expressions of its type.
  virtual void VisitBufferDef(const Buffer& buffer);
  /// Called where a buffer is used by a load, a store or a region.
  virtual void VisitBufferUse(const Buffer&) {}
  virtual void VisitRegion(const BufferRegion& region);

  void VisitExprs(const ffi::Array<PrimExpr>& exprs) {
    for (const PrimExpr& expr : exprs) this->VisitExpr(expr);
  }

#define TVM_TIRX_STMT_METHOD(Name) void VisitStmt_(const Name##Node* op) override;
  TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_STMT_METHOD)
#undef TVM_TIRX_STMT_METHOD
};

/// Rewrites statements; expressions go to VisitExpr, which returns them unchanged by default.
class TVM_DLL StmtMutator : protected StmtFunctor<Stmt(const Stmt&)> {
 public:
  Stmt operator()(const Stmt& stmt) { return VisitStmt(stmt); }

 protected:
  using StmtFunctor::VisitStmt;
  using StmtFunctor::VisitStmt_;

  virtual Expr VisitExpr(const Expr& expr) { return expr; }
  /// Maps a buffer at its definition; the result is also what VisitBufferUse yields from then on.
  virtual Buffer VisitBufferDef(const Buffer& buffer);
  virtual Buffer VisitBufferUse(const Buffer& buffer);
  virtual BufferRegion VisitRegion(const BufferRegion& region);

  PrimExpr VisitPrimExpr(const PrimExpr& expr);
  ffi::Array<PrimExpr> VisitExprs(const ffi::Array<PrimExpr>& exprs);
  ffi::Array<BufferRegion> VisitRegions(const ffi::Array<BufferRegion>& regions);

  /// Visits the statements of a sequence; results that are sequences are spliced in.
  Stmt VisitSeqStmt_(const SeqStmtNode* op,
                     const std::function<Stmt(const Stmt&)>& visit = nullptr);

#define TVM_TIRX_STMT_METHOD(Name) Stmt VisitStmt_(const Name##Node* op) override;
  TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_STMT_METHOD)
#undef TVM_TIRX_STMT_METHOD

  /// Buffers replaced so far, by the variable they replace.
  std::unordered_map<const ffi::Object*, Buffer> buffer_remap_;
};

/// Walks statements and the expressions in them.
class TVM_DLL StmtExprVisitor : public StmtVisitor, public ExprVisitor {
 public:
  using ExprVisitor::operator();
  using StmtVisitor::operator();

 protected:
  using ExprVisitor::VisitExpr_;
  using StmtVisitor::VisitStmt;
  using StmtVisitor::VisitStmt_;

  void VisitExpr(const Expr& expr) override { ExprVisitor::VisitExpr(expr); }
  void VisitExpr_(const BufferLoadNode* op) override;
};

/// Rewrites statements and the expressions in them.
class TVM_DLL StmtExprMutator : public StmtMutator, public ExprMutator {
 public:
  using ExprMutator::operator();
  using StmtMutator::operator();

 protected:
  using ExprMutator::VisitExpr_;
  using StmtMutator::VisitPrimExpr;
  using StmtMutator::VisitStmt;
  using StmtMutator::VisitStmt_;

  Expr VisitExpr(const Expr& expr) override { return ExprMutator::VisitExpr(expr); }
  Expr VisitExpr_(const VarNode* op) override;
  Expr VisitExpr_(const BufferLoadNode* op) override;
};

/// Calls `visit` on every statement and expression below and including `node`, children first.
TVM_DLL void PostOrderVisit(const ffi::ObjectRef& node,
                            const std::function<void(const ffi::ObjectRef&)>& visit);
/// Calls `visit` parents first; children are skipped where it returns false.
TVM_DLL void PreOrderVisit(const ffi::ObjectRef& node,
                           const std::function<bool(const ffi::ObjectRef&)>& visit);

/// Replaces variables. Buffers whose type mentions a replaced variable are redefined.
TVM_DLL Stmt Substitute(const Stmt& stmt, const ffi::Map<Var, Expr>& values);
TVM_DLL Stmt Substitute(const Stmt& stmt,
                        const std::function<ffi::Optional<Expr>(const Var&)>& lookup);
using tvm::Substitute;

/// Bottom-up rewrite of chosen node types: `preorder` may replace a node (null: go on below it),
/// `postorder` may replace the rebuilt node (null: keep).
TVM_DLL Stmt IRTransform(const Stmt& stmt, const ffi::Function& preorder,
                         const ffi::Function& postorder,
                         ffi::Optional<ffi::Array<ffi::String>> only_enable = std::nullopt);

/// Whether `stmt` holds a node of type T.
template <typename T>
bool ContainsNode(const Stmt& stmt) {
  bool found = false;
  PreOrderVisit(stmt, [&found](const ffi::ObjectRef& node) {
    found = found || node.as<T>() != nullptr;
    return !found;
  });
  return found;
}

/// Gives every variable and buffer that `func` defines (parameters included) a fresh identity.
TVM_DLL PrimFunc RenewDefs(const PrimFunc& func);
/// Renames definitions so that each variable is defined once in `stmt`; unchanged if it already is.
TVM_DLL Stmt ConvertToSSA(const Stmt& stmt);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_STMT_FUNCTOR_H_
