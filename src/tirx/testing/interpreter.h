// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A slow and plain interpreter of TIRx, the oracle of pass tests: a function has to give the same
/// numbers before and after a pass. Float32 arithmetic is rounded after every operation, so that
/// errors of polynomials show as they do on the machine. Test code only.
#ifndef TVM_SRC_TIRX_TESTING_INTERPRETER_H_
#define TVM_SRC_TIRX_TESTING_INTERPRETER_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace tirx {
namespace testing {

/// Elements of a buffer: floats in `f`, everything else in `i`.
struct Memory {
  DataType dtype;
  std::vector<double> f;
  std::vector<int64_t> i;

  Memory(DataType dtype, size_t size) : dtype(dtype) {
    if (dtype.is_any_float()) {
      f.assign(size, std::nan(""));
    } else {
      i.assign(size, 0x7ead);
    }
  }
  size_t size() const { return dtype.is_any_float() ? f.size() : i.size(); }
};

struct Value {
  DataType dtype;
  std::vector<double> f;
  std::vector<int64_t> i;
  std::shared_ptr<Memory> memory;  // pointers
  int64_t offset = 0;

  bool is_float() const { return dtype.is_any_float(); }
  size_t lanes() const { return is_float() ? f.size() : i.size(); }
};

class Interpreter final : public StmtFunctor<void(const Stmt&)>,
                          public ExprFunctor<Value(const Expr&)> {
 public:
  using MemoryPtr = std::shared_ptr<Memory>;

  /// Runs `func`; arguments are memories for buffers and integers for scalars.
  void Run(const PrimFunc& func, const std::vector<MemoryPtr>& buffers,
           const std::vector<int64_t>& scalars = {}) {
    size_t next_buffer = 0, next_scalar = 0;
    for (const Var& param : func->params) {
      if (IsBuffer(param.get())) {
        pointers_[param.get()] = {buffers.at(next_buffer++), 0};
      } else {
        vars_[param.get()] = Int(param->dtype(), scalars.at(next_scalar++));
      }
    }
    VisitStmt(func->body);
  }

  void Set(const Var& var, Value value) { vars_[var.get()] = std::move(value); }
  Value Eval(const Expr& expr) { return VisitExpr(expr); }
  int stores = 0;

  static Value Int(DataType dtype, int64_t value) {
    Value result;
    result.dtype = dtype;
    result.i.assign(dtype.lanes(), Wrap(dtype, value));
    return result;
  }
  static Value Float(DataType dtype, double value) {
    Value result;
    result.dtype = dtype;
    result.f.assign(dtype.lanes(), Round(dtype, value));
    return result;
  }

 private:
  using StmtFunctor<void(const Stmt&)>::VisitStmt_;
  using ExprFunctor<Value(const Expr&)>::VisitExpr_;

  struct Pointer {
    MemoryPtr memory;
    int64_t offset;
  };
  struct BreakSignal {};
  struct ContinueSignal {};
  struct ReturnSignal {};

  static double Round(DataType dtype, double value) {
    if (dtype.is_float() && dtype.bits() == 32) return static_cast<float>(value);
    return value;
  }
  static int64_t Wrap(DataType dtype, int64_t value) {
    int bits = dtype.bits();
    if (dtype.is_bool()) return value != 0;
    if (bits >= 64) return value;
    uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t low = static_cast<uint64_t>(value) & mask;
    if (dtype.is_int() && (low >> (bits - 1)) != 0) low |= ~mask;
    return static_cast<int64_t>(low);
  }

  // ---- memory ----

  int64_t Offset(const Buffer& buffer, const ffi::Array<PrimExpr>& indices, size_t lane) {
    const BufferTypeNode* type = buffer.type();
    int64_t offset = 0, stride = 1;
    std::vector<int64_t> at;
    for (const PrimExpr& index : indices) {
      Value v = VisitExpr(index);
      at.push_back(v.i[v.i.size() == 1 ? 0 : lane]);
    }
    for (size_t d = at.size(); d-- > 0;) {
      int64_t s = type->strides.empty() ? stride : VisitExpr(type->strides[d]).i[0];
      offset += at[d] * s;
      if (type->strides.empty()) stride *= VisitExpr(type->shape[d]).i[0];
    }
    if (type->elem_offset.defined()) offset += VisitExpr(type->elem_offset).i[0];
    return offset;
  }

  Pointer PointerOf(const Buffer& buffer) {
    auto it = pointers_.find(buffer.get());
    TVM_FFI_CHECK(it != pointers_.end(), ValueError)
        << "buffer " << buffer->name << " has no memory";
    return it->second;
  }

  Value VisitExpr_(const BufferLoadNode* op) final {
    Value result;
    result.dtype = op->dtype();
    Pointer p = PointerOf(op->buffer);
    size_t lanes = op->dtype().lanes();
    Value mask;
    if (op->predicate.has_value()) mask = VisitExpr(op->predicate.value());
    for (size_t l = 0; l < lanes; ++l) {
      bool on = mask.i.empty() || mask.i[l] != 0;
      int64_t at = on ? p.offset + Offset(op->buffer, op->indices, l) : 0;
      if (on && (at < 0 || static_cast<size_t>(at) >= p.memory->size())) {
        TVM_FFI_THROW(IndexError) << "load of " << op->buffer->name << "[" << at << "] out of "
                                  << p.memory->size();
      }
      if (result.is_float()) {
        result.f.push_back(on ? p.memory->f[at] : std::nan(""));
      } else {
        result.i.push_back(on ? p.memory->i[at] : 0x7ead);
      }
    }
    return result;
  }

  void VisitStmt_(const BufferStoreNode* op) final {
    Value value = VisitExpr(op->value);
    Pointer p = PointerOf(op->buffer);
    Value mask;
    if (op->predicate.has_value()) mask = VisitExpr(op->predicate.value());
    for (size_t l = 0; l < value.lanes(); ++l) {
      if (!mask.i.empty() && mask.i[l] == 0) continue;
      int64_t at = p.offset + Offset(op->buffer, op->indices, l);
      if (at < 0 || static_cast<size_t>(at) >= p.memory->size()) {
        TVM_FFI_THROW(IndexError) << "store to " << op->buffer->name << "[" << at << "] out of "
                                  << p.memory->size();
      }
      if (value.is_float()) {
        p.memory->f[at] = value.f[l];
      } else {
        p.memory->i[at] = value.i[l];
      }
    }
    ++stores;
  }

  void Allocate(const Buffer& buffer) {
    int64_t size = buffer.dtype().lanes();
    for (const PrimExpr& extent : buffer.shape()) size *= VisitExpr(extent).i[0];
    if (!buffer.strides().empty()) {
      size = 1;
      for (size_t d = 0; d < buffer.ndim(); ++d) {
        size += (VisitExpr(buffer.shape()[d]).i[0] - 1) * VisitExpr(buffer.strides()[d]).i[0];
      }
    }
    pointers_[buffer.get()] = {std::make_shared<Memory>(buffer.dtype(), size), 0};
  }

  void VisitStmt_(const AllocBufferNode* op) final { Allocate(op->buffer); }
  void VisitStmt_(const DeclBufferNode* op) final {
    Value pointer = VisitExpr(op->data);
    pointers_[op->buffer.get()] = {pointer.memory, pointer.offset};
  }

  // ---- control ----

  void VisitStmt_(const SeqStmtNode* op) final {
    for (const Stmt& stmt : op->seq) VisitStmt(stmt);
  }
  void VisitStmt_(const BindNode* op) final { vars_[op->var.get()] = VisitExpr(op->value); }
  void VisitStmt_(const AttrStmtNode* op) final { VisitStmt(op->body); }
  void VisitStmt_(const AssertStmtNode* op) final {
    if (VisitExpr(op->condition).i[0] == 0) {
      TVM_FFI_THROW(ValueError) << "assertion failed";
    }
  }
  void VisitStmt_(const EvaluateNode* op) final { VisitExpr(op->value); }
  void VisitStmt_(const IfThenElseNode* op) final {
    if (VisitExpr(op->condition).i[0] != 0) {
      VisitStmt(op->then_case);
    } else if (op->else_case.has_value()) {
      VisitStmt(op->else_case.value());
    }
  }
  void VisitStmt_(const ForNode* op) final {
    int64_t min = VisitExpr(op->min).i[0];
    int64_t end = min + VisitExpr(op->extent).i[0];
    int64_t step = op->step.has_value() ? VisitExpr(op->step.value()).i[0] : 1;
    for (int64_t i = min; i < end; i += step) {
      vars_[op->loop_var.get()] = Int(op->loop_var->dtype(), i);
      try {
        VisitStmt(op->body);
      } catch (const BreakSignal&) {
        break;
      } catch (const ContinueSignal&) {
      }
    }
  }
  void VisitStmt_(const WhileNode* op) final {
    while (VisitExpr(op->condition).i[0] != 0) {
      try {
        VisitStmt(op->body);
      } catch (const BreakSignal&) {
        break;
      } catch (const ContinueSignal&) {
      }
    }
  }
  void VisitStmt_(const BreakNode*) final { throw BreakSignal(); }
  void VisitStmt_(const ContinueNode*) final { throw ContinueSignal(); }
  void VisitStmt_(const ReturnNode*) final { throw ReturnSignal(); }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    if (VisitExpr(op->predicate).i[0] == 0) return;
    const SBlockNode* block = op->block.get();
    bool at_start = true;
    for (size_t k = 0; k < op->iter_values.size(); ++k) {
      const IterVar& iter = block->iter_vars[k];
      Value value = VisitExpr(op->iter_values[k]);
      vars_[iter->var.get()] = Int(iter->var->dtype(), value.i[0]);
      if (iter->iter_type == kCommReduce) {
        at_start = at_start && value.i[0] == VisitExpr(iter->dom->min).i[0];
      }
    }
    for (const Buffer& buffer : block->alloc_buffers) Allocate(buffer);
    for (const MatchBufferRegion& match : block->match_buffers) {
      Pointer source = PointerOf(match->source->buffer);
      ffi::Array<PrimExpr> begin;
      for (const Range& range : match->source->region) begin.push_back(range->min);
      pointers_[match->buffer.get()] = {source.memory,
                                        source.offset + Offset(match->source->buffer, begin, 0)};
    }
    if (block->init.has_value() && at_start) VisitStmt(block->init.value());
    VisitStmt(block->body);
  }

  void VisitStmtDefault_(const ffi::Object* op) final {
    TVM_FFI_THROW(TypeError) << "the interpreter does not know " << op->GetTypeKey();
  }

  // ---- values ----

  Value VisitExpr_(const VarNode* op) final {
    auto pointer = pointers_.find(op);
    if (pointer != pointers_.end()) {
      Value value;
      value.dtype = DataType::Handle();
      value.memory = pointer->second.memory;
      value.offset = pointer->second.offset;
      return value;
    }
    auto it = vars_.find(op);
    TVM_FFI_CHECK(it != vars_.end(), ValueError) << "variable " << op->name << " has no value";
    return it->second;
  }
  Value VisitExpr_(const IntImmNode* op) final { return Int(op->dtype(), op->value); }
  Value VisitExpr_(const FloatImmNode* op) final { return Float(op->dtype(), op->value); }
  Value VisitExpr_(const StringImmNode*) final { return Int(DataType::Int(32), 0); }

  template <typename Node, typename FI, typename FF>
  Value Arith(const Node* op, FI on_int, FF on_float) {
    Value a = VisitExpr(op->a), b = VisitExpr(op->b);
    Value r;
    r.dtype = op->dtype();
    for (size_t l = 0; l < a.lanes(); ++l) {
      if (a.is_float()) {
        r.f.push_back(Round(r.dtype, on_float(a.f[l], b.f[l])));
      } else {
        r.i.push_back(Wrap(r.dtype, on_int(a.i[l], b.i[l])));
      }
    }
    return r;
  }
  template <typename Node, typename F>
  Value Compare(const Node* op, F test) {
    Value a = VisitExpr(op->a), b = VisitExpr(op->b);
    Value r;
    r.dtype = op->dtype();
    for (size_t l = 0; l < a.lanes(); ++l) {
      r.i.push_back(a.is_float() ? test(a.f[l], b.f[l]) : test(a.i[l], b.i[l]));
    }
    return r;
  }
  static int64_t FloorDivide(int64_t a, int64_t b) {
    int64_t q = a / b;
    return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
  }

#define TVM_TIRX_TEST_ARITH(Node, IntExpr, FloatExpr)                \
  Value VisitExpr_(const Node* op) final {                           \
    return Arith(                                                    \
        op, [](int64_t a, int64_t b) -> int64_t { return IntExpr; }, \
        [](double a, double b) -> double { return FloatExpr; });     \
  }
  TVM_TIRX_TEST_ARITH(AddNode, static_cast<int64_t>(uint64_t(a) + uint64_t(b)), a + b)
  TVM_TIRX_TEST_ARITH(SubNode, static_cast<int64_t>(uint64_t(a) - uint64_t(b)), a - b)
  TVM_TIRX_TEST_ARITH(MulNode, static_cast<int64_t>(uint64_t(a) * uint64_t(b)), a* b)
  TVM_TIRX_TEST_ARITH(DivNode, a / b, a / b)
  TVM_TIRX_TEST_ARITH(ModNode, a % b, std::fmod(a, b))
  TVM_TIRX_TEST_ARITH(FloorDivNode, FloorDivide(a, b), std::floor(a / b))
  TVM_TIRX_TEST_ARITH(FloorModNode, a - FloorDivide(a, b) * b, a - std::floor(a / b) * b)
  TVM_TIRX_TEST_ARITH(MinNode, std::min(a, b), std::isnan(a) || a < b ? a : b)
  TVM_TIRX_TEST_ARITH(MaxNode, std::max(a, b), std::isnan(a) || a > b ? a : b)
#undef TVM_TIRX_TEST_ARITH
#define TVM_TIRX_TEST_COMPARE(Node, Op)                                   \
  Value VisitExpr_(const Node* op) final {                                \
    return Compare(op, [](auto a, auto b) -> int64_t { return a Op b; }); \
  }
  TVM_TIRX_TEST_COMPARE(EQNode, ==)
  TVM_TIRX_TEST_COMPARE(NENode, !=)
  TVM_TIRX_TEST_COMPARE(LTNode, <)
  TVM_TIRX_TEST_COMPARE(LENode, <=)
  TVM_TIRX_TEST_COMPARE(GTNode, >)
  TVM_TIRX_TEST_COMPARE(GENode, >=)
  TVM_TIRX_TEST_COMPARE(AndNode, &&)
  TVM_TIRX_TEST_COMPARE(OrNode, ||)
#undef TVM_TIRX_TEST_COMPARE

  Value VisitExpr_(const NotNode* op) final {
    Value a = VisitExpr(op->a);
    for (int64_t& v : a.i) v = v == 0;
    return a;
  }
  Value VisitExpr_(const SelectNode* op) final {
    Value c = VisitExpr(op->condition), t = VisitExpr(op->true_value),
          f = VisitExpr(op->false_value);
    for (size_t l = 0; l < t.lanes(); ++l) {
      if (c.i[c.i.size() == 1 ? 0 : l] != 0) continue;
      if (t.is_float()) {
        t.f[l] = f.f[l];
      } else {
        t.i[l] = f.i[l];
      }
    }
    return t;
  }
  Value VisitExpr_(const CastNode* op) final {
    Value v = VisitExpr(op->value);
    Value r;
    r.dtype = op->dtype();
    for (size_t l = 0; l < v.lanes(); ++l) {
      if (r.is_float()) {
        r.f.push_back(Round(r.dtype, v.is_float() ? v.f[l] : static_cast<double>(v.i[l])));
      } else if (v.is_float()) {
        r.i.push_back(r.dtype.is_bool() ? v.f[l] != 0 : Wrap(r.dtype, int64_t(v.f[l])));
      } else {
        r.i.push_back(Wrap(r.dtype, v.i[l]));
      }
    }
    return r;
  }
  Value VisitExpr_(const RampNode* op) final {
    Value base = VisitExpr(op->base), stride = VisitExpr(op->stride);
    Value r;
    r.dtype = op->dtype();
    for (int l = 0; l < op->dtype().lanes(); ++l) {
      r.i.push_back(Wrap(r.dtype, base.i[0] + l * stride.i[0]));
    }
    return r;
  }
  Value VisitExpr_(const BroadcastNode* op) final {
    Value v = VisitExpr(op->value);
    Value r = v;
    r.dtype = op->dtype();
    while (static_cast<int>(r.lanes()) < op->dtype().lanes()) {
      r.f.insert(r.f.end(), v.f.begin(), v.f.end());
      r.i.insert(r.i.end(), v.i.begin(), v.i.end());
    }
    return r;
  }
  Value VisitExpr_(const ShuffleNode* op) final {
    Value all;
    all.dtype = op->vectors[0].dtype();
    for (const PrimExpr& vector : op->vectors) {
      Value v = VisitExpr(vector);
      all.f.insert(all.f.end(), v.f.begin(), v.f.end());
      all.i.insert(all.i.end(), v.i.begin(), v.i.end());
    }
    Value r;
    r.dtype = op->dtype();
    for (const PrimExpr& index : op->indices) {
      int64_t at = VisitExpr(index).i[0];
      if (r.is_float()) {
        r.f.push_back(all.f.at(at));
      } else {
        r.i.push_back(all.i.at(at));
      }
    }
    return r;
  }
  Value VisitExpr_(const LetNode* op) final {
    vars_[op->var.get()] = VisitExpr(op->value);
    return VisitExpr(op->body);
  }

  Value VisitExpr_(const CallNode* op) final {
    const std::string name(op->op.as<OpNode>()->name);
    if (name == "tirx.if_then_else") {
      return VisitExpr(VisitExpr(op->args[0]).i[0] != 0 ? op->args[1] : op->args[2]);
    }
    if (name == "tirx.likely" || name == "tirx.buffer_data") return VisitExpr(op->args[0]);
    if (name == "tirx.break_loop") throw BreakSignal();
    if (name == "tirx.ret") throw ReturnSignal();
    std::vector<Value> args;
    for (const Expr& arg : op->args) args.push_back(VisitExpr(arg));
    Value r;
    r.dtype = op->dtype();
    if (name == "tirx.reinterpret") return Reinterpret(r.dtype, args[0]);
    for (size_t l = 0; l < args[0].lanes(); ++l) {
      if (args[0].is_float()) {
        double x = args[0].f[l];
        double y = args.size() > 1 ? args[1].f[l] : 0;
        double z = args.size() > 2 ? args[2].f[l] : 0;
        double v = 0;
        if (name == "tirx.fma") {
          v = r.dtype.bits() == 32 ? std::fmaf(x, y, z) : std::fma(x, y, z);
        } else if (name == "tirx.exp") {
          v = std::exp(x);
        } else if (name == "tirx.sqrt") {
          v = std::sqrt(x);
        } else if (name == "tirx.floor") {
          v = std::floor(x);
        } else if (name == "tirx.nearbyint" || name == "tirx.round") {
          v = std::nearbyint(x);
        } else {
          TVM_FFI_THROW(TypeError) << "the interpreter does not know " << name;
        }
        r.f.push_back(Round(r.dtype, v));
      } else {
        int64_t x = args[0].i[l];
        int64_t y = args.size() > 1 ? args[1].i[l] : 0;
        int64_t v = 0;
        if (name == "tirx.shift_left") {
          // The machine takes the low bits; a shift of rubbish under a NaN is never looked at.
          v = static_cast<int64_t>(static_cast<uint64_t>(x) << (y & 63));
        } else if (name == "tirx.shift_right") {
          v = x >> (y & 63);
        } else if (name == "tirx.bitwise_and") {
          v = x & y;
        } else if (name == "tirx.bitwise_or") {
          v = x | y;
        } else {
          TVM_FFI_THROW(TypeError) << "the interpreter does not know " << name;
        }
        r.i.push_back(Wrap(r.dtype, v));
      }
    }
    return r;
  }

  static Value Reinterpret(DataType to, const Value& from) {
    Value r;
    r.dtype = to;
    for (size_t l = 0; l < from.lanes(); ++l) {
      if (from.is_float() && to.bits() == 32) {
        r.i.push_back(std::bit_cast<int32_t>(static_cast<float>(from.f[l])));
      } else if (from.is_float()) {
        r.i.push_back(std::bit_cast<int64_t>(from.f[l]));
      } else if (to.bits() == 32) {
        r.f.push_back(std::bit_cast<float>(static_cast<int32_t>(from.i[l])));
      } else {
        r.f.push_back(std::bit_cast<double>(from.i[l]));
      }
    }
    return r;
  }

  Value VisitExprDefault_(const ffi::Object* op) final {
    TVM_FFI_THROW(TypeError) << "the interpreter does not know " << op->GetTypeKey();
  }

  std::unordered_map<const ffi::Object*, Value> vars_;
  std::unordered_map<const ffi::Object*, Pointer> pointers_;
};

inline std::shared_ptr<Memory> Floats(const std::vector<double>& values) {
  auto memory = std::make_shared<Memory>(DataType::Float(32), values.size());
  memory->f = values;
  return memory;
}
inline std::shared_ptr<Memory> Ints(DataType dtype, const std::vector<int64_t>& values) {
  auto memory = std::make_shared<Memory>(dtype, values.size());
  memory->i = values;
  return memory;
}
/// `size` floats that are small integers, so that sums are exact in any order.
inline std::shared_ptr<Memory> Pattern(size_t size, int seed = 1) {
  auto memory = std::make_shared<Memory>(DataType::Float(32), size);
  uint32_t state = 2654435761u * static_cast<uint32_t>(seed);
  for (double& v : memory->f) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<double>(state >> 28) - 7;
  }
  return memory;
}

}  // namespace testing
}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TESTING_INTERPRETER_H_
