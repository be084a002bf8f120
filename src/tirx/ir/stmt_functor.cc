// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Default traversals of statements. Long because each of the 18 statement classes has a visit and
/// a rewrite, which read best side by side.
#include <tvm/tirx/stmt_functor.h>

#include <vector>

#include "tirx/ir/map_array.h"

namespace tvm {
namespace tirx {

namespace {

/// Class of each type index, indexed from the smallest index among the statement classes.
struct ClassTable {
  int32_t begin = 0;
  std::vector<StmtClass> classes;

  ClassTable() {
    struct Entry {
      int32_t type_index;
      StmtClass stmt_class;
    };
    const Entry entries[] = {
#define TVM_TIRX_ENTRY(Name) {Name##Node::RuntimeTypeIndex(), StmtClass::k##Name},
        TVM_TIRX_FOR_EACH_STMT(TVM_TIRX_ENTRY)
#undef TVM_TIRX_ENTRY
    };
    begin = entries[0].type_index;
    int32_t end = begin;
    for (const Entry& entry : entries) {
      begin = std::min(begin, entry.type_index);
      end = std::max(end, entry.type_index);
    }
    classes.assign(end - begin + 1, StmtClass::kOther);
    for (const Entry& entry : entries) classes[entry.type_index - begin] = entry.stmt_class;
  }
};

template <typename Node>
ffi::ObjectPtr<Node> CopyNode(const Node* node) {
  return ffi::make_object<Node>(*node);
}

}  // namespace

StmtClass StmtClassOf(const StmtNode* node) {
  static const ClassTable table;
  if (node == nullptr) return StmtClass::kOther;
  int32_t offset = node->type_index() - table.begin;
  if (offset < 0 || offset >= static_cast<int32_t>(table.classes.size())) return StmtClass::kOther;
  return table.classes[offset];
}

// ---- StmtVisitor -------------------------------------------------------------------------------

void StmtVisitor::VisitBufferDef(const Buffer& buffer) {
  const BufferTypeNode* type = buffer.type();
  VisitExprs(type->shape);
  VisitExprs(type->strides);
  if (type->elem_offset.defined()) this->VisitExpr(type->elem_offset);
  VisitExprs(type->allocated_addr);
}

void StmtVisitor::VisitRegion(const BufferRegion& region) {
  this->VisitBufferUse(region->buffer);
  for (const Range& range : region->region) {
    this->VisitExpr(range->min);
    this->VisitExpr(range->extent);
  }
}

void StmtVisitor::VisitStmt_(const BindNode* op) { this->VisitExpr(op->value); }

void StmtVisitor::VisitStmt_(const AttrStmtNode* op) {
  this->VisitExpr(op->value);
  this->VisitStmt(op->body);
}

void StmtVisitor::VisitStmt_(const AssertStmtNode* op) { this->VisitExpr(op->condition); }

void StmtVisitor::VisitStmt_(const BufferStoreNode* op) {
  this->VisitBufferUse(op->buffer);
  this->VisitExpr(op->value);
  VisitExprs(op->indices);
  if (op->predicate.has_value()) this->VisitExpr(op->predicate.value());
}

void StmtVisitor::VisitStmt_(const AllocBufferNode* op) { this->VisitBufferDef(op->buffer); }

void StmtVisitor::VisitStmt_(const DeclBufferNode* op) {
  this->VisitExpr(op->data);
  this->VisitBufferDef(op->buffer);
}

void StmtVisitor::VisitStmt_(const SeqStmtNode* op) {
  for (const Stmt& stmt : op->seq) this->VisitStmt(stmt);
}

void StmtVisitor::VisitStmt_(const EvaluateNode* op) { this->VisitExpr(op->value); }

void StmtVisitor::VisitStmt_(const IfThenElseNode* op) {
  this->VisitExpr(op->condition);
  this->VisitStmt(op->then_case);
  if (op->else_case.has_value()) this->VisitStmt(op->else_case.value());
}

void StmtVisitor::VisitStmt_(const ForNode* op) {
  this->VisitExpr(op->min);
  this->VisitExpr(op->extent);
  if (op->step.has_value()) this->VisitExpr(op->step.value());
  this->VisitStmt(op->body);
}

void StmtVisitor::VisitStmt_(const WhileNode* op) {
  this->VisitExpr(op->condition);
  this->VisitStmt(op->body);
}

void StmtVisitor::VisitStmt_(const ReturnNode* op) { this->VisitExpr(op->value); }
void StmtVisitor::VisitStmt_(const BreakNode*) {}
void StmtVisitor::VisitStmt_(const ContinueNode*) {}

void StmtVisitor::VisitStmt_(const ScopeIdDefStmtNode* op) {
  if (op->def->extents.has_value()) VisitExprs(op->def->extents.value());
  if (op->def->preferred_extents.has_value()) VisitExprs(op->def->preferred_extents.value());
}

void StmtVisitor::VisitStmt_(const TilePrimitiveCallNode* op) {
  auto visit_value = [this](const ffi::Any& value) {
    if (auto buffer = value.as<Buffer>()) {
      this->VisitBufferUse(*buffer);
    } else if (auto region = value.as<BufferRegion>()) {
      this->VisitRegion(*region);
    } else if (auto expr = value.as<Expr>()) {
      this->VisitExpr(*expr);
    } else if (auto stmt = value.as<Stmt>()) {
      this->VisitStmt(*stmt);
    }
  };
  for (const ffi::Any& arg : op->args) visit_value(arg);
  for (const auto& [name, buffer] : op->workspace) this->VisitBufferUse(buffer);
  for (const auto& [name, value] : op->config) visit_value(value);
}

void StmtVisitor::VisitStmt_(const SBlockNode* op) {
  for (const IterVar& iter : op->iter_vars) {
    this->VisitExpr(iter->dom->min);
    this->VisitExpr(iter->dom->extent);
  }
  for (const Buffer& buffer : op->alloc_buffers) this->VisitBufferDef(buffer);
  for (const BufferRegion& region : op->reads) this->VisitRegion(region);
  for (const BufferRegion& region : op->writes) this->VisitRegion(region);
  for (const MatchBufferRegion& match : op->match_buffers) {
    this->VisitRegion(match->source);
    this->VisitBufferDef(match->buffer);
  }
  if (op->init.has_value()) this->VisitStmt(op->init.value());
  this->VisitStmt(op->body);
}

void StmtVisitor::VisitStmt_(const SBlockRealizeNode* op) {
  VisitExprs(op->iter_values);
  this->VisitExpr(op->predicate);
  this->VisitStmt(op->block);
}

// ---- StmtMutator -------------------------------------------------------------------------------

PrimExpr StmtMutator::VisitPrimExpr(const PrimExpr& expr) {
  Expr result = this->VisitExpr(expr);
  return result.same_as(expr) ? expr : PrimExpr(std::move(result));
}

ffi::Array<PrimExpr> StmtMutator::VisitExprs(const ffi::Array<PrimExpr>& exprs) {
  return MapArray(exprs, [this](const PrimExpr& expr) { return VisitPrimExpr(expr); });
}

ffi::Array<BufferRegion> StmtMutator::VisitRegions(const ffi::Array<BufferRegion>& regions) {
  return MapArray(regions, [this](const BufferRegion& region) { return VisitRegion(region); });
}

Buffer StmtMutator::VisitBufferDef(const Buffer& buffer) {
  const BufferTypeNode* type = buffer.type();
  ffi::Array<PrimExpr> shape = VisitExprs(type->shape);
  ffi::Array<PrimExpr> strides = VisitExprs(type->strides);
  PrimExpr elem_offset =
      type->elem_offset.defined() ? VisitPrimExpr(type->elem_offset) : type->elem_offset;
  ffi::Array<PrimExpr> addr = VisitExprs(type->allocated_addr);
  if (shape.same_as(type->shape) && strides.same_as(type->strides) &&
      elem_offset.same_as(type->elem_offset) && addr.same_as(type->allocated_addr)) {
    return buffer;
  }
  auto new_type = CopyNode(type);
  new_type->shape = std::move(shape);
  new_type->strides = std::move(strides);
  new_type->elem_offset = std::move(elem_offset);
  new_type->allocated_addr = std::move(addr);
  Buffer result = buffer.WithType(BufferType(std::move(new_type)));
  buffer_remap_[buffer.get()] = result;
  return result;
}

Buffer StmtMutator::VisitBufferUse(const Buffer& buffer) {
  if (buffer_remap_.empty()) return buffer;
  auto it = buffer_remap_.find(buffer.get());
  return it == buffer_remap_.end() ? buffer : it->second;
}

BufferRegion StmtMutator::VisitRegion(const BufferRegion& region) {
  Buffer buffer = this->VisitBufferUse(region->buffer);
  ffi::Array<Range> ranges = MapArray(region->region, [this](const Range& range) {
    PrimExpr min = VisitPrimExpr(range->min);
    PrimExpr extent = VisitPrimExpr(range->extent);
    if (min.same_as(range->min) && extent.same_as(range->extent)) return range;
    return Range::FromMinExtent(std::move(min), std::move(extent), range->span);
  });
  if (buffer.same_as(region->buffer) && ranges.same_as(region->region)) return region;
  return BufferRegion(std::move(buffer), std::move(ranges));
}

Stmt StmtMutator::VisitStmt_(const BindNode* op) {
  Expr value = this->VisitExpr(op->value);
  if (value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->value = std::move(value);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const AttrStmtNode* op) {
  Expr value = this->VisitExpr(op->value);
  Stmt body = this->VisitStmt(op->body);
  if (value.same_as(op->value) && body.same_as(op->body)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->value = std::move(value);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const AssertStmtNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  if (condition.same_as(op->condition)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->condition = std::move(condition);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const BufferStoreNode* op) {
  Buffer buffer = this->VisitBufferUse(op->buffer);
  PrimExpr value = VisitPrimExpr(op->value);
  ffi::Array<PrimExpr> indices = VisitExprs(op->indices);
  ffi::Optional<PrimExpr> predicate = op->predicate;
  bool same_predicate = true;
  if (op->predicate.has_value()) {
    PrimExpr visited = VisitPrimExpr(op->predicate.value());
    same_predicate = visited.same_as(op->predicate.value());
    predicate = std::move(visited);
  }
  if (buffer.same_as(op->buffer) && value.same_as(op->value) && indices.same_as(op->indices) &&
      same_predicate) {
    return ffi::GetRef<Stmt>(op);
  }
  auto node = CopyNode(op);
  node->buffer = std::move(buffer);
  node->value = std::move(value);
  node->indices = std::move(indices);
  node->predicate = std::move(predicate);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const AllocBufferNode* op) {
  Buffer buffer = this->VisitBufferDef(op->buffer);
  if (buffer.same_as(op->buffer)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->buffer = std::move(buffer);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const DeclBufferNode* op) {
  Expr data = this->VisitExpr(op->data);
  Buffer buffer = this->VisitBufferDef(op->buffer);
  if (buffer.same_as(op->buffer) && data.same_as(op->data)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->buffer = std::move(buffer);
  node->data = std::move(data);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitSeqStmt_(const SeqStmtNode* op,
                                const std::function<Stmt(const Stmt&)>& visit) {
  bool nested = false;
  ffi::Array<Stmt> seq = MapArray(op->seq, [&](const Stmt& stmt) {
    Stmt result = visit ? visit(stmt) : this->VisitStmt(stmt);
    nested = nested || result.as<SeqStmtNode>() != nullptr;
    return result;
  });
  if (seq.same_as(op->seq)) return ffi::GetRef<Stmt>(op);
  if (nested) return SeqStmt(std::move(seq), op->span);
  auto node = CopyNode(op);
  node->seq = std::move(seq);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const SeqStmtNode* op) { return VisitSeqStmt_(op); }

Stmt StmtMutator::VisitStmt_(const EvaluateNode* op) {
  Expr value = this->VisitExpr(op->value);
  if (value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->value = std::move(value);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const IfThenElseNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  Stmt then_case = this->VisitStmt(op->then_case);
  ffi::Optional<Stmt> else_case = op->else_case;
  bool same_else = true;
  if (op->else_case.has_value()) {
    Stmt visited = this->VisitStmt(op->else_case.value());
    same_else = visited.same_as(op->else_case.value());
    else_case = std::move(visited);
  }
  if (condition.same_as(op->condition) && then_case.same_as(op->then_case) && same_else) {
    return ffi::GetRef<Stmt>(op);
  }
  auto node = CopyNode(op);
  node->condition = std::move(condition);
  node->then_case = std::move(then_case);
  node->else_case = std::move(else_case);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const ForNode* op) {
  PrimExpr min = VisitPrimExpr(op->min);
  PrimExpr extent = VisitPrimExpr(op->extent);
  ffi::Optional<PrimExpr> step = op->step;
  bool same_step = true;
  if (op->step.has_value()) {
    PrimExpr visited = VisitPrimExpr(op->step.value());
    same_step = visited.same_as(op->step.value());
    step = std::move(visited);
  }
  Stmt body = this->VisitStmt(op->body);
  if (min.same_as(op->min) && extent.same_as(op->extent) && same_step && body.same_as(op->body)) {
    return ffi::GetRef<Stmt>(op);
  }
  auto node = CopyNode(op);
  node->min = std::move(min);
  node->extent = std::move(extent);
  node->step = std::move(step);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const WhileNode* op) {
  PrimExpr condition = VisitPrimExpr(op->condition);
  Stmt body = this->VisitStmt(op->body);
  if (condition.same_as(op->condition) && body.same_as(op->body)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->condition = std::move(condition);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const ReturnNode* op) {
  Expr value = this->VisitExpr(op->value);
  if (value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->value = std::move(value);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const BreakNode* op) { return ffi::GetRef<Stmt>(op); }
Stmt StmtMutator::VisitStmt_(const ContinueNode* op) { return ffi::GetRef<Stmt>(op); }

Stmt StmtMutator::VisitStmt_(const ScopeIdDefStmtNode* op) {
  auto visit = [this](const ffi::Optional<ffi::Array<PrimExpr>>& exprs, bool* same) {
    if (!exprs.has_value()) return exprs;
    ffi::Array<PrimExpr> result = VisitExprs(exprs.value());
    *same = *same && result.same_as(exprs.value());
    return ffi::Optional<ffi::Array<PrimExpr>>(std::move(result));
  };
  bool same = true;
  auto extents = visit(op->def->extents, &same);
  auto preferred = visit(op->def->preferred_extents, &same);
  if (same) return ffi::GetRef<Stmt>(op);
  return ScopeIdDefStmt(ScopeIdDef(op->def->def_ids, extents, op->def->scope, preferred), op->span);
}

Stmt StmtMutator::VisitStmt_(const TilePrimitiveCallNode* op) {
  bool same = true;
  auto visit_value = [this, &same](const ffi::Any& value) -> ffi::Any {
    auto track = [&same](const auto& before, auto after) -> ffi::Any {
      same = same && after.same_as(before);
      return ffi::Any(std::move(after));
    };
    if (auto buffer = value.as<Buffer>()) return track(*buffer, this->VisitBufferUse(*buffer));
    if (auto region = value.as<BufferRegion>()) return track(*region, this->VisitRegion(*region));
    if (auto expr = value.as<Expr>()) return track(*expr, this->VisitExpr(*expr));
    if (auto stmt = value.as<Stmt>()) return track(*stmt, this->VisitStmt(*stmt));
    return value;
  };
  ffi::Array<ffi::Any> args;
  for (const ffi::Any& arg : op->args) args.push_back(visit_value(arg));
  ffi::Map<ffi::String, Buffer> workspace;
  for (const auto& [name, buffer] : op->workspace) {
    Buffer visited = this->VisitBufferUse(buffer);
    same = same && visited.same_as(buffer);
    workspace.Set(name, visited);
  }
  ffi::Map<ffi::String, ffi::Any> config;
  for (const auto& [name, value] : op->config) config.Set(name, visit_value(value));
  if (same) return ffi::GetRef<Stmt>(op);
  auto node = CopyNode(op);
  node->args = std::move(args);
  node->workspace = std::move(workspace);
  node->config = std::move(config);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const SBlockNode* op) {
  ffi::Array<IterVar> iter_vars = MapArray(op->iter_vars, [this](const IterVar& iter) {
    PrimExpr min = VisitPrimExpr(iter->dom->min);
    PrimExpr extent = VisitPrimExpr(iter->dom->extent);
    if (min.same_as(iter->dom->min) && extent.same_as(iter->dom->extent)) return iter;
    IterVar result = iter;
    result.CopyOnWrite()->dom = Range::FromMinExtent(std::move(min), std::move(extent));
    return result;
  });
  ffi::Array<Buffer> allocs =
      MapArray(op->alloc_buffers, [this](const Buffer& buffer) { return VisitBufferDef(buffer); });
  ffi::Array<BufferRegion> reads = VisitRegions(op->reads);
  ffi::Array<BufferRegion> writes = VisitRegions(op->writes);
  ffi::Array<MatchBufferRegion> matches =
      MapArray(op->match_buffers, [this](const MatchBufferRegion& match) {
        BufferRegion source = VisitRegion(match->source);
        Buffer buffer = VisitBufferDef(match->buffer);
        if (source.same_as(match->source) && buffer.same_as(match->buffer)) return match;
        return MatchBufferRegion(std::move(buffer), std::move(source));
      });
  ffi::Optional<Stmt> init = op->init;
  bool same_init = true;
  if (op->init.has_value()) {
    Stmt visited = this->VisitStmt(op->init.value());
    same_init = visited.same_as(op->init.value());
    init = std::move(visited);
  }
  Stmt body = this->VisitStmt(op->body);
  if (iter_vars.same_as(op->iter_vars) && allocs.same_as(op->alloc_buffers) &&
      reads.same_as(op->reads) && writes.same_as(op->writes) &&
      matches.same_as(op->match_buffers) && same_init && body.same_as(op->body)) {
    return ffi::GetRef<Stmt>(op);
  }
  auto node = CopyNode(op);
  node->iter_vars = std::move(iter_vars);
  node->alloc_buffers = std::move(allocs);
  node->reads = std::move(reads);
  node->writes = std::move(writes);
  node->match_buffers = std::move(matches);
  node->init = std::move(init);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

Stmt StmtMutator::VisitStmt_(const SBlockRealizeNode* op) {
  ffi::Array<PrimExpr> values = VisitExprs(op->iter_values);
  PrimExpr predicate = VisitPrimExpr(op->predicate);
  Stmt block = this->VisitStmt(op->block);
  if (values.same_as(op->iter_values) && predicate.same_as(op->predicate) &&
      block.same_as(op->block)) {
    return ffi::GetRef<Stmt>(op);
  }
  const auto* block_node = block.as<SBlockNode>();
  TVM_FFI_CHECK(block_node != nullptr, InternalError)
      << "a mutator turned block " << op->block->name_hint << " below its realize into "
      << block->GetTypeKey() << "; replace the SBlockRealize instead";
  auto node = CopyNode(op);
  node->iter_values = std::move(values);
  node->predicate = std::move(predicate);
  node->block = ffi::GetRef<SBlock>(block_node);
  return Stmt(std::move(node));
}

// ---- expressions inside statements
// ---------------------------------------------------------------

void StmtExprVisitor::VisitExpr_(const BufferLoadNode* op) {
  this->VisitBufferUse(op->buffer);
  VisitExprs(op->indices);
  if (op->predicate.has_value()) this->VisitExpr(op->predicate.value());
}

Expr StmtExprMutator::VisitExpr_(const VarNode* op) {
  if (!buffer_remap_.empty()) {
    auto it = buffer_remap_.find(op);
    if (it != buffer_remap_.end()) return it->second;
  }
  return ExprMutator::VisitExpr_(op);
}

Expr StmtExprMutator::VisitExpr_(const BufferLoadNode* op) {
  Buffer buffer = this->VisitBufferUse(op->buffer);
  ffi::Array<PrimExpr> indices = VisitExprs(op->indices);
  ffi::Optional<PrimExpr> predicate = op->predicate;
  bool same_predicate = true;
  if (op->predicate.has_value()) {
    PrimExpr visited = VisitPrimExpr(op->predicate.value());
    same_predicate = visited.same_as(op->predicate.value());
    predicate = std::move(visited);
  }
  if (buffer.same_as(op->buffer) && indices.same_as(op->indices) && same_predicate) {
    return ffi::GetRef<Expr>(op);
  }
  return BufferLoad(std::move(buffer), std::move(indices), std::move(predicate), op->span);
}

}  // namespace tirx
}  // namespace tvm
