// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Writer of the argument check program that <tvm/support/argcheck.h> describes.
#ifndef TVM_SRC_TIRX_TRANSFORM_ARG_CHECK_PROGRAM_H_
#define TVM_SRC_TIRX_TRANSFORM_ARG_CHECK_PROGRAM_H_

#include <tvm/tirx/function.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tvm {
namespace tirx {

/// Text of a function as messages show it: `f(A: Tensor([m, 4], float32), n: int32)`.
TVM_DLL std::string SignatureText(const PrimFunc& func, const ffi::String& name);

/// The checks of one function, and where they leave what the body needs.
class TVM_DLL ArgCheckProgram {
 public:
  /// What the slots of one parameter hold.
  struct ParamSlots {
    int value = -1;  ///< scalar, pointer or DLTensor*
    int data = -1;   ///< data pointer of a tensor
  };

  ArgCheckProgram(const PrimFunc& func, const ffi::String& name, int device_type);

  int num_slots() const { return num_slots_; }
  const std::vector<ParamSlots>& params() const { return params_; }
  /// Symbols that shapes, strides and offsets define, in order, with their slots.
  const std::vector<std::pair<Var, int>>& symbols() const { return symbols_; }
  /// Conditions too deep for the program, to be asserted by the function itself.
  const std::vector<std::pair<PrimExpr, std::string>>& asserts() const { return asserts_; }
  /// The strings and words as call arguments.
  ffi::Array<Expr> CallArgs() const;

 private:
  using Words = std::vector<int64_t>;

  int NewSlot() { return num_slots_++; }
  int64_t Str(const std::string& text);
  void Emit(std::initializer_list<int64_t> words) { words_.insert(words_.end(), words); }
  /// Appends `count, words...`; false when the expression has no such form.
  bool EmitExpr(const PrimExpr& expr);
  bool Compile(const PrimExpr& expr, Words* out, int depth) const;
  int SlotOf(const PrimExpr& expr) const;
  /// Defines the variable `expr` by `slot` unless it has a slot; returns whether it was new.
  bool DefineSymbol(const PrimExpr& expr, int slot, const std::string& origin);

  void CheckKinds();
  void CheckTensorHeads(int device_type);
  void CheckLayouts();
  void CheckShapes();

  PrimFunc func_;
  std::vector<ParamSlots> params_;
  int num_slots_ = 0;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int64_t> string_index_;
  Words words_;
  std::vector<std::pair<Var, int>> symbols_;
  std::unordered_map<const VarNode*, int> slot_of_;
  /// Where a symbol got its value, e.g. "A.shape[0]", for messages.
  std::unordered_map<const VarNode*, std::string> origin_;
  std::vector<std::pair<PrimExpr, std::string>> asserts_;
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_ARG_CHECK_PROGRAM_H_
