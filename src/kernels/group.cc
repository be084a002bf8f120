// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/group.h"

#include <tvm/arith/analyzer.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/names.h"

namespace tvm {
namespace kernels {

using ffi::Optional;

int64_t Stage::Int(const char* key, int64_t otherwise) const {
  auto it = block->annotations.find(key);
  if (it == block->annotations.end()) return otherwise;
  if (auto value = (*it).second.try_cast<int64_t>()) return *value;
  if (auto imm = (*it).second.as<IntImm>()) return imm.value()->value;
  return otherwise;
}

std::string Stage::Text(const char* key) const {
  auto it = block->annotations.find(key);
  if (it == block->annotations.end()) return "";
  if (auto text = (*it).second.try_cast<ffi::String>()) return std::string(*text);
  if (auto imm = (*it).second.as<tirx::StringImm>()) return std::string(imm.value()->value);
  return "";
}

const Stage* Group::Anchor(std::string_view tile_op) const {
  const bool is = anchor >= 0 && stages[anchor].Text(kTileOp) == tile_op;
  return is ? &stages[anchor] : nullptr;
}

bool Group::IsParam(const Buffer& buffer) const {
  return std::any_of(func->params.begin(), func->params.end(),
                     [&](const Var& param) { return param.same_as(buffer); });
}

int Group::Writer(const Buffer& buffer) const {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].output.same_as(buffer)) return static_cast<int>(i);
  }
  return -1;
}

namespace {

/// Operands of `combined` = update(output[indices], x): the kind and x, if it is such.
ReduceKind MatchUpdate(const Stage& stage, const PrimExpr& combined, PrimExpr* source) {
  ExprDeepEqual equal;
  auto is_self = [&](const PrimExpr& expr) {
    const auto* load = expr.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(stage.output)) return false;
    for (size_t i = 0; i < load->indices.size(); ++i) {
      if (!equal(load->indices[i], stage.indices[i])) return false;
    }
    return true;
  };
  auto match = [&](const tirx::BinaryOpNode* op) {
    if (is_self(op->a)) {
      *source = op->b;
      return true;
    }
    if (is_self(op->b)) {
      *source = op->a;
      return true;
    }
    return false;
  };
  if (const auto* op = combined.as<tirx::AddNode>(); op && match(op)) return ReduceKind::kSum;
  if (const auto* op = combined.as<tirx::MulNode>(); op && match(op)) return ReduceKind::kProd;
  if (const auto* op = combined.as<tirx::MaxNode>(); op && match(op)) return ReduceKind::kMax;
  if (const auto* op = combined.as<tirx::MinNode>(); op && match(op)) return ReduceKind::kMin;
  return ReduceKind::kNone;
}

class GroupReader {
 public:
  explicit GroupReader(std::string* why) : why_(why) {}

  bool Read(const Stmt& stmt, std::vector<Stage>* stages) {
    if (const auto* seq = stmt.as<tirx::SeqStmtNode>()) {
      for (const Stmt& part : seq->seq) {
        if (!Read(part, stages)) return false;
      }
      return true;
    }
    if (const auto* loop = stmt.as<tirx::ForNode>()) return Read(loop->body, stages);
    const auto* realize = stmt.as<tirx::SBlockRealizeNode>();
    if (realize == nullptr)
      return Fail(std::string("statement ") + std::string(stmt->GetTypeKey()));
    if (realize->block->iter_vars.empty() && !realize->block->body.as<tirx::BufferStoreNode>()) {
      return Read(realize->block->body, stages);  // the root block
    }
    Stage stage;
    if (!ReadBlock(realize, &stage)) return false;
    stages->push_back(std::move(stage));
    return true;
  }

 private:
  bool Fail(const std::string& reason) {
    *why_ = reason;
    return false;
  }

  bool ReadBlock(const tirx::SBlockRealizeNode* realize, Stage* stage) {
    const tirx::SBlock& block = realize->block;
    const std::string name(block->name_hint);
    stage->block = block;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const tirx::IterVar& iter = block->iter_vars[i];
      const int64_t* extent = as_const_int(iter->dom->extent);
      if (extent == nullptr || !is_zero(iter->dom->min)) {
        return Fail("block " + name + " has an iteration of dynamic extent");
      }
      if (iter->var.dtype() != DataType::Int(64))
        return Fail("block " + name + " has narrow indices");
      const bool reduces = iter->iter_type == tirx::kCommReduce;
      if (!reduces && iter->iter_type != tirx::kDataPar) {
        return Fail("block " + name + " has an iteration that is neither spatial nor a reduction");
      }
      (reduces ? stage->reduce : stage->spatial).push_back({iter->var, *extent});
    }
    const auto* store = block->body.as<tirx::BufferStoreNode>();
    if (store == nullptr) return Fail("block " + name + " is not a single store");
    stage->output = store->buffer;
    stage->indices = store->indices;
    stage->value = store->value;
    if (stage->reduce.empty() && !block->init.has_value()) return true;
    const auto* init =
        block->init.has_value() ? block->init.value().as<tirx::BufferStoreNode>() : nullptr;
    if (init == nullptr) return Fail("block " + name + " reduces without an init store");
    stage->init = init->value;
    stage->kind = MatchUpdate(*stage, store->value, &stage->value);
    if (stage->kind == ReduceKind::kNone) return Fail("block " + name + " reduces in another way");
    return true;
  }

  std::string* why_;
};

class ProducerInliner : public ExprMutator {
 public:
  ProducerInliner(const Group& group, int limit, const std::vector<Buffer>& keep)
      : group_(group), limit_(limit), keep_(keep) {}

 private:
  Expr VisitExpr_(const BufferLoadNode* op) final {
    const int writer = group_.Writer(op->buffer);
    const bool kept = std::any_of(keep_.begin(), keep_.end(),
                                  [&](const Buffer& b) { return b.same_as(op->buffer); });
    if (writer < 0 || writer >= limit_ || kept || !group_.stages[writer].reduce.empty()) {
      return ExprMutator::VisitExpr_(op);
    }
    const Stage& stage = group_.stages[writer];
    ffi::Map<Var, PrimExpr> values;
    for (size_t i = 0; i < op->indices.size(); ++i) {
      const auto* var = stage.indices[i].as<VarNode>();
      if (var == nullptr) {
        if (is_zero(stage.indices[i])) continue;  // a unit dimension
        return ExprMutator::VisitExpr_(op);
      }
      values.Set(ffi::GetRef<Var>(var), PrimExpr(VisitExpr(op->indices[i])));
    }
    return VisitExpr(Substitute(stage.value, values));
  }

  const Group& group_;
  int limit_;
  const std::vector<Buffer>& keep_;
};

}  // namespace

std::optional<Group> ParseGroup(const tirx::PrimFunc& func, std::string* why) {
  Group group;
  group.func = func;
  // A static result may read data of open extents, whose flat positions nobody knows yet.
  for (const Var& param : func->params) {
    const auto* type = param->ty.as<tirx::BufferTypeNode>();
    if (type == nullptr) continue;
    for (const PrimExpr& extent : type->shape) {
      if (as_const_int(extent) != nullptr) continue;
      *why = "an operand has a dynamic extent";
      return std::nullopt;
    }
  }
  if (!GroupReader(why).Read(func->body, &group.stages)) return std::nullopt;
  for (size_t i = 0; i < group.stages.size(); ++i) {
    if (group.stages[i].Text(kTileOp).empty()) continue;
    if (group.anchor >= 0) {
      *why = "two anchors";
      return std::nullopt;
    }
    group.anchor = static_cast<int>(i);
  }
  return group;
}

PrimExpr InlineProducers(const Group& group, PrimExpr expr, int limit,
                         const std::vector<Buffer>& keep) {
  return PrimExpr(ProducerInliner(group, limit, keep)(expr));
}

PrimExpr ReplaceLoads(const PrimExpr& expr, const Buffer& buffer, const PrimExpr& replacement) {
  class Replacer : public ExprMutator {
   public:
    Replacer(const Buffer& buffer, const PrimExpr& replacement)
        : buffer_(buffer), replacement_(replacement) {}

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      if (op->buffer.same_as(buffer_)) return replacement_;
      return ExprMutator::VisitExpr_(op);
    }
    const Buffer& buffer_;
    const PrimExpr& replacement_;
  };
  return PrimExpr(Replacer(buffer, replacement)(expr));
}

std::vector<Buffer> ReadBuffers(const Expr& expr) {
  std::vector<Buffer> buffers;
  PostOrderVisitExpr(expr, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr) return;
    for (const Buffer& buffer : buffers) {
      if (buffer.same_as(load->buffer)) return;
    }
    buffers.push_back(load->buffer);
  });
  return buffers;
}

bool UsesOutsideOfLoads(const PrimExpr& expr, const Var& var) {
  class Finder : public ExprVisitor {
   public:
    explicit Finder(const Var& var) : var_(var) {}
    bool found = false;

   private:
    void VisitExpr_(const BufferLoadNode*) final {}
    void VisitExpr_(const VarNode* op) final { found = found || op == var_.get(); }
    const Var& var_;
  };
  Finder finder(var);
  finder(expr);
  return finder.found;
}

PrimExpr Combine(ReduceKind kind, const PrimExpr& a, const PrimExpr& b) {
  switch (kind) {
    case ReduceKind::kSum:
      return a + b;
    case ReduceKind::kProd:
      return a * b;
    case ReduceKind::kMax:
      return max(a, b);
    case ReduceKind::kMin:
      return min(a, b);
    case ReduceKind::kNone:
      break;
  }
  TVM_FFI_THROW(InternalError) << "not a reduction";
  TVM_FFI_UNREACHABLE();
}

bool IsDear(const PrimExpr& value) {
  bool dear = false;
  PostOrderVisitExpr(value, [&](const Expr& node) {
    const auto* call = node.as<CallNode>();
    if (call == nullptr || call->op.same_as(tirx::builtin::if_then_else())) return;
    dear = true;
  });
  return dear;
}

struct FlatAccess::Impl {
  arith::Analyzer analyzer;
  std::unordered_map<const ffi::Object*, Buffer> aliases;
  std::vector<std::pair<Buffer, Buffer>> declared;  // original, alias
};

FlatAccess::FlatAccess() : impl_(std::make_unique<Impl>()) {}
FlatAccess::~FlatAccess() = default;

void FlatAccess::Bind(const Var& var, int64_t extent) { BindRange(var, 0, extent); }

void FlatAccess::BindRange(const Var& var, int64_t low, int64_t extent) {
  impl_->analyzer->Bind(var, Range::FromMinExtent(Index(low), Index(extent)));
}

PrimExpr FlatAccess::Simplify(const PrimExpr& expr) { return impl_->analyzer->Simplify(expr); }

bool FlatAccess::CanProve(const PrimExpr& condition) {
  return impl_->analyzer->CanProve(condition);
}

Buffer FlatAccess::Scratch(const char* name, int64_t size, DataType dtype, const char* scope) {
  return tirx::decl_buffer({Index(size)}, dtype, name, scope);
}

void FlatAccess::UseAsIs(const Buffer& buffer) { impl_->aliases.emplace(buffer.get(), buffer); }

Buffer FlatAccess::Alias(const Buffer& buffer) {
  auto it = impl_->aliases.find(buffer.get());
  if (it != impl_->aliases.end()) return it->second;
  int64_t size = 1;
  for (const PrimExpr& extent : buffer.shape()) size *= *as_const_int(extent);
  Buffer flat = buffer;
  if (buffer.ndim() != 1) {
    flat =
        tirx::decl_buffer({Index(size)}, buffer.dtype(), buffer.name() + "_flat", buffer.scope());
    impl_->declared.emplace_back(buffer, flat);
  }
  impl_->aliases.emplace(buffer.get(), flat);
  return flat;
}

PrimExpr FlatAccess::Offset(const Buffer& buffer, const Array<PrimExpr>& indices) {
  PrimExpr offset = Index(0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t extent = *as_const_int(buffer.shape()[i]);
    PrimExpr index = cast(DataType::Int(64), indices[i]);
    offset = extent == 1 ? offset : offset * Index(extent) + index;
  }
  return Simplify(offset);
}

PrimExpr FlatAccess::Loads(const PrimExpr& expr) {
  class Flattener : public ExprMutator {
   public:
    explicit Flattener(FlatAccess* access) : access_(access) {}

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      Array<PrimExpr> indices =
          op->indices.Map([this](const PrimExpr& index) { return VisitPrimExpr(index); });
      return BufferLoad(access_->Alias(op->buffer), {access_->Offset(op->buffer, indices)});
    }
    FlatAccess* access_;
  };
  return PrimExpr(Flattener(this)(expr));
}

Stmt FlatAccess::Store(const Buffer& buffer, const Array<PrimExpr>& indices, PrimExpr value) {
  return tirx::BufferStore(Alias(buffer), Loads(value), {Offset(buffer, indices)});
}

Stmt FlatAccess::Wrap(Stmt body) const {
  Array<Stmt> seq;
  for (const auto& [original, alias] : impl_->declared) {
    seq.push_back(tirx::DeclBuffer(alias, tirx::buffer_data(original)));
  }
  seq.push_back(std::move(body));
  return tirx::SeqStmt::Flatten(seq);
}

std::optional<int64_t> FlatAccess::Coefficient(const PrimExpr& offset, const Var& var) {
  PrimExpr next = Substitute(offset, ffi::Map<Var, PrimExpr>{{var, PrimExpr(var) + Index(1)}});
  PrimExpr delta = Simplify(next - offset);
  if (const int64_t* value = as_const_int(delta)) return *value;
  return std::nullopt;
}

std::optional<int64_t> FlatAccess::FusedCoefficient(const PrimExpr& offset,
                                                    const std::vector<Iter>& iters) {
  std::optional<int64_t> inner;
  int64_t stride = 1;
  for (size_t i = iters.size(); i-- > 0;) {
    if (iters[i].extent == 1) continue;
    auto c = Coefficient(offset, iters[i].var);
    if (!c) return std::nullopt;
    if (!inner) inner = c;
    if (*c != *inner * stride) return std::nullopt;
    stride *= iters[i].extent;
  }
  return inner.value_or(0);
}

ffi::Map<Var, PrimExpr> Zeros(const std::vector<Iter>& iters) {
  ffi::Map<Var, PrimExpr> zeros;
  for (const Iter& iter : iters) zeros.Set(iter.var, Index(0));
  return zeros;
}

ffi::Map<Var, PrimExpr> Digits(const std::vector<Iter>& iters, const PrimExpr& fused) {
  ffi::Map<Var, PrimExpr> values;
  PrimExpr rest = fused;
  for (size_t i = iters.size(); i-- > 0;) {
    const PrimExpr extent = Index(iters[i].extent);
    PrimExpr digit = i == 0 ? rest : floormod(rest, extent);
    values.Set(iters[i].var, iters[i].extent == 1 ? Index(0) : digit);
    rest = floordiv(rest, extent);
  }
  return values;
}

int64_t Product(const std::vector<Iter>& iters) {
  int64_t product = 1;
  for (const Iter& iter : iters) product *= iter.extent;
  return product;
}

std::vector<Iter> NonUnit(const std::vector<Iter>& iters) {
  std::vector<Iter> result;
  for (const Iter& iter : iters) {
    if (iter.extent != 1) result.push_back(iter);
  }
  return result;
}

Stmt VectorRun(const Iter& iter, int64_t lanes, const Stmt& body) {
  const int64_t whole = iter.extent / lanes, rest = iter.extent % lanes;
  Array<Stmt> seq;
  auto piece = [&](const PrimExpr& start, int64_t width) {
    Var lane = IndexVar("lane");
    Stmt moved = tirx::Substitute(body, ffi::Map<Var, Expr>{{iter.var, start + lane}});
    return VectorLoop(lane, width, moved);
  };
  if (whole > 0) {
    Var outer = IndexVar("run");
    seq.push_back(Loop(outer, whole, piece(PrimExpr(outer) * Index(lanes), lanes)));
  }
  if (rest > 0) seq.push_back(piece(Index(whole * lanes), rest));
  return tirx::SeqStmt::Flatten(seq);
}

Stmt Loop(const Var& var, int64_t extent, Stmt body) {
  if (extent == 1) return tirx::Substitute(body, ffi::Map<Var, Expr>{{var, Index(0)}});
  return tirx::For(var, Index(0), Index(extent), tirx::ForKind::kSerial, std::move(body));
}

Stmt VectorLoop(const Var& var, int64_t lanes, Stmt body) {
  if (lanes == 1) return tirx::Substitute(body, ffi::Map<Var, Expr>{{var, Index(0)}});
  return tirx::For(var, Index(0), Index(lanes), tirx::ForKind::kVectorized, std::move(body));
}

Stmt ParallelLoop(const Var& var, int64_t extent, Stmt body) {
  if (extent == 1) return tirx::Substitute(body, ffi::Map<Var, Expr>{{var, Index(0)}});
  return tirx::For(var, Index(0), Index(extent), tirx::ForKind::kParallel, std::move(body));
}

Var IndexVar(const char* name) { return Var(name, DataType::Int(64)); }

tirx::PrimFunc ScheduledFunc(const tirx::PrimFunc& func, Stmt body) {
  tirx::PrimFunc result = func;
  result.CopyOnWrite()->body = std::move(body);
  result = WithoutAttr(std::move(result), "s_tir");
  return WithAttr(std::move(result), tirx::attr::kIsScheduled, Bool(true));
}

}  // namespace kernels
}  // namespace tvm
