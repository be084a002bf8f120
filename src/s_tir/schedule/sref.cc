// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/sref.h>

#include <utility>
#include <vector>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

StmtSRef::StmtSRef(ffi::Optional<Stmt> stmt, StmtSRefNode* parent, int64_t seq_index) {
  auto node = ffi::make_object<StmtSRefNode>();
  node->stmt = std::move(stmt);
  if (parent != nullptr) node->parent_ref = ffi::GetRef<ffi::ObjectRef>(parent);
  node->seq_index = seq_index;
  data_ = std::move(node);
}

StmtSRef StmtSRef::InlineMark() {
  static const StmtSRef mark(std::nullopt, nullptr, -1);
  return mark;
}

StmtSRef StmtSRef::RootMark() {
  static const StmtSRef mark(std::nullopt, nullptr, -1);
  return mark;
}

Dependency::Dependency(StmtSRef src, StmtSRef dst, DepKind kind) {
  auto node = ffi::make_object<DependencyNode>();
  node->src = std::move(src);
  node->dst = std::move(dst);
  node->kind = kind;
  data_ = std::move(node);
}

namespace {

template <typename Map>
auto FindOrEmpty(const Map& map, const ffi::Object* key) -> typename Map::mapped_type {
  auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

/// Reads child blocks in program order and records which have to stay in that order.
class DependencyBuilder {
 public:
  explicit DependencyBuilder(SBlockScopeNode* scope) : scope_(scope) {}

  void Add(const StmtSRef& sref) {
    const auto* block = sref->StmtAs<SBlockNode>();
    scope_->blocks.push_back(sref);
    for (const BufferRegion& read : block->reads) {
      for (const StmtSRef& writer : FindOrEmpty(scope_->buffer_writers, read->buffer.get())) {
        Record(writer, sref, DepKind::kRAW);
      }
    }
    for (const BufferRegion& write : block->writes) {
      const ffi::Object* buffer = write->buffer.get();
      for (const StmtSRef& writer : FindOrEmpty(scope_->buffer_writers, buffer)) {
        Record(writer, sref, DepKind::kWAW);
      }
      for (const StmtSRef& reader : FindOrEmpty(readers_, buffer)) {
        if (!reader.same_as(sref)) Record(reader, sref, DepKind::kWAR);
      }
    }
    for (const BufferRegion& read : block->reads) Note(&readers_, read->buffer, sref);
    for (const BufferRegion& write : block->writes) {
      Note(&scope_->buffer_writers, write->buffer, sref);
    }
  }

 private:
  using Blocks = std::unordered_map<const ffi::Object*, ffi::Array<StmtSRef>>;

  static void Note(Blocks* blocks, const Buffer& buffer, const StmtSRef& sref) {
    ffi::Array<StmtSRef>& list = (*blocks)[buffer.get()];
    for (const StmtSRef& known : list) {
      if (known.same_as(sref)) return;
    }
    list.push_back(sref);
  }

  void Record(const StmtSRef& src, const StmtSRef& dst, DepKind kind) {
    for (const Dependency& known : scope_->src2deps[src.get()]) {
      if (known->dst.same_as(dst) && known->kind == kind) return;
    }
    Dependency dep(src, dst, kind);
    scope_->src2deps[src.get()].push_back(dep);
    scope_->dst2deps[dst.get()].push_back(dep);
  }

  SBlockScopeNode* scope_;
  Blocks readers_;
};

/// Makes references for every loop and block, and the scope of every block.
class DependenceCollector final : public StmtVisitor {
 public:
  explicit DependenceCollector(SBlockDependenceInfoNode* info) : info_(info) {}
  void Visit(const Stmt& stmt) { VisitStmt(stmt); }

 private:
  void VisitStmt_(const ForNode* op) final {
    StmtSRef sref(ffi::GetRef<Stmt>(op), parent_, -1);
    info_->stmt2ref.emplace(op, sref);
    StmtSRefNode* outer = std::exchange(parent_, sref.get());
    VisitStmt(op->body);
    parent_ = outer;
  }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    const SBlockNode* block = op->block.get();
    StmtSRef sref(op->block, parent_, -1);
    info_->stmt2ref.emplace(block, sref);
    StmtSRefNode* outer = std::exchange(parent_, sref.get());
    std::vector<StmtSRef> siblings = std::exchange(children_, {});
    VisitStmt(block->body);
    info_->sref2scope.emplace(
        sref.get(), SBlockScope(ffi::Array<StmtSRef>(children_.begin(), children_.end())));
    parent_ = outer;
    children_ = std::move(siblings);
    children_.push_back(sref);
  }

  SBlockDependenceInfoNode* info_;
  StmtSRefNode* parent_ = nullptr;
  std::vector<StmtSRef> children_;
};

}  // namespace

ffi::Array<Dependency> SBlockScopeNode::GetDepsBySrc(const StmtSRef& block) const {
  return FindOrEmpty(src2deps, block.get());
}

ffi::Array<Dependency> SBlockScopeNode::GetDepsByDst(const StmtSRef& block) const {
  return FindOrEmpty(dst2deps, block.get());
}

ffi::Array<StmtSRef> SBlockScopeNode::WritersOf(const Buffer& buffer) const {
  return FindOrEmpty(buffer_writers, buffer.get());
}

SBlockScope::SBlockScope(const ffi::Array<StmtSRef>& child_blocks) {
  auto node = ffi::make_object<SBlockScopeNode>();
  DependencyBuilder builder(node.get());
  for (const StmtSRef& child : child_blocks) builder.Add(child);
  data_ = std::move(node);
}

SBlockDependenceInfo::SBlockDependenceInfo(const IRModule& mod) {
  auto node = ffi::make_object<SBlockDependenceInfoNode>();
  for (const auto& [gvar, base] : mod->SortedFunctions()) {
    if (const auto* func = base.as<PrimFuncNode>()) {
      DependenceCollector(node.get()).Visit(func->body);
    }
  }
  data_ = std::move(node);
}

void StmtSRefNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<StmtSRefNode>().def_ro("seq_index", &StmtSRefNode::seq_index);
}

void DependencyNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<DependencyNode>()
      .def_ro("src", &DependencyNode::src)
      .def_ro("dst", &DependencyNode::dst)
      .def_ro("kind", &DependencyNode::kind);
}

void SBlockScopeNode::RegisterReflection() { ffi::reflection::ObjectDef<SBlockScopeNode>(); }

void SBlockDependenceInfoNode::RegisterReflection() {
  ffi::reflection::ObjectDef<SBlockDependenceInfoNode>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  StmtSRefNode::RegisterReflection();
  DependencyNode::RegisterReflection();
  SBlockScopeNode::RegisterReflection();
  SBlockDependenceInfoNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.StmtSRefStmt", [](StmtSRef sref) { return sref->stmt; })
      .def("s_tir.StmtSRefParent", [](StmtSRef sref) { return sref->parent_ref; })
      .def("s_tir.StmtSRefInlineMark", [] { return StmtSRef::InlineMark(); })
      .def("s_tir.StmtSRefRootMark", [] { return StmtSRef::RootMark(); })
      .def("s_tir.SBlockScopeGetDepsBySrc",
           [](SBlockScope scope, StmtSRef block) { return scope->GetDepsBySrc(block); })
      .def("s_tir.SBlockScopeGetDepsByDst",
           [](SBlockScope scope, StmtSRef block) { return scope->GetDepsByDst(block); })
      .def("s_tir.SBlockDependenceInfo", [](IRModule mod) { return SBlockDependenceInfo(mod); })
      .def("s_tir.SBlockDependenceInfoGetSBlockScope",
           [](SBlockDependenceInfo info, StmtSRef block) {
             auto it = info->sref2scope.find(block.get());
             TVM_FFI_CHECK(it != info->sref2scope.end(), ValueError)
                 << "the reference is no block of the module that was analysed";
             return it->second;
           })
      .def("s_tir.SBlockDependenceInfoGetSRef",
           [](SBlockDependenceInfo info, Stmt stmt) -> ffi::Optional<StmtSRef> {
             auto it = info->stmt2ref.find(stmt.get());
             if (it == info->stmt2ref.end()) return std::nullopt;
             return it->second;
           });
}

}  // namespace s_tir
}  // namespace tvm
