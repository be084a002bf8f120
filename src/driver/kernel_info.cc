// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What a kernel has to do, told from its blocks before a rule turns them into loops: operations,
/// bytes, and what the planner chose. For `tvm explain`.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/kernels/rule.h>
#include <tvm/kernels/winograd.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace tvm {
namespace driver {
namespace {

using ffi::Map;
using ffi::String;

/// Counts over the iterations of loops. An extent that is not known makes the counts unknown.
class WorkCounter final : public tirx::StmtExprVisitor {
 public:
  double flops = 0;
  bool known = true;
  /// Elements read and written per buffer, an element counted each time.
  std::unordered_map<const ffi::Object*, double> reads, writes;
  /// Products by the type of their operands as they lie in memory.
  std::map<std::string, double> products;
  Map<String, ffi::Any> anchor;

  void Run(const tirx::Stmt& body) { VisitStmt(body); }

 private:
  using tirx::StmtExprVisitor::VisitExpr_;
  using tirx::StmtExprVisitor::VisitStmt_;

  void VisitStmt_(const tirx::ForNode* op) override {
    const auto* extent = op->extent.as<IntImmNode>();
    known = known && extent != nullptr;
    const double outer = times_;
    times_ *= extent == nullptr ? 1.0 : static_cast<double>(extent->value);
    VisitStmt(op->body);
    times_ = outer;
  }
  void VisitStmt_(const tirx::SBlockNode* op) override {
    const bool outer = in_product_;
    if (op->annotations.count(kernels::kTileOp) != 0) {
      anchor = op->annotations;
      const auto kind = (*anchor.find(kernels::kTileOp)).second.try_cast<String>();
      in_product_ = kind.has_value() && (*kind == "gemm" || *kind == "conv2d");
    }
    // Iteration variables, regions and the initial value are no work of their own.
    VisitStmt(op->body);
    in_product_ = outer;
  }
  void VisitStmt_(const tirx::BufferStoreNode* op) override {
    writes[op->buffer.get()] += times_;
    const auto* sum = op->value.as<tirx::AddNode>();
    const auto* product = in_product_ && sum != nullptr ? sum->b.as<tirx::MulNode>() : nullptr;
    if (product == nullptr) return VisitExpr(op->value);
    // A multiplication and an addition, whatever makes the factors out of what is stored: rules do
    // that once an element, or, as with a transformed filter, in another way.
    VisitExpr(sum->a);
    const double before = flops;
    VisitExpr(GetRef<PrimExpr>(product));
    flops = before + 2 * times_;
  }
  void VisitExpr_(const tirx::BufferLoadNode* op) override {
    reads[op->buffer.get()] += times_;
    for (const PrimExpr& index : op->indices) VisitIndex(index);
  }
  /// Arithmetic of indices is not counted, but what they read is.
  void VisitIndex(const PrimExpr& index) {
    const double before = flops;
    const bool outer = in_index_;
    in_index_ = true;
    VisitExpr(index);
    in_index_ = outer;
    flops = before;
  }
  static bool IsChoice(const CallNode* call) {
    const auto* name = call->op.as<OpNode>();
    return name != nullptr && (name->name == "tirx.if_then_else" || name->name == "tirx.likely");
  }
  /// Type of the element that an operand is, but for conversions and a border; empty for a computed
  /// one.
  static std::string TypeInMemory(PrimExpr value) {
    for (;;) {
      const auto* call = value.as<CallNode>();
      if (const auto* cast = value.as<tirx::CastNode>()) {
        value = cast->value;
      } else if (call != nullptr && IsChoice(call) && call->args.size() == 3) {
        value = Downcast<PrimExpr>(call->args[1]);
      } else {
        break;
      }
    }
    const auto* load = value.as<tirx::BufferLoadNode>();
    if (load == nullptr) return "";
    const DataType type = load->dtype().element_of();
    const bool byte = (type.is_int() || type.is_uint()) && type.bits() == 8;
    return byte ? "int8" : type.ToString();
  }
  template <typename Node>
  void Binary(const Node* op) {
    flops += times_;
    VisitExpr(op->a);
    VisitExpr(op->b);
  }
  void VisitExpr_(const tirx::AddNode* op) override { Binary(op); }
  void VisitExpr_(const tirx::SubNode* op) override { Binary(op); }
  void VisitExpr_(const tirx::MulNode* op) override {
    const std::string type = TypeInMemory(op->a);
    if (!in_index_) products[type == TypeInMemory(op->b) ? type : ""] += times_;
    Binary(op);
  }
  void VisitExpr_(const tirx::DivNode* op) override { Binary(op); }
  void VisitExpr_(const tirx::MinNode* op) override { Binary(op); }
  void VisitExpr_(const tirx::MaxNode* op) override { Binary(op); }
  void VisitExpr_(const CallNode* op) override {
    if (!IsChoice(op)) {
      flops += times_;
      for (const Expr& arg : op->args) VisitExpr(arg);
      return;
    }
    // A border test is index arithmetic.
    for (size_t i = 0; i < op->args.size(); ++i) {
      const double before = flops;
      VisitExpr(op->args[i]);
      if (i == 0) flops = before;
    }
  }

  double times_ = 1;
  /// Inside the block of a contraction.
  bool in_product_ = false;
  bool in_index_ = false;
};

std::string ShapeText(const tirx::Buffer& buffer) {
  std::string text;
  for (const PrimExpr& extent : buffer.shape()) {
    const auto* literal = extent.as<IntImmNode>();
    text += (text.empty() ? "" : "x") + (literal != nullptr ? std::to_string(literal->value) : "?");
  }
  return text + " " + buffer.dtype().ToString();
}

/// Bytes of a buffer; nullopt when an extent is open.
std::optional<double> BytesOf(const tirx::Buffer& buffer) {
  double bytes = buffer.dtype().bits() * buffer.dtype().lanes() / 8.0;
  for (const PrimExpr& extent : buffer.shape()) {
    const auto* literal = extent.as<IntImmNode>();
    if (literal == nullptr) return std::nullopt;
    bytes *= static_cast<double>(literal->value);
  }
  return bytes;
}

/// How the operands lie, in a few words.
std::string LayoutText(const Map<String, ffi::Any>& anchor) {
  if (anchor.empty()) return "as given";
  auto text = [&](const char* key) {
    auto it = anchor.find(key);
    if (it == anchor.end()) return std::string();
    auto value = (*it).second.try_cast<String>();
    return value.has_value() ? std::string(*value) : std::string();
  };
  const std::string op = text(kernels::kTileOp);
  std::string layout = op == "gemm"                       ? "rows"
                       : op == "conv2d" || op == "window" ? "NHWC"
                                                          : "as given";
  if (auto it = anchor.find(kernels::kPanel); it != anchor.end()) {
    const auto panel = (*it).second.try_cast<IntImm>();
    const auto number = (*it).second.try_cast<int64_t>();
    const int64_t width = panel.has_value() ? (*panel)->value : number.value_or(0);
    if (width > 0) layout += ", weight in panels of " + std::to_string(width);
  }
  return layout;
}

/// The type whose rate bounds a kernel: that of most of its products if machines have instructions
/// for it, else float32.
std::string BoundType(const WorkCounter& work) {
  auto most = std::max_element(work.products.begin(), work.products.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool narrow =
      most != work.products.end() && (most->first == "int8" || most->first == "bfloat16");
  return narrow ? most->first : "float32";
}

/// Operations that the rule does: Winograd's transformed filter saves most multiplications.
double BoundFlops(const WorkCounter& work) {
  if (work.anchor.count(kernels::kWinograd) == 0) return work.flops;
  constexpr double kPoints = kernels::kWinogradPoints * kernels::kWinogradPoints;
  constexpr double kTaps = 9.0 * kernels::kWinogradTile * kernels::kWinogradTile;
  return work.flops * kPoints / kTaps;
}

/// {"flops", "bytes", "bound_flops": None when extents are open, "type": "float32", "bfloat16" or
/// "int8", "layout", "tile_op", "operands": [text]}.
Map<String, ffi::Any> KernelInfo(const tirx::PrimFunc& func) {
  WorkCounter work;
  work.Run(func->body);
  double bytes = 0;
  bool known = work.known;
  ffi::Array<String> operands;
  for (const Var& param : func->params) {
    if (param->ty.as<tirx::BufferTypeNode>() == nullptr) continue;
    const tirx::Buffer buffer = Downcast<tirx::Buffer>(param);
    operands.push_back(std::string(param->name) + ": " + ShapeText(buffer));
    const std::optional<double> all = BytesOf(buffer);
    if (!all) {
      known = false;
      continue;
    }
    // A table of which few rows are looked up counts with these.
    const double item = buffer.dtype().bits() * buffer.dtype().lanes() / 8.0;
    // A sum that is also read while it grows counts once.
    double touched = 0;
    for (const auto* side : {&work.reads, &work.writes}) {
      auto it = side->find(param.get());
      if (it != side->end()) touched = std::max(touched, it->second * item);
    }
    bytes += std::min(*all, touched);
  }
  Map<String, ffi::Any> info;
  info.Set("flops", known ? ffi::Any(work.flops) : ffi::Any(nullptr));
  info.Set("bound_flops", known ? ffi::Any(BoundFlops(work)) : ffi::Any(nullptr));
  info.Set("bytes", known ? ffi::Any(bytes) : ffi::Any(nullptr));
  info.Set("type", String(BoundType(work)));
  info.Set("layout", String(LayoutText(work.anchor)));
  auto op = work.anchor.find(kernels::kTileOp);
  info.Set("tile_op", op == work.anchor.end() ? ffi::Any(String("")) : (*op).second);
  info.Set("operands", operands);
  return info;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("driver.KernelInfo", KernelInfo);
}

}  // namespace driver
}  // namespace tvm
