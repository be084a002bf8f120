// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/op.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace tvm {

void ArgumentInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ArgumentInfoNode>()
      .def_ro("name", &ArgumentInfoNode::name)
      .def_ro("type_info", &ArgumentInfoNode::type_info)
      .def_ro("description", &ArgumentInfoNode::description);
}

ArgumentInfo::ArgumentInfo(ffi::String name, ffi::String type_info, ffi::String description) {
  auto node = ffi::make_object<ArgumentInfoNode>();
  node->name = std::move(name);
  node->type_info = std::move(type_info);
  node->description = std::move(description);
  data_ = std::move(node);
}

void OpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<OpNode>()
      .def_ro("name", &OpNode::name)
      .def_ro("description", &OpNode::description, refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("arguments", &OpNode::arguments, refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("attrs_type_key", &OpNode::attrs_type_key, refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("num_inputs", &OpNode::num_inputs, refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("support_level", &OpNode::support_level, refl::AttachFieldFlag::SEqHashIgnore());
}

/// The tables behind Op: names to entries, attribute keys to value tables. Entries and tables live
/// until the process ends, so that pointers to them stay valid.
class OpRegistry {
 public:
  static OpRegistry& Global() {
    static auto* registry = new OpRegistry;
    return *registry;
  }

  OpRegEntry* Find(const std::string& name) {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : it->second.get();
  }

  OpRegEntry* FindOrMake(const std::string& name, bool* is_new = nullptr) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    std::unique_ptr<OpRegEntry>& entry = entries_[name];
    if (is_new != nullptr) *is_new = entry == nullptr;
    if (entry == nullptr) {
      auto node = ffi::make_object<OpNode>();
      node->name = name;
      node->index = next_index_++;
      entry = std::make_unique<OpRegEntry>();
      entry->op_ = Op(std::move(node));
    }
    return entry.get();
  }

  ffi::Array<ffi::String> Names() {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    ffi::Array<ffi::String> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  OpAttrTable* FindTable(const std::string& key) {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto it = tables_.find(key);
    return it == tables_.end() ? nullptr : it->second.get();
  }

  OpAttrTable* FindOrMakeTable(const std::string& key) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    return TableLocked(key);
  }

  void SetAttr(const Op& op, const std::string& key, ffi::Any value, int plevel) {
    TVM_FFI_CHECK(plevel > 0, ValueError) << "plevel in set_attr must be greater than 0";
    std::unique_lock<std::shared_mutex> lock(mutex_);
    OpAttrTable::Cell* cell = CellLocked(TableLocked(key), op->index);
    TVM_FFI_ICHECK(cell->plevel != plevel) << "Attribute " << key << " of " << op->name
                                           << " is already registered with same plevel=" << plevel;
    if (cell->plevel > plevel) return;
    TVM_FFI_CHECK(value != nullptr, ValueError)
        << "Registered packed_func is Null for " << key << " of operator " << op->name;
    cell->value = std::move(value);
    cell->plevel = plevel;
  }

  void ResetAttr(const Op& op, const std::string& key) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    OpAttrTable::Cell* cell = CellLocked(TableLocked(key), op->index);
    cell->value = ffi::Any();
    cell->plevel = 0;
  }

 private:
  OpAttrTable* TableLocked(const std::string& key) {
    std::unique_ptr<OpAttrTable>& table = tables_[key];
    if (table == nullptr) {
      table = std::make_unique<OpAttrTable>();
      table->key_ = key;
    }
    return table.get();
  }

  OpAttrTable::Cell* CellLocked(OpAttrTable* table, uint32_t index) {
    size_t block = index / OpAttrTable::kBlock;
    TVM_FFI_ICHECK_LT(block, OpAttrTable::kMaxBlocks) << "too many operators";
    OpAttrTable::Cell* cells = table->blocks_[block].load(std::memory_order_acquire);
    if (cells == nullptr) {
      cells = new OpAttrTable::Cell[OpAttrTable::kBlock];
      table->blocks_[block].store(cells, std::memory_order_release);
    }
    return cells + index % OpAttrTable::kBlock;
  }

  std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<OpRegEntry>> entries_;
  std::unordered_map<std::string, std::unique_ptr<OpAttrTable>> tables_;
  uint32_t next_index_ = 0;
};

const ffi::Any* OpAttrTable::Find(uint32_t index) const {
  const Cell* cells = blocks_[index / kBlock].load(std::memory_order_acquire);
  if (cells == nullptr) return nullptr;
  const Cell& cell = cells[index % kBlock];
  return cell.plevel == 0 ? nullptr : &cell.value;
}

Op Op::TryGet(const ffi::String& name) {
  OpRegEntry* entry = OpRegistry::Global().Find(std::string(name));
  return entry == nullptr ? Op() : entry->op();
}

Op Op::Get(const ffi::String& name) {
  Op op = TryGet(name);
  TVM_FFI_CHECK(op.defined(), AttributeError) << "Operator " << name << " is not registered";
  return op;
}

ffi::Array<ffi::String> Op::ListNames() { return OpRegistry::Global().Names(); }

bool Op::HasAttrMap(const ffi::String& key) {
  return OpRegistry::Global().FindTable(std::string(key)) != nullptr;
}

const OpAttrTable* Op::GetAttrTable(const ffi::String& key) {
  return OpRegistry::Global().FindOrMakeTable(std::string(key));
}

OpRegEntry& OpRegEntry::RegisterOrGet(const ffi::String& name) {
  return *OpRegistry::Global().FindOrMake(std::string(name));
}

OpRegEntry& OpRegEntry::describe(const ffi::String& description) {
  node()->description = description;
  return *this;
}

OpRegEntry& OpRegEntry::add_argument(const ffi::String& name, const ffi::String& type,
                                     const ffi::String& description) {
  node()->arguments.push_back(ArgumentInfo(name, type, description));
  return *this;
}

OpRegEntry& OpRegEntry::set_attrs_type_key(const ffi::String& key) {
  node()->attrs_type_key = key;
  return *this;
}

OpRegEntry& OpRegEntry::set_num_inputs(int32_t n) {
  node()->num_inputs = n;
  return *this;
}

OpRegEntry& OpRegEntry::set_support_level(int32_t level) {
  node()->support_level = level;
  return *this;
}

OpRegEntry& OpRegEntry::SetAttr(const ffi::String& key, ffi::Any value, int plevel) {
  OpRegistry::Global().SetAttr(op_, std::string(key), std::move(value), plevel);
  return *this;
}

OpRegEntry& OpRegEntry::reset_attr(const ffi::String& key) {
  OpRegistry::Global().ResetAttr(op_, std::string(key));
  return *this;
}

// ---------------------------------------------------------------------------------------------

CallEffectKind SideEffect(const Expr& expr) {
  static const OpAttrMap<TCallEffectKind> effects =
      Op::GetAttrMap<TCallEffectKind>("TCallEffectKind");
  CallEffectKind kind = CallEffectKind::kPure;
  auto raise = [&](CallEffectKind other) {
    if (static_cast<int>(other) > static_cast<int>(kind)) kind = other;
  };
  PostOrderVisitExpr(expr, [&](const Expr& node) {
    if (node.as<tirx::BufferLoadNode>() != nullptr ||
        node.as<tirx::ProducerLoadNode>() != nullptr) {
      raise(CallEffectKind::kReadState);
    } else if (const auto* call = node.as<CallNode>()) {
      int effect = effects.get(call->op, static_cast<int>(CallEffectKind::kOpaque));
      // Annotations, special arguments and embedded information have no effect at run time.
      if (effect == static_cast<int>(CallEffectKind::kSpecialCallArg) ||
          effect == static_cast<int>(CallEffectKind::kEmbedInfo)) {
        return;
      }
      raise(static_cast<CallEffectKind>(effect));
    }
  });
  return kind;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  ArgumentInfoNode::RegisterReflection();
  OpNode::RegisterReflection();
  refl::TypeAttrDef<OpNode>()
      .def("__data_to_json__", [](const Op& op) { return op->name; })
      .def("__data_from_json__", [](const ffi::String& name) { return Op::Get(name); })
      .def("__ffi_repr__", [](const Op& op, const ffi::Function&) -> ffi::String {
        return "Op(" + std::string(op->name) + ")";
      });
  refl::GlobalDef()
      .def("ir.ListOpNames", []() { return Op::ListNames(); })
      .def("ir.GetOp", [](const ffi::String& name) { return Op::Get(name); })
      .def("ir.OpGetAttr",
           [](const Op& op, const ffi::String& key) {
             const ffi::Any* value = Op::GetAttrTable(key)->Find(op->index);
             return value == nullptr ? ffi::Any() : *value;
           })
      .def("ir.OpHasAttr",
           [](const Op& op, const ffi::String& key) {
             return Op::HasAttrMap(key) && Op::GetAttrTable(key)->Find(op->index) != nullptr;
           })
      .def("ir.OpSetAttr",
           [](const Op& op, const ffi::String& key, ffi::Any value, int plevel) {
             OpRegistry::Global().SetAttr(op, std::string(key), std::move(value), plevel);
           })
      .def("ir.OpResetAttr",
           [](const Op& op, const ffi::String& key) {
             OpRegEntry::RegisterOrGet(op->name).reset_attr(key);
           })
      .def("ir.RegisterOp",
           [](const ffi::String& name, const ffi::String& description) {
             TVM_FFI_CHECK(!Op::TryGet(name).defined(), ValueError)
                 << "Operator " << name << " is registered before";
             OpRegEntry::RegisterOrGet(name).describe(description);
           })
      .def("ir.OpAddArgument",
           [](const Op& op, const ffi::String& name, const ffi::String& type,
              const ffi::String& description) {
             OpRegEntry::RegisterOrGet(op->name).add_argument(name, type, description);
           })
      .def("ir.OpSetSupportLevel",
           [](const Op& op, int level) {
             OpRegEntry::RegisterOrGet(op->name).set_support_level(level);
           })
      .def("ir.OpSetNumInputs",
           [](const Op& op, int n) { OpRegEntry::RegisterOrGet(op->name).set_num_inputs(n); })
      .def("ir.OpSetAttrsTypeKey",
           [](const Op& op, const ffi::String& key) {
             OpRegEntry::RegisterOrGet(op->name).set_attrs_type_key(key);
           })
      .def("ir.RegisterOpAttr",
           [](const ffi::String& name, const ffi::String& key, ffi::Any value, int plevel) {
             OpRegEntry& entry = OpRegEntry::RegisterOrGet(name);
             OpRegistry::Global().SetAttr(entry.op(), std::string(key), std::move(value), plevel);
           })
      .def("ir.RegisterOpLowerIntrinsic",
           [](const ffi::String& name, ffi::Function lower, const ffi::String& target, int plevel) {
             OpRegEntry& entry = OpRegEntry::RegisterOrGet(name);
             OpRegistry::Global().SetAttr(entry.op(), std::string(target) + ".FLowerIntrinsic",
                                          lower, plevel);
           });
}

}  // namespace tvm
