// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "src/type_table.h"

#include <tvm/ffi/type_traits.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/registrations.h"

namespace tvm {
namespace ffi {
namespace {

struct StaticType {
  int32_t index;
  const char* key;
};

/// Types whose index is fixed by the ABI, plain data first.
constexpr StaticType kStaticTypes[] = {
    {kTVMFFINone, StaticTypeKey::kTVMFFINone},
    {kTVMFFIInt, StaticTypeKey::kTVMFFIInt},
    {kTVMFFIBool, StaticTypeKey::kTVMFFIBool},
    {kTVMFFIFloat, StaticTypeKey::kTVMFFIFloat},
    {kTVMFFIOpaquePtr, StaticTypeKey::kTVMFFIOpaquePtr},
    {kTVMFFIDataType, StaticTypeKey::kTVMFFIDataType},
    {kTVMFFIDevice, StaticTypeKey::kTVMFFIDevice},
    {kTVMFFIDLTensorPtr, StaticTypeKey::kTVMFFIDLTensorPtr},
    {kTVMFFIRawStr, StaticTypeKey::kTVMFFIRawStr},
    {kTVMFFIByteArrayPtr, StaticTypeKey::kTVMFFIByteArrayPtr},
    {kTVMFFIObjectRValueRef, StaticTypeKey::kTVMFFIObjectRValueRef},
    {kTVMFFISmallStr, StaticTypeKey::kTVMFFISmallStr},
    {kTVMFFISmallBytes, StaticTypeKey::kTVMFFISmallBytes},
    {kTVMFFIUnchanged, StaticTypeKey::kTVMFFIUnchanged},
    {kTVMFFIObject, StaticTypeKey::kTVMFFIObject},
    {kTVMFFIStr, StaticTypeKey::kTVMFFIStr},
    {kTVMFFIBytes, StaticTypeKey::kTVMFFIBytes},
    {kTVMFFIError, StaticTypeKey::kTVMFFIError},
    {kTVMFFIFunction, StaticTypeKey::kTVMFFIFunction},
    {kTVMFFIShape, StaticTypeKey::kTVMFFIShape},
    {kTVMFFITensor, StaticTypeKey::kTVMFFITensor},
    {kTVMFFIArray, StaticTypeKey::kTVMFFIArray},
    {kTVMFFIMap, StaticTypeKey::kTVMFFIMap},
    {kTVMFFIModule, StaticTypeKey::kTVMFFIModule},
    {kTVMFFIOpaquePyObject, StaticTypeKey::kTVMFFIOpaquePyObject},
    {kTVMFFIList, StaticTypeKey::kTVMFFIList},
    {kTVMFFIDict, StaticTypeKey::kTVMFFIDict},
    {kTVMFFIVisitInterrupt, StaticTypeKey::kTVMFFIVisitInterrupt},
    {kTVMFFIBigInt, StaticTypeKey::kTVMFFIBigInt},
};

std::string_view View(const TVMFFIByteArray& text) {
  return std::string_view(text.data, text.size);
}

/// Grows an array that lock-free readers may be walking: the old one stays allocated. Entries
/// are few and registration happens once, so what is left behind is small.
template <typename T>
T* GrownCopy(const T* old, int32_t count, int32_t capacity) {
  static auto* retired = new std::vector<const void*>();  // keeps old arrays reachable
  if (old != nullptr) retired->push_back(old);
  T* grown = static_cast<T*>(std::calloc(static_cast<size_t>(capacity), sizeof(T)));
  if (grown == nullptr) throw std::bad_alloc();
  if (count != 0) std::memcpy(grown, old, static_cast<size_t>(count) * sizeof(T));
  return grown;
}

/// Appends and publishes: first the array, then the count that reveals the new element.
template <typename T>
void AppendPublished(const T** array, int32_t* count, int32_t* capacity, const T& value) {
  T* slots = const_cast<T*>(*array);
  if (*count == *capacity) {
    *capacity = std::max<int32_t>(4, *capacity * 2);
    slots = GrownCopy(*array, *count, *capacity);
    __atomic_store_n(array, slots, __ATOMIC_RELEASE);
  }
  slots[*count] = value;
  __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
}

}  // namespace

void ExitOnError(const char* function, const std::exception& error) {
  const auto* ffi_error = dynamic_cast<const Error*>(&error);
  const std::string text = ffi_error != nullptr ? ffi_error->FullMessage() : error.what();
  std::fprintf(stderr, "%s failed:\n%s\n", function, text.c_str());
  std::fflush(stderr);
  std::exit(-1);
}

TypeTable* TypeTable::Global() {
  // Never destroyed: objects are released after static destructors.
  static TypeTable* table = new TypeTable();
  return table;
}

TypeTable::TypeTable() {
  for (const StaticType& type : kStaticTypes) {
    const bool is_child_of_object = type.index > kTVMFFIObject;
    GetOrAllocate(type.key, TypeRequest{type.index, is_child_of_object ? 1 : 0, 0, true,
                                        is_child_of_object ? kTVMFFIObject : -1});
  }
  // Asked for by container code everywhere before any type registers one.
  RegisterAttr(0, "__any_hash__", Any());
  RegisterAttr(0, "__any_equal__", Any());
}

const TVMFFITypeInfo* TypeTable::TryGet(int32_t index) const {
  if (index < 0 || index >= kPageSize * kMaxPages) return nullptr;
  Page* page = pages_[index / kPageSize].load(std::memory_order_acquire);
  if (page == nullptr) return nullptr;
  return (*page)[index % kPageSize].load(std::memory_order_acquire);
}

const TVMFFITypeInfo* TypeTable::Get(int64_t index) const {
  const bool fits = index >= 0 && index < kPageSize * kMaxPages;
  const TVMFFITypeInfo* info = fits ? TryGet(static_cast<int32_t>(index)) : nullptr;
  if (info == nullptr) TVM_FFI_THROW(InternalError) << "Unknown type index " << index;
  return info;
}

void TypeTable::Publish(int32_t index, Entry* entry) {
  CountRegistration();
  if (index >= kPageSize * kMaxPages) {
    TVM_FFI_THROW(InternalError) << "too many types: index " << index << " exceeds the limit "
                                 << kPageSize * kMaxPages;
  }
  std::atomic<Page*>& page_slot = pages_[index / kPageSize];
  Page* page = page_slot.load(std::memory_order_relaxed);
  if (page == nullptr) {
    page = reinterpret_cast<Page*>(new std::atomic<Entry*>[kPageSize]());
    page_slot.store(page, std::memory_order_release);
  }
  (*page)[index % kPageSize].store(entry, std::memory_order_release);
}

int32_t TypeTable::Find(std::string_view key) const {
  std::shared_lock lock(mutex_);
  const auto found = key_to_index_.find(key);
  return found == key_to_index_.end() ? -2 : found->second;
}

int32_t TypeTable::ChooseIndex(std::string_view key, const TypeRequest& request, Entry* parent) {
  if (request.static_index >= 0) {
    const TVMFFITypeInfo* other = TryGet(request.static_index);
    if (other != nullptr) {
      TVM_FFI_THROW(InternalError) << "Type index " << request.static_index << " wanted by `" << key
                                   << "` belongs to `" << View(other->type_key) << "`";
    }
    return request.static_index;
  }
  // The parent's reserved range keeps type tests to one comparison.
  const int32_t span = request.num_child_slots + 1;
  if (parent != nullptr && parent->next_child_slot + span <= parent->last_child_slot) {
    const int32_t index = parent->next_child_slot;
    parent->next_child_slot += span;
    return index;
  }
  if (parent != nullptr && !parent->children_can_overflow) {
    TVM_FFI_THROW(InternalError) << "Type `" << key
                                 << "` does not fit the child slots reserved by `" << parent->key
                                 << "`, which may not overflow";
  }
  const int32_t index = next_dynamic_index_;
  next_dynamic_index_ += span;
  return index;
}

int32_t TypeTable::GetOrAllocate(std::string_view key, const TypeRequest& request) {
  std::unique_lock lock(mutex_);
  const auto found = key_to_index_.find(key);
  if (found != key_to_index_.end()) return found->second;
  if (request.parent_index == -2) return -2;

  Entry* parent = request.parent_index < 0 ? nullptr : Checked(request.parent_index);
  const int32_t depth = parent == nullptr ? 0 : parent->type_depth + 1;
  if (request.depth != depth) {
    TVM_FFI_THROW(InternalError) << "Type `" << key << "` claims depth " << request.depth
                                 << " but its parent gives " << depth;
  }
  const int32_t index = ChooseIndex(key, request, parent);

  auto* entry = new Entry();  // lives forever
  entry->key = std::string(key);
  if (parent != nullptr) {
    entry->ancestors = parent->ancestors;
    entry->ancestors.push_back(parent);
  }
  entry->next_child_slot = index + 1;
  entry->last_child_slot = index + 1 + request.num_child_slots;
  entry->children_can_overflow = request.child_slots_can_overflow;
  entry->type_index = index;
  entry->type_depth = depth;
  entry->type_key = TVMFFIByteArray{entry->key.data(), entry->key.size()};
  entry->type_ancestors = entry->ancestors.data();
  entry->type_key_hash = std::hash<std::string>()(entry->key);
  Publish(index, entry);
  key_to_index_.emplace(entry->key, index);
  registration_order_.push_back(index);
  return index;
}

void TypeTable::ForEachKey(const std::function<void(std::string_view)>& visit) const {
  std::vector<int32_t> order;
  {
    std::shared_lock lock(mutex_);
    order = registration_order_;
  }
  for (int32_t index : order) visit(View(TryGet(index)->type_key));
}

TVMFFIByteArray TypeTable::Keep(const TVMFFIByteArray& text) {
  if (text.size == 0) return TVMFFIByteArray{"", 0};
  const std::string& kept = texts_.emplace_back(text.data, text.size);
  return TVMFFIByteArray{kept.data(), kept.size()};
}

void TypeTable::RegisterField(int32_t index, const TVMFFIFieldInfo& info) {
  CountRegistration();
  std::unique_lock lock(mutex_);
  Entry* entry = Checked(index);
  const std::string_view name = View(info.name);
  for (int32_t i = 0; i < entry->num_fields; ++i) {
    if (View(entry->fields[i].name) == name) {
      TVM_FFI_THROW(InternalError)
          << "Duplicate field name \"" << name << "\" in type \"" << entry->key << "\"";
    }
  }
  for (const TVMFFITypeInfo* ancestor : entry->ancestors) {
    for (int32_t i = 0; i < ancestor->num_fields; ++i) {
      if (View(ancestor->fields[i].name) != name) continue;
      std::fprintf(stderr, "Warning: field \"%.*s\" of type \"%s\" shadows the one of \"%.*s\"\n",
                   static_cast<int>(name.size()), name.data(), entry->key.c_str(),
                   static_cast<int>(ancestor->type_key.size), ancestor->type_key.data);
    }
  }
  TVMFFIFieldInfo kept = info;
  kept.name = Keep(info.name);
  kept.doc = Keep(info.doc);
  kept.metadata = Keep(info.metadata);
  if ((info.flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0) {
    Any owned(AnyView::CopyFromTVMFFIAny(info.default_value_or_factory));
    kept.default_value_or_factory = AnyView(owned).CopyToTVMFFIAny();
    kept_values_.push_back(std::move(owned));
  } else {
    detail::SetNone(&kept.default_value_or_factory);
  }
  if ((info.flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) != 0 && info.setter != nullptr) {
    kept_values_.push_back(ObjectRef(detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(
        static_cast<TVMFFIObject*>(info.setter))));
  }
  AppendPublished(&entry->fields, &entry->num_fields, &entry->field_capacity, kept);
}

void TypeTable::RegisterMethod(int32_t index, const TVMFFIMethodInfo& info) {
  CountRegistration();
  std::unique_lock lock(mutex_);
  Entry* entry = Checked(index);
  TVMFFIMethodInfo kept = info;
  kept.name = Keep(info.name);
  kept.doc = Keep(info.doc);
  kept.metadata = Keep(info.metadata);
  Any owned(AnyView::CopyFromTVMFFIAny(info.method));
  kept.method = AnyView(owned).CopyToTVMFFIAny();
  kept_values_.push_back(std::move(owned));
  AppendPublished(&entry->methods, &entry->num_methods, &entry->method_capacity, kept);
}

void TypeTable::RegisterMetadata(int32_t index, const TVMFFITypeMetadata& metadata) {
  CountRegistration();
  std::unique_lock lock(mutex_);
  Entry* entry = Checked(index);
  if (entry->metadata != nullptr) {
    TVM_FFI_THROW(RuntimeError) << "Metadata of type `" << entry->key << "` is already registered";
  }
  entry->own_metadata = metadata;
  entry->own_metadata.doc = Keep(metadata.doc);
  const TVMFFITypeMetadata* published = &entry->own_metadata;
  __atomic_store_n(&static_cast<TVMFFITypeInfo*>(entry)->metadata, published, __ATOMIC_RELEASE);
}

void TypeTable::RegisterAttr(int32_t index, std::string_view name, Any value) {
  Get(index);
  CountRegistration();
  std::unique_lock lock(mutex_);
  auto found = columns_.find(name);
  if (found == columns_.end()) {
    const TVMFFIByteArray kept = Keep(TVMFFIByteArray{name.data(), name.size()});
    found = columns_.emplace(View(kept), std::make_unique<Column>()).first;
  }
  if (index == TypeIndex::kTVMFFINone) return;
  Column* column = found->second.get();
  if (index >= column->capacity) {
    // Large and zeroed: pages nobody writes cost no memory, and growth, which leaves the old
    // array to its readers, stays rare.
    column->capacity = std::max<int32_t>({4096, column->capacity * 2, index + 1});
    TVMFFIAny* grown = GrownCopy(column->view.data, column->view.size, column->capacity);
    __atomic_store_n(&column->view.data, grown, __ATOMIC_RELEASE);
  }
  auto* slot = const_cast<TVMFFIAny*>(column->view.data) + index;
  if (slot->type_index != TypeIndex::kTVMFFINone) {
    const TVMFFITypeInfo* info = TryGet(index);
    TVM_FFI_THROW(RuntimeError) << "TypeAttr `" << name << "` is already registered for type index "
                                << index << " (`" << (info == nullptr ? "" : View(info->type_key))
                                << "`)";
  }
  // Payload before tag, tag before size: readers check the tag first.
  const TVMFFIAny raw = AnyView(value).CopyToTVMFFIAny();
  slot->zero_padding = raw.zero_padding;
  slot->v_int64 = raw.v_int64;
  __atomic_store_n(&slot->type_index, raw.type_index, __ATOMIC_RELEASE);
  kept_values_.push_back(std::move(value));
  if (index >= column->view.size) {
    __atomic_store_n(&column->view.size, index + 1, __ATOMIC_RELEASE);
  }
}

const TVMFFITypeAttrColumn* TypeTable::FindColumn(std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto found = columns_.find(name);
  return found == columns_.end() ? nullptr : &found->second->view;
}

}  // namespace ffi
}  // namespace tvm
