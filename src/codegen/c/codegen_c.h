// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lowered TIRx to C11 with GNU extensions, for the `c` target.
///
/// Scalar code only: loops marked parallel run serially, vectors must have been lowered. The same
/// semantics as the LLVM generator: integers wrap, integer division by 0 gives 0, min and max keep
/// NaN.
#ifndef TVM_CODEGEN_C_CODEGEN_C_H_
#define TVM_CODEGEN_C_CODEGEN_C_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace codegen {

class CodeGenC final : private ExprFunctor<std::string(const Expr&)>,
                       private tirx::StmtFunctor<void(const tirx::Stmt&)> {
 public:
  /// Adds a function; `exported` ones are visible outside of the source file.
  void Declare(const GlobalVar& var, const tirx::PrimFunc& func, const std::string& symbol,
               bool exported);
  void Define(const GlobalVar& var);
  /// The source text, preamble included.
  std::string Finish(const std::string& target_text);

 private:
  struct Function {
    tirx::PrimFunc func;
    std::string symbol;
    std::string signature;
    bool exported;
  };

  std::string TypeName(DataType dtype) const;
  std::string TypeName(const Type& type) const;
  std::string Fresh(const std::string& hint);
  const std::string& NameOf(const VarNode* var);
  void Line(const std::string& text);
  void Block(const tirx::Stmt& body);
  static std::string Quote(const std::string& text);

  std::string Emit(const Expr& expr) { return VisitExpr(expr); }
  std::string Element(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices);
  std::string Wrap(DataType dtype, const std::string& a, const char* op,
                   const std::string& b) const;
  std::string Binary(const tirx::BinaryOpNode* op, const char* symbol);
  std::string Compare(const tirx::BinaryOpNode* op, const char* symbol);
  std::string Divide(const tirx::BinaryOpNode* op, const char* helper, const char* float_form);
  std::string Helper(const std::string& name, DataType dtype, const std::vector<std::string>& args);
  std::string CastTo(DataType from, DataType to, const std::string& value) const;

  std::string VisitExpr_(const VarNode* op) final;
  std::string VisitExpr_(const IntImmNode* op) final;
  std::string VisitExpr_(const FloatImmNode* op) final;
  std::string VisitExpr_(const tirx::StringImmNode* op) final;
  std::string VisitExpr_(const tirx::CastNode* op) final;
  std::string VisitExpr_(const tirx::AddNode* op) final;
  std::string VisitExpr_(const tirx::SubNode* op) final;
  std::string VisitExpr_(const tirx::MulNode* op) final;
  std::string VisitExpr_(const tirx::DivNode* op) final;
  std::string VisitExpr_(const tirx::ModNode* op) final;
  std::string VisitExpr_(const tirx::FloorDivNode* op) final;
  std::string VisitExpr_(const tirx::FloorModNode* op) final;
  std::string VisitExpr_(const tirx::MinNode* op) final;
  std::string VisitExpr_(const tirx::MaxNode* op) final;
  std::string VisitExpr_(const tirx::EQNode* op) final;
  std::string VisitExpr_(const tirx::NENode* op) final;
  std::string VisitExpr_(const tirx::LTNode* op) final;
  std::string VisitExpr_(const tirx::LENode* op) final;
  std::string VisitExpr_(const tirx::GTNode* op) final;
  std::string VisitExpr_(const tirx::GENode* op) final;
  std::string VisitExpr_(const tirx::AndNode* op) final;
  std::string VisitExpr_(const tirx::OrNode* op) final;
  std::string VisitExpr_(const tirx::NotNode* op) final;
  std::string VisitExpr_(const tirx::SelectNode* op) final;
  std::string VisitExpr_(const tirx::LetNode* op) final;
  std::string VisitExpr_(const tirx::BufferLoadNode* op) final;
  std::string VisitExpr_(const CallNode* op) final;
  std::string VisitExprDefault_(const ffi::Object* op) final;

  // Operators behind calls, in codegen_c_call.cc. Statement-like ones print lines and give "".
  std::string CallOp(const CallNode* op, const std::string& name);
  std::string MathCall(const CallNode* op, const std::string& name);
  std::string Reinterpret(const CallNode* op);
  std::string StructField(const CallNode* op, DataType* type);
  std::string StackAlloca(const CallNode* op);
  std::string PackedCall(const CallNode* op, bool by_symbol);
  std::string CheckArgs(const CallNode* op);
  std::string MultiplyShift(const CallNode* op, bool per_axis);

  void VisitStmt_(const tirx::BindNode* op) final;
  void VisitStmt_(const tirx::AttrStmtNode* op) final;
  void VisitStmt_(const tirx::AssertStmtNode* op) final;
  void VisitStmt_(const tirx::BufferStoreNode* op) final;
  void VisitStmt_(const tirx::AllocBufferNode* op) final;
  void VisitStmt_(const tirx::DeclBufferNode* op) final;
  void VisitStmt_(const tirx::SeqStmtNode* op) final;
  void VisitStmt_(const tirx::EvaluateNode* op) final;
  void VisitStmt_(const tirx::IfThenElseNode* op) final;
  void VisitStmt_(const tirx::ForNode* op) final;
  void VisitStmt_(const tirx::WhileNode* op) final;
  void VisitStmt_(const tirx::ReturnNode* op) final;
  void VisitStmt_(const tirx::BreakNode* op) final;
  void VisitStmt_(const tirx::ContinueNode* op) final;
  void VisitStmtDefault_(const ffi::Object* op) final;

  std::unordered_map<const GlobalVarNode*, Function> functions_;
  std::vector<std::string> prototypes_;
  std::unordered_map<std::string, std::string> externs_;
  std::unordered_set<std::string> symbols_;
  std::string body_;
  int indent_ = 0;
  bool fails_with_status_ = true;
  bool uses_check_ = false;
  std::unordered_map<const VarNode*, std::string> names_;
  std::unordered_set<std::string> used_names_;
};

/// The C helpers that generated expressions call.
extern const char kCPreamble[];

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_C_CODEGEN_C_H_
