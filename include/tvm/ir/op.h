// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Registry of operators and of their attributes.
///
///   TVM_REGISTER_OP("tirx.exp")
///       .describe("Natural exponential")
///       .set_num_inputs(1)
///       .set_attr<TCallEffectKind>("TCallEffectKind", static_cast<int>(CallEffectKind::kPure));
#ifndef TVM_IR_OP_H_
#define TVM_IR_OP_H_

#include <tvm/ffi/function.h>
#include <tvm/ir/expr.h>

#include <atomic>

namespace tvm {

/// One declared argument of an operator.
class ArgumentInfoNode : public ffi::Object {
 public:
  ffi::String name;
  ffi::String type_info;
  ffi::String description;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.ArgumentInfo", ArgumentInfoNode, ffi::Object);
};

class ArgumentInfo : public ffi::ObjectRef {
 public:
  TVM_DLL ArgumentInfo(ffi::String name, ffi::String type_info, ffi::String description);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ArgumentInfo, ffi::ObjectRef, ArgumentInfoNode);
};

/// An operator: one object per name for the life of the process.
class OpNode : public ExprNode {
 public:
  ffi::String name;
  ffi::String description;
  ffi::Array<ArgumentInfo> arguments;
  ffi::String attrs_type_key;
  /// -1 = any number.
  int32_t num_inputs = -1;
  int32_t support_level = 10;
  /// Dense id, the row of the attribute tables.
  uint32_t index = 0;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Op", OpNode, ExprNode);
};

/// Values of one attribute key for all operators, indexed by Op::index.
class OpAttrTable {
 public:
  TVM_DLL const ffi::Any* Find(uint32_t index) const;
  const ffi::String& key() const { return key_; }

 private:
  friend class OpRegistry;
  ffi::String key_;
  // Blocks never move, so that a reader needs no lock.
  static constexpr size_t kBlock = 256, kMaxBlocks = 256;
  struct Cell {
    ffi::Any value;
    int plevel = 0;
  };
  std::atomic<Cell*> blocks_[kMaxBlocks] = {};
};

template <typename T>
class OpAttrMap;

class Op : public Expr {
 public:
  /// AttributeError when no operator has that name.
  TVM_DLL static Op Get(const ffi::String& name);
  /// Null when no operator has that name.
  TVM_DLL static Op TryGet(const ffi::String& name);
  TVM_DLL static ffi::Array<ffi::String> ListNames();
  TVM_DLL static bool HasAttrMap(const ffi::String& key);
  template <typename T>
  static OpAttrMap<T> GetAttrMap(const ffi::String& key);

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Op, Expr, OpNode);

  TVM_DLL static const OpAttrTable* GetAttrTable(const ffi::String& key);
};

/// Read access to one attribute of all operators; cheap to copy, make it once and keep it static.
template <typename T>
class OpAttrMap {
 public:
  explicit OpAttrMap(const OpAttrTable* table) : table_(table) {}
  bool count(const Op& op) const { return table_->Find(op->index) != nullptr; }
  /// ValueError when the operator has no value.
  T operator[](const Op& op) const {
    const ffi::Any* value = table_->Find(op->index);
    TVM_FFI_CHECK(value != nullptr, ValueError)
        << "Attribute " << table_->key() << " is not registered for operator " << op->name;
    return value->template cast<T>();
  }
  T get(const Op& op, T default_value) const {
    const ffi::Any* value = table_->Find(op->index);
    return value == nullptr ? default_value : value->template cast<T>();
  }
  /// Any expression may be asked: everything but an Op has no value.
  T get(const Expr& expr, T default_value) const {
    const auto* op = expr.as<OpNode>();
    if (op == nullptr) return default_value;
    const ffi::Any* value = table_->Find(op->index);
    return value == nullptr ? default_value : value->template cast<T>();
  }

 private:
  const OpAttrTable* table_;
};

template <typename T>
inline OpAttrMap<T> Op::GetAttrMap(const ffi::String& key) {
  return OpAttrMap<T>(GetAttrTable(key));
}

/// Chained description of one operator during registration.
class OpRegEntry {
 public:
  const ffi::String& name() const { return op_->name; }
  Op op() const { return op_; }
  TVM_DLL OpRegEntry& describe(const ffi::String& description);
  TVM_DLL OpRegEntry& add_argument(const ffi::String& name, const ffi::String& type,
                                   const ffi::String& description);
  TVM_DLL OpRegEntry& set_attrs_type_key(const ffi::String& key);
  template <typename AttrsNode>
  OpRegEntry& set_attrs_type() {
    return set_attrs_type_key(AttrsNode::_type_key);
  }
  TVM_DLL OpRegEntry& set_num_inputs(int32_t n);
  TVM_DLL OpRegEntry& set_support_level(int32_t level);
  /// The value with the higher plevel wins; the same plevel twice is an error.
  template <typename T>
  OpRegEntry& set_attr(const ffi::String& key, const T& value, int plevel = 10) {
    return SetAttr(key, ffi::Any(value), plevel);
  }
  TVM_DLL OpRegEntry& reset_attr(const ffi::String& key);

  /// Entry of that name, made when absent.
  TVM_DLL static OpRegEntry& RegisterOrGet(const ffi::String& name);

 private:
  friend class OpRegistry;
  TVM_DLL OpRegEntry& SetAttr(const ffi::String& key, ffi::Any value, int plevel);
  OpNode* node() const { return const_cast<OpNode*>(op_.get()); }
  Op op_;
};

#define TVM_IR_CONCAT_INNER_(a, b) a##b
#define TVM_IR_CONCAT_(a, b) TVM_IR_CONCAT_INNER_(a, b)
#define TVM_REGISTER_OP(OpName)                                                         \
  [[maybe_unused]] static ::tvm::OpRegEntry& TVM_IR_CONCAT_(tvm_op_reg_, __COUNTER__) = \
      ::tvm::OpRegEntry::RegisterOrGet(OpName)

/// Effect of a call, from weakest to strongest; value type of attribute TCallEffectKind.
enum class CallEffectKind : int {
  kExprAnnotation = 0,
  kPure = 1,
  kReadState = 2,
  kUpdateState = 3,
  kOpaque = 3,
  kSpecialCallArg = 4,
  kEmbedInfo = 5,
  kControlJump = 6,
};
using TCallEffectKind = int;
using TScriptPrinterName = ffi::String;
using TScriptDtypePrintLocation = int;
using TVectorizable = bool;
/// Lowers a call for one target: Expr(const Call&); a null result keeps the call.
using FLowerIntrinsic = ffi::Function;

/// Effect of evaluating an expression, calls inside included.
TVM_DLL CallEffectKind SideEffect(const Expr& expr);

}  // namespace tvm
#endif  // TVM_IR_OP_H_
