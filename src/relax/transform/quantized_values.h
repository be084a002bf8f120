// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What is known of quantised values while a function is rewritten.
#ifndef TVM_SRC_RELAX_TRANSFORM_QUANTIZED_VALUES_H_
#define TVM_SRC_RELAX_TRANSFORM_QUANTIZED_VALUES_H_

#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace relax {
namespace transform {

/// A float value that is (q - zero) * scale; both are constants, scalars or along `axis`, or with
/// `block` above 0 of all dimensions, one number for each run of so many positions of `axis`.
struct Quantized {
  Expr q, scale, zero;
  std::vector<double> scales;
  std::vector<int64_t> zeros;
  int axis = 0;
  int64_t block = 0;
  bool per_tensor() const { return block == 0 && scales.size() == 1 && zeros.size() == 1; }
  /// Whether larger integers are larger values.
  bool ordered() const {
    return std::all_of(scales.begin(), scales.end(), [](double s) { return s > 0; });
  }
  /// Whether scale and zero point vary along dimension `d` at most.
  bool varies_along(int d) const { return per_tensor() || (block == 0 && axis == d); }
};
/// An int32 value that is q - zero, q of 8 bits. `zero` is int32, or null.
struct Shifted {
  Expr q, zero;
};
/// A float value that is (raw + offset) * scale, with one offset and scale for each channel; raw is
/// int32, or whole numbers in float32.
struct Scaled {
  Expr raw;
  std::vector<int64_t> offset;
  std::vector<float> scale;
  int rank = 0, axis = 0;
};

/// Element type of a tensor, void when unknown.
DataType DtypeOf(const Expr& e);
/// Whether the elements are int8 or uint8.
bool IsByte(const Expr& e);
int RankOf(const Expr& e);
/// Whether both are constants of one type with the same numbers.
bool SameConstant(const Expr& a, const Expr& b);
/// Name of the operator that is called, without `relax.`; empty for other calls.
std::string_view NameOf(const CallNode* call);

/// A mutator that remembers, of each variable it binds, whether its value is one of the above.
class QuantizedMutator : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  BindingBlock VisitBindingBlock(const BindingBlock& block) override;

 protected:
  template <typename T>
  static const T* Find(const std::unordered_map<const VarNode*, T>& map, const Expr& e) {
    auto it = map.find(e.as<VarNode>());
    return it == map.end() ? nullptr : &it->second;
  }
  const Quantized* FindQuantized(const Expr& e) const { return Find(quantized_, e); }
  const Shifted* FindShifted(const Expr& e) const { return Find(shifted_, e); }
  const Scaled* FindScaled(const Expr& e) const { return Find(scaled_, e); }

  /// Counts how often each variable of the function is read.
  void CountUses(const Function& func);
  /// Notes what a variable just bound to `value` is.
  void Learn(const Var& var, const Expr& value);
  /// Says what the value that is bound next is.
  void LearnNext(Scaled known) { made_ = std::move(known); }

  /// The call that a variable is bound to, if nothing else reads the variable.
  const CallNode* OnlyUse(const Expr& e);
  /// The constant that an expression stands for, computed here; nullopt if it is none.
  Optional<Expr> ConstantOf(const Expr& e);

  Expr Normal(const Expr& e) { return builder_->Normalize(e); }
  /// Binds a value that is read once.
  Var Emit(const Expr& e);

  std::unordered_map<const VarNode*, int> uses_;

 private:
  std::unordered_map<const VarNode*, Quantized> quantized_;
  std::unordered_map<const VarNode*, Shifted> shifted_;
  std::unordered_map<const VarNode*, Scaled> scaled_;
  std::optional<Scaled> made_;
  std::vector<Var> keep_;  // the maps are by address
};

}  // namespace transform
}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_QUANTIZED_VALUES_H_
