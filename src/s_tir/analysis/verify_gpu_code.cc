// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// verify_gpu_code: whether a function respects the limits of a GPU.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <limits>
#include <unordered_map>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Limits {
  int64_t local = kNoLimit, shared = kNoLimit, threads = kNoLimit, vthread = kNoLimit;
  int64_t vector_bytes = kNoLimit, kernels = kNoLimit;
  std::unordered_map<std::string, int64_t> axis{
      {"threadIdx.x", kNoLimit}, {"threadIdx.y", kNoLimit}, {"threadIdx.z", kNoLimit}};

  explicit Limits(const ffi::Map<ffi::String, int64_t>& constraints) {
    for (const auto& [key, value] : constraints) {
      const std::string name(key);
      if (name == "max_local_memory_per_block") {
        local = value;
      } else if (name == "max_shared_memory_per_block") {
        shared = value;
      } else if (name == "max_threads_per_block") {
        threads = value;
      } else if (name == "max_vthread") {
        vthread = value;
      } else if (name == "max_vector_bytes") {
        vector_bytes = value;
      } else if (name == "max_kernels") {
        kernels = value;
      } else if (name.size() == 12 && name.rfind("max_thread_", 0) == 0 &&
                 axis.count("threadIdx." + name.substr(11)) != 0) {
        axis["threadIdx." + name.substr(11)] = value;
      } else {
        TVM_FFI_THROW(ValueError) << "Invalid check item: " << name;
      }
    }
  }
};

/// One kernel is what stands below an outermost thread axis.
class GPUVerifier final : public StmtExprVisitor {
 public:
  explicit GPUVerifier(const Limits& limits) : limits_(limits) {}
  bool Run(const Stmt& stmt) {
    VisitStmt(stmt);
    return ok_ && kernels_ <= limits_.kernels;
  }

 private:
  void Require(bool condition) { ok_ = ok_ && condition; }

  template <typename F>
  void InAxis(const std::string& tag, const PrimExpr& extent, F visit) {
    const bool outermost = depth_++ == 0;
    if (outermost) {
      ++kernels_;
      local_ = shared_ = 0;
      threads_ = vthreads_ = 1;
      extents_.clear();
    }
    const int64_t* length = as_const_int(extent);
    const bool is_thread = tag.rfind("threadIdx", 0) == 0;
    const bool is_vthread = tag.rfind("vthread", 0) == 0;
    if (is_thread || is_vthread) {
      Require(length != nullptr);
      const int64_t n = length != nullptr ? *length : 1;
      auto [it, fresh] = extents_.emplace(tag, n);
      Require(it->second == n);
      if (fresh && is_thread) {
        threads_ *= n;
        auto limit = limits_.axis.find(tag);
        if (limit != limits_.axis.end()) Require(n <= limit->second);
      }
      if (is_vthread) {
        vthreads_ *= n;
        Require(vthreads_ <= limits_.vthread);
      }
    }
    visit();
    if (outermost) {
      Require(threads_ <= limits_.threads);
      Require(local_ <= limits_.local);
      Require(shared_ <= limits_.shared);
    }
    --depth_;
  }

  void VisitStmt_(const AttrStmtNode* op) final {
    const bool is_axis =
        op->attr_key == tirx::attr::thread_extent || op->attr_key == tirx::attr::virtual_thread;
    auto iter = op->node.as<IterVar>();
    if (!is_axis || !iter.has_value()) return StmtExprVisitor::VisitStmt_(op);
    std::string tag((*iter)->thread_tag);
    if (op->attr_key == tirx::attr::virtual_thread) tag = "vthread";
    InAxis(tag, PrimExpr(op->value), [&] { VisitStmt(op->body); });
  }
  void VisitStmt_(const ForNode* op) final {
    if (op->kind != ForKind::kThreadBinding || !op->thread_binding.has_value()) {
      return StmtExprVisitor::VisitStmt_(op);
    }
    InAxis(std::string(op->thread_binding.value()->thread_tag), op->extent,
           [&] { VisitStmt(op->body); });
  }
  void VisitStmt_(const AllocBufferNode* op) final {
    Note(op->buffer);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const SBlockNode* op) final {
    for (const Buffer& buffer : op->alloc_buffers) Note(buffer);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    CheckVector(op->value.dtype());
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const BufferLoadNode* op) final {
    CheckVector(op->dtype());
    StmtExprVisitor::VisitExpr_(op);
  }

  void CheckVector(DataType dtype) {
    if (dtype.lanes() > 1) {
      Require(static_cast<int64_t>(dtype.bits()) * dtype.lanes() / 8 <= limits_.vector_bytes);
    }
  }
  void Note(const Buffer& buffer) {
    const std::string scope(buffer.scope());
    const bool is_local = scope.rfind("local", 0) == 0, is_shared = scope.rfind("shared", 0) == 0;
    if (!is_local && !is_shared) return;
    int64_t bytes = static_cast<int64_t>(buffer.dtype().bits()) * buffer.dtype().lanes();
    for (const PrimExpr& extent : buffer.shape()) {
      const int64_t* value = as_const_int(extent);
      Require(value != nullptr);
      if (value != nullptr) bytes *= *value;
    }
    (is_local ? local_ : shared_) += (bytes + 7) / 8;
  }

  Limits limits_;
  bool ok_ = true;
  int depth_ = 0;
  int64_t kernels_ = 0, local_ = 0, shared_ = 0, threads_ = 1, vthreads_ = 1;
  std::unordered_map<std::string, int64_t> extents_;
};

}  // namespace

bool VerifyGPUCode(const PrimFunc& func, const ffi::Map<ffi::String, int64_t>& constraints) {
  return GPUVerifier(Limits(constraints)).Run(func->body);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("s_tir.analysis.verify_gpu_code",
                                   [](PrimFunc func, ffi::Map<ffi::String, int64_t> constraints) {
                                     return VerifyGPUCode(func, constraints);
                                   });
}

}  // namespace s_tir
}  // namespace tvm
