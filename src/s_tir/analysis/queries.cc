// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// find_anchor_sblock, is_pure_function, calculate_allocated_bytes.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/op.h>
#include <tvm/s_tir/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_set>
#include <utility>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// Blocks without blocks inside, with the operations they do.
class LeafBlocks final : public StmtVisitor {
 public:
  struct Entry {
    SBlock block;
    double iterations;
  };
  std::vector<Entry> entries;
  void Run(const Stmt& stmt) { VisitStmt(stmt); }

 private:
  void VisitStmt_(const ForNode* op) final {
    const int64_t* extent = as_const_int(op->extent);
    double before = times_;
    times_ *= extent != nullptr ? static_cast<double>(*extent) : 1.0;
    VisitStmt(op->body);
    times_ = before;
  }
  void VisitStmt_(const SBlockRealizeNode* op) final {
    const size_t before = entries.size();
    VisitStmt(op->block->body);
    if (entries.size() == before) entries.push_back({op->block, times_});
  }
  double times_ = 1;
};

}  // namespace

ffi::Optional<SBlock> FindAnchorSBlock(const IRModule& mod) {
  LeafBlocks leaves;
  for (const auto& [gvar, base] : mod->SortedFunctions()) {
    if (const auto* func = base.as<PrimFuncNode>()) leaves.Run(func->body);
  }
  ffi::Optional<SBlock> best;
  std::pair<bool, double> best_score{false, -1};
  for (const LeafBlocks::Entry& entry : leaves.entries) {
    const std::pair<bool, double> score{
        entry.block->init.has_value(),
        entry.iterations * (1 + EstimateTIRFlops(entry.block->body))};
    if (score > best_score) {
      best_score = score;
      best = entry.block;
    }
  }
  return best;
}

namespace {

class PurityChecker final : public StmtExprVisitor {
 public:
  bool Run(const PrimFunc& func) {
    VisitStmt(func->body);
    return pure_;
  }

 private:
  void VisitBufferDef(const Buffer& buffer) final {
    own_.insert(buffer.get());
    StmtExprVisitor::VisitBufferDef(buffer);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    pure_ = pure_ && own_.count(op->buffer.get()) != 0;
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const TilePrimitiveCallNode* op) final {
    pure_ = false;
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const CallNode* op) final {
    static const OpAttrMap<TCallEffectKind> effects =
        Op::GetAttrMap<TCallEffectKind>("TCallEffectKind");
    const int effect = effects.get(op->op, static_cast<int>(CallEffectKind::kOpaque));
    pure_ = pure_ && effect <= static_cast<int>(CallEffectKind::kReadState);
    StmtExprVisitor::VisitExpr_(op);
  }

  std::unordered_set<const ffi::Object*> own_;
  bool pure_ = true;
};

}  // namespace

bool IsPureFunction(const PrimFunc& func) { return PurityChecker().Run(func); }

ffi::Map<ffi::String, int64_t> CalculateAllocatedBytes(const PrimFunc& func) {
  ffi::Map<ffi::String, int64_t> result;
  PostOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
    const auto* alloc = node.as<AllocBufferNode>();
    if (alloc == nullptr) return;
    const Buffer& buffer = alloc->buffer;
    int64_t elements = 1;
    for (const PrimExpr& extent : buffer.shape()) {
      const int64_t* value = as_const_int(extent);
      if (value == nullptr) return;  // a size that is not known counts as nothing
      elements *= *value;
    }
    const int64_t bits = buffer.dtype().bits() * buffer.dtype().lanes();
    const ffi::String scope = buffer.scope();
    int64_t before = result.count(scope) != 0 ? result[scope] : 0;
    result.Set(scope, before + (elements * bits + 7) / 8);
  });
  return result;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  using Sizes = ffi::Map<ffi::String, int64_t>;
  refl::GlobalDef()
      .def("s_tir.analysis.find_anchor_sblock",
           [](const IRModuleNode* mod) { return FindAnchorSBlock(ffi::GetRef<IRModule>(mod)); })
      .def("s_tir.analysis.is_pure_function",
           [](const PrimFuncNode* func) { return IsPureFunction(ffi::GetRef<PrimFunc>(func)); })
      .def("s_tir.analysis.calculate_allocated_bytes", [](const ffi::Any& what) {
        TVM_FFI_CHECK(what != nullptr, TypeError) << "expected a function or module, but got None";
        ffi::Map<ffi::String, Sizes> result;
        if (auto func = what.as<PrimFunc>()) {
          result.Set("main", CalculateAllocatedBytes(*func));
        } else if (auto mod = what.as<IRModule>()) {
          for (const auto& [gvar, base] : (*mod)->SortedFunctions()) {
            auto func_in = base.as<PrimFunc>();
            if (func_in.has_value()) {
              result.Set(gvar->name_hint, CalculateAllocatedBytes(*func_in));
            }
          }
        } else {
          TVM_FFI_THROW(TypeError)
              << "expected a function or module, but got " << what.GetTypeKey();
        }
        return result;
      });
}

}  // namespace s_tir
}  // namespace tvm
