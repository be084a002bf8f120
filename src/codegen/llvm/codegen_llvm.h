// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lowered TIRx to LLVM IR, one llvm::Module for one batch of functions.
///
/// The implementation is split by what it emits: codegen_function.cc (functions, signatures),
/// codegen_stmt.cc, codegen_parallel.cc, codegen_expr.cc, codegen_cast.cc, codegen_memory.cc,
/// codegen_address.cc, codegen_call.cc (packed ABI and externs), codegen_intrin.cc (arithmetic
/// behind calls), codegen_dot.cc (dot products of neighbouring lanes).
///
/// Semantics: integers wrap at their width; x / 0 and x % 0 of integers are 0 (no signal); min and
/// max propagate NaN; floats are never reassociated, only a*b+c may be fused. Index arithmetic
/// that addresses a buffer is done in 64 bits.
#ifndef TVM_CODEGEN_LLVM_CODEGEN_LLVM_H_
#define TVM_CODEGEN_LLVM_CODEGEN_LLVM_H_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt_functor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/llvm/llvm_compat.h"
#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

/// A function and the symbol it is compiled under.
struct FunctionUnit {
  GlobalVar var;
  tirx::PrimFunc func;
  std::string symbol;
  /// Visible outside the library.
  bool exported = true;
  /// Further exported symbols of the same body.
  std::vector<std::string> aliases;
};

class CodeGenLLVM final : private ExprFunctor<llvm::Value*(const Expr&)>,
                          private tirx::StmtFunctor<void(const tirx::Stmt&)> {
 public:
  /// `siblings`: every symbol that the library will define, this module's or not.
  CodeGenLLVM(const LLVMTarget& target, llvm::LLVMContext* context, const std::string& name,
              const std::unordered_set<std::string>& siblings);

  /// Makes a function callable from the others of this module.
  void Declare(const FunctionUnit& unit);
  /// Emits the body of a declared function.
  void Define(const FunctionUnit& unit);
  /// The module; the generator is spent.
  std::unique_ptr<llvm::Module> Finish();
  /// Whether a serial innermost loop without vectors was emitted: worth LLVM's loop vectorizer.
  bool has_scalar_loops() const { return has_scalar_loops_; }
  /// Whether an innermost loop over vectors does so little that LLVM is to unroll it.
  bool has_short_loops() const { return has_short_loops_; }

 private:
  using Builder = llvm::IRBuilder<>;
  using CallHandler = llvm::Value* (CodeGenLLVM::*)(const CallNode*);

  /// Where the elements of a buffer lie.
  struct Storage {
    llvm::Value* base = nullptr;
    llvm::MDNode* alias = nullptr;
    int align = 1;  // of base, in bytes
    bool is_volatile = false;
    int depth = 0;  // loops around the place where base was computed
  };
  /// Addresses by what was added to which: (address, value, bytes a unit of it).
  using AddressTable = std::map<std::tuple<llvm::Value*, llvm::Value*, int64_t>, llvm::Value*>;
  /// A loop that is being emitted.
  struct OpenLoop {
    llvm::BasicBlock* on_break;
    llvm::BasicBlock* on_continue;
    /// Its counter, which starts at 0; null where addresses do not step along.
    llvm::PHINode* counter = nullptr;
    int64_t step = 1;
    llvm::BasicBlock* before = nullptr;
    AddressTable outer = {};  // addresses computed before the loop
    struct Pointer {
      llvm::Value* first;
      int64_t bytes;  // from one turn to the next
      llvm::PHINode* value;
    };
    std::vector<Pointer> pointers = {};  // addresses that step along
  };
  enum class LoopKind {
    kOuter,         // holds other loops, and no vectors
    kOuterVectors,  // holds other loops, and vectors
    kScalar,        // without vectors, for LLVM to vectorize
    kShort,         // does so little that LLVM is to unroll it
    kLong
  };
  /// Inside the body of a parallel launch.
  struct ParallelEnv {
    llvm::Value* task_id = nullptr;
    llvm::Value* num_task = nullptr;
    llvm::Value* env = nullptr;
    bool stride_pattern = false;
    bool in_parallel_loop = false;
    int loops = 0;
  };

  // --- types and constants -----------------------------------------------------------------
  llvm::Type* TypeOf(DataType dtype) const;
  /// Type in memory: bool is i8.
  llvm::Type* MemoryTypeOf(DataType dtype) const;
  llvm::Type* TypeOf(const Type& type) const;
  llvm::VectorType* VectorOf(llvm::Type* element, DataType like) const;
  llvm::Constant* String(const std::string& text);
  llvm::ConstantInt* Int32(int64_t value) {
    return builder_->getInt32(static_cast<uint32_t>(value));
  }
  llvm::ConstantInt* Int64(int64_t value) {
    return builder_->getInt64(static_cast<uint64_t>(value));
  }
  llvm::Value* Splat(llvm::Value* scalar, DataType like);
  llvm::MDNode* NewAlias(const std::string& name);

  // --- functions ---------------------------------------------------------------------------
  llvm::FunctionType* SignatureOf(const tirx::PrimFunc& func) const;
  void SetFunctionAttributes(llvm::Function* function) const;
  llvm::Function* GlueFunction(const char* name);
  llvm::Function* ExternFunction(const std::string& name, llvm::FunctionType* type);
  void BeginFunction(llvm::Function* function);
  llvm::AllocaInst* EntryAlloca(llvm::Type* type, uint64_t count, uint64_t align,
                                const std::string& name);
  /// Leaves the current function with "an error is set".
  void EmitFailure();
  /// Fails unless `status` is 0; continues in a new block.
  void CheckStatus(llvm::Value* status);
  void RaiseUnless(llvm::Value* condition, const std::string& kind,
                   const std::vector<std::string>& parts);
  llvm::BasicBlock* NewBlock(const char* name);

  // --- statements --------------------------------------------------------------------------
  void EmitStmt(const tirx::Stmt& stmt) { VisitStmt(stmt); }
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
  bool BlockIsOpen() const { return builder_->GetInsertBlock()->getTerminator() == nullptr; }
  void EmitReturn(llvm::Value* value);
  void EmitLoop64(const Var& var, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                  bool runs_once, const tirx::Stmt& body, const tirx::ForNode* loop);
  llvm::MDNode* NotUnrolled();
  static LoopKind KindOf(const tirx::Stmt& body);
  void BindLoopVar(const Var& var, llvm::Value* wide);
  void EmitUnrolled(const tirx::ForNode* op, int64_t begin, int64_t extent, int64_t step);

  // --- parallel loops ----------------------------------------------------------------------
  void EmitParallelLoop(const tirx::ForNode* op);
  void EmitParallelRegion(const tirx::Stmt& body, llvm::Value* num_task,
                          const std::function<void()>& emit);
  void EmitTaskSlice(const tirx::ForNode* op);

  // --- expressions -------------------------------------------------------------------------
  llvm::Value* Emit(const Expr& expr) { return VisitExpr(expr); }
  /// Sign-extended to 64 bits; linear arithmetic is done in 64 bits.
  llvm::Value* EmitIndex(const PrimExpr& expr);
  llvm::Value* VisitExpr_(const VarNode* op) final;
  llvm::Value* VisitExpr_(const IntImmNode* op) final;
  llvm::Value* VisitExpr_(const FloatImmNode* op) final;
  llvm::Value* VisitExpr_(const tirx::StringImmNode* op) final;
  llvm::Value* VisitExpr_(const tirx::CastNode* op) final;
  llvm::Value* VisitExpr_(const tirx::AddNode* op) final;
  llvm::Value* VisitExpr_(const tirx::SubNode* op) final;
  llvm::Value* VisitExpr_(const tirx::MulNode* op) final;
  llvm::Value* VisitExpr_(const tirx::DivNode* op) final;
  llvm::Value* VisitExpr_(const tirx::ModNode* op) final;
  llvm::Value* VisitExpr_(const tirx::FloorDivNode* op) final;
  llvm::Value* VisitExpr_(const tirx::FloorModNode* op) final;
  llvm::Value* VisitExpr_(const tirx::MinNode* op) final;
  llvm::Value* VisitExpr_(const tirx::MaxNode* op) final;
  llvm::Value* VisitExpr_(const tirx::EQNode* op) final;
  llvm::Value* VisitExpr_(const tirx::NENode* op) final;
  llvm::Value* VisitExpr_(const tirx::LTNode* op) final;
  llvm::Value* VisitExpr_(const tirx::LENode* op) final;
  llvm::Value* VisitExpr_(const tirx::GTNode* op) final;
  llvm::Value* VisitExpr_(const tirx::GENode* op) final;
  llvm::Value* VisitExpr_(const tirx::AndNode* op) final;
  llvm::Value* VisitExpr_(const tirx::OrNode* op) final;
  llvm::Value* VisitExpr_(const tirx::NotNode* op) final;
  llvm::Value* VisitExpr_(const tirx::SelectNode* op) final;
  llvm::Value* VisitExpr_(const tirx::RampNode* op) final;
  llvm::Value* VisitExpr_(const tirx::BroadcastNode* op) final;
  llvm::Value* VisitExpr_(const tirx::LetNode* op) final;
  llvm::Value* VisitExpr_(const tirx::ShuffleNode* op) final;
  llvm::Value* VisitExpr_(const tirx::BufferLoadNode* op) final;
  llvm::Value* VisitExpr_(const CallNode* op) final;
  llvm::Value* VisitExprDefault_(const ffi::Object* op) final;

  llvm::Value* ShuffleVectors(const tirx::ShuffleNode* op);
  /// The value as a float32 (of the same lanes) where LLVM has no arithmetic of its type.
  llvm::Value* ComputeValue(llvm::Value* value, DataType dtype, DataType* compute);
  llvm::Value* Arithmetic(const tirx::BinaryOpNode* op, llvm::Instruction::BinaryOps int_op,
                          llvm::Instruction::BinaryOps float_op);
  llvm::Value* Compare(const tirx::BinaryOpNode* op, llvm::CmpInst::Predicate is_signed,
                       llvm::CmpInst::Predicate is_unsigned, llvm::CmpInst::Predicate is_float);
  llvm::Value* MinMax(const tirx::BinaryOpNode* op, bool is_max);
  llvm::Value* IntMinMax(llvm::Value* a, llvm::Value* b, bool is_signed, bool is_max);
  llvm::Value* FloatMinMax(llvm::Value* a, llvm::Value* b, bool is_max);
  /// Quotient and remainder toward zero, defined for every operand.
  llvm::Value* IntDivide(llvm::Value* a, llvm::Value* b, bool is_signed, bool remainder);
  llvm::Value* IntFloorDivide(llvm::Value* a, llvm::Value* b, bool remainder);
  llvm::Value* ShortCircuit(const tirx::BinaryOpNode* op, bool is_and);
  llvm::Value* Step(DataType dtype);
  llvm::Value* EmitConditional(llvm::Value* condition, llvm::Type* type,
                               const std::function<llvm::Value*()>& on_true,
                               const std::function<llvm::Value*()>& on_false);

  // --- casts -------------------------------------------------------------------------------
  llvm::Value* EmitCast(DataType from, DataType to, llvm::Value* value);
  llvm::Value* FloatToBFloat(llvm::Value* value, DataType from);
  /// The same of a vector by the processor's instruction, which takes a power of two of lanes.
  llvm::Value* NativeBFloat(llvm::Value* value, int lanes);
  llvm::Value* BFloatToFloat(llvm::Value* value, DataType from);
  /// A cast of floats that were rounded and clamped; null where it is no such one, or where the
  /// target has nothing better than the steps one by one.
  llvm::Value* Quantize(const tirx::CastNode* op);
  /// Rounded to nearest, ties to even; what int32 has no place for becomes INT32_MIN.
  llvm::Value* RoundToInt32(llvm::Value* value, const char* intrinsic);
  /// The instruction for that; null where the target has none for so many lanes.
  const char* RoundIntrinsic(int lanes);

  // --- memory ------------------------------------------------------------------------------
  Storage& StorageOf(const VarNode* buffer);
  void BindStorage(const VarNode* buffer, Storage storage) {
    const bool is_fixed = llvm::isa<llvm::AllocaInst, llvm::Argument>(storage.base);
    storage.depth = is_fixed ? 0 : static_cast<int>(loops_.size());
    storage_[buffer] = storage;
  }
  const Storage* AliasRoot(const Expr& pointer);
  /// An index as a constant and terms, which vary in `depth` loops, those of fewest first.
  struct IndexSum {
    struct Term {
      llvm::Value* value;
      int64_t factor;
      int depth;
      bool is_here;  // computed where it is used
    };
    std::vector<Term> terms;
    int64_t constant = 0;
  };
  /// Adds `factor` times an index.
  void AddTerms(const PrimExpr& expr, int64_t factor, IndexSum* sum);
  /// Loops in which a value may vary.
  int DepthOf(const PrimExpr& expr);
  llvm::Value* AddToAddress(AddressTable* table, llvm::Value* base, llvm::Type* scalar,
                            int64_t bytes, const IndexSum::Term& term, bool inbounds);
  /// The address of the buffer plus those terms that are known before the innermost loop, which is
  /// computed there, or follow its counter; they are taken out of the sum.
  llvm::Value* StepAlong(const Storage& storage, llvm::Type* scalar, int64_t bytes, IndexSum* sum);
  /// `first` plus `bytes` for each turn of the loop; null where it has enough of such.
  llvm::Value* SteppingPointer(OpenLoop* loop, llvm::Value* first, int64_t bytes);
  /// Address of element `index + plus`; `*align` gets what is known about it.
  llvm::Value* ElementAddress(const Storage& storage, DataType element, const PrimExpr& index,
                              int64_t* align, int64_t plus = 0);
  /// Address of what lane `lane` of a vector of indices names; `indices` is its value, null where
  /// it is a ramp.
  llvm::Value* LaneAddress(const Storage& storage, DataType element, const PrimExpr& index,
                           llvm::Value* indices, int lane, int64_t* align);
  PrimExpr FlatIndex(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices);
  llvm::Value* LoadAt(const Storage& storage, DataType dtype, llvm::Value* address, int64_t align);
  void StoreAt(const Storage& storage, DataType dtype, llvm::Value* value, llvm::Value* address,
               int64_t align);
  llvm::Value* LoadVector(const Storage& storage, DataType element, const PrimExpr& index,
                          DataType result, const ffi::Optional<PrimExpr>& predicate);
  void StoreVector(const Storage& storage, DataType element, const PrimExpr& index,
                   llvm::Value* value, DataType dtype, const ffi::Optional<PrimExpr>& predicate);
  llvm::Value* AddressVector(const Storage& storage, DataType element, const PrimExpr& index);
  llvm::Value* Lane(llvm::Value* vector, int lane);
  llvm::Instruction* Annotate(llvm::Instruction* access, const Storage& storage);

  // --- calls -------------------------------------------------------------------------------
  static CallHandler FindHandler(const OpNode* op);
  llvm::Value* EmitDirectCall(const CallNode* op, const GlobalVarNode* callee);
  llvm::Value* CallExtern(const CallNode* op);
  llvm::Value* CallLLVMIntrinsic(const CallNode* op);
  llvm::Value* CallPackedLowered(const CallNode* op);
  llvm::Value* CallCPackedLowered(const CallNode* op);
  llvm::Value* CallTracePackedLowered(const CallNode* op);
  llvm::Value* FinishPackedCall(
      const CallNode* op,
      const std::function<llvm::Value*(llvm::Value*, llvm::Value*, llvm::Value*)>& call);
  llvm::Value* AnyListMove(const CallNode* op);
  llvm::Value* AnyListReset(const CallNode* op);
  llvm::Value* CheckArgs(const CallNode* op);
  llvm::Value* CheckReturn(const CallNode* op);
  llvm::Value* StackAlloca(const CallNode* op);
  llvm::Value* StructGet(const CallNode* op);
  llvm::Value* StructSet(const CallNode* op);
  llvm::Value* StructField(llvm::Value* base, int64_t index, int kind, llvm::Type** type);
  llvm::Value* AllocWorkspace(const CallNode* op);
  llvm::Value* FreeWorkspace(const CallNode* op);
  llvm::Value* ThrowLastError(const CallNode* op);
  llvm::Value* Ret(const CallNode* op);
  llvm::Value* BreakLoop(const CallNode* op);
  llvm::Value* ContinueLoop(const CallNode* op);
  llvm::Value* StaticHandle(const CallNode* op);
  llvm::Value* ContextId(const CallNode* op);

  // --- intrinsics --------------------------------------------------------------------------
  llvm::Value* Intrinsic(const CallNode* op);  // by the table of codegen_intrin.cc
  llvm::Value* BufferData(const CallNode* op);
  llvm::Value* AddressOf(const CallNode* op);
  llvm::Value* AccessPtr(const CallNode* op);
  llvm::Value* IsNull(const CallNode* op);
  llvm::Value* AddByteOffset(const CallNode* op);
  llvm::Value* IfThenElse(const CallNode* op);
  llvm::Value* Reinterpret(const CallNode* op);
  llvm::Value* Bitwise(const CallNode* op);
  llvm::Value* Shift(const CallNode* op);
  llvm::Value* LargeUInt(const CallNode* op);
  llvm::Value* MultiplyShift(const CallNode* op);
  llvm::Value* FloatClass(const CallNode* op);
  llvm::Value* PopCount(const CallNode* op);
  llvm::Value* FusedMultiplyAdd(const CallNode* op);
  llvm::Value* DotLanes(const CallNode* op);  // codegen_dot.cc
  /// Name of the LLVM intrinsic that is this dot product on this target; null: there is none.
  const char* DotIntrinsic(DataType a, DataType b, DataType c);
  bool TargetHas(const char* feature);
  llvm::Value* Absolute(const CallNode* op);
  llvm::Value* Prefetch(const CallNode* op);
  llvm::Value* ActiveLaneMask(const CallNode* op);
  llvm::Value* VScale(const CallNode* op);
  llvm::Value* Assume(const CallNode* op);
  llvm::Value* FirstArgument(const CallNode* op);
  llvm::Value* Undefined(const CallNode* op);
  llvm::Value* VectorHalf(const CallNode* op);
  llvm::Value* VectorCombine(const CallNode* op);
  llvm::Value* MemCopy(const CallNode* op);
  llvm::Value* AtomicAdd(const CallNode* op);
  llvm::Value* StorageSync(const CallNode* op);
  /// Calls `name` (libm), lane by lane.
  llvm::Value* CallMath(const std::string& name, DataType dtype,
                        const std::vector<llvm::Value*>& args);
  llvm::Value* LanewiseCall(llvm::Function* callee, const std::vector<llvm::Value*>& args,
                            llvm::Type* result);

  const LLVMTarget& target_;
  const std::unordered_set<std::string>& siblings_;
  llvm::LLVMContext* context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<Builder> builder_;
  llvm::PointerType* pointer_;
  llvm::MDNode* alias_root_ = nullptr;
  llvm::MDNode* abi_alias_ = nullptr;
  llvm::MDNode* shared_alias_ = nullptr;  // buffers of a function without the noalias promise
  int alias_count_ = 0;
  std::unordered_map<std::string, bool> features_;  // asked for so far
  bool has_scalar_loops_ = false, has_short_loops_ = false;

  std::unordered_map<const GlobalVarNode*, llvm::Function*> declared_;
  std::unordered_map<std::string, llvm::Constant*> strings_;
  std::unordered_map<std::string, llvm::GlobalVariable*> handles_;

  // State of the function being emitted.
  llvm::Function* function_ = nullptr;
  bool noalias_ = false;
  bool flushes_subnormals_ = false;  // in conversions to bfloat16
  std::unordered_map<const VarNode*, llvm::Value*> values_;
  std::unordered_map<const VarNode*, llvm::Value*> wide_values_;
  std::unordered_map<const VarNode*, Storage> storage_;
  std::unordered_map<const VarNode*, int> alignment_;
  std::unordered_map<const VarNode*, int> depths_;  // loops in which a variable varies
  AddressTable addresses_;                          // of addresses_block_
  llvm::BasicBlock* addresses_block_ = nullptr;
  std::vector<OpenLoop> loops_;
  ParallelEnv parallel_;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_CODEGEN_LLVM_H_
