// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Reference-counted objects, their smart pointers, and the macros that register a class.
///
/// `Object` is the node, `ObjectRef` the value-like handle users pass around. The header of a
/// node is the C struct TVMFFIObject, so any language can count references and test types.
/// Above 500 lines: node, pointers and handle are one friend group.
#ifndef TVM_FFI_OBJECT_H_
#define TVM_FFI_OBJECT_H_

#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/type_traits.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Tag for constructors that make a null handle of a non-nullable class. The caller fills it
/// before anyone else sees it.
struct UnsafeInit {};

class Object;
class ObjectRef;
template <typename T>
class ObjectPtr;
template <typename T>
class WeakObjectPtr;
template <typename T>
class Arc;
template <typename... V>
class Variant;

namespace detail {
struct ObjectUnsafe;

inline constexpr uint64_t kCombinedRefCountWeakOne = uint64_t{1} << 32;
inline constexpr uint64_t kCombinedRefCountStrongOne = 1;
inline constexpr uint64_t kCombinedRefCountBothOne =
    kCombinedRefCountWeakOne | kCombinedRefCountStrongOne;
inline constexpr uint64_t kCombinedRefCountMaskUInt32 = (uint64_t{1} << 32) - 1;

/// Slow part of the is-a test: looks the ancestor up in the type table.
TVM_FFI_NO_INLINE inline bool IsInstanceByAncestors(int32_t type_index, int32_t target_index,
                                                    int32_t target_depth) {
  const TypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info->type_depth > target_depth &&
         info->type_ancestors[target_depth]->type_index == target_index;
}

/// Whether an object with this runtime type is a TargetType.
template <typename TargetType>
TVM_FFI_INLINE bool IsObjectInstance(int32_t object_type_index);

/// Same test with both types known at run time only.
inline bool RuntimeTypeIndexMatch(int32_t actual_type_index, int32_t target_type_index) {
  if (actual_type_index == target_type_index) return true;
  if (actual_type_index < TypeIndex::kTVMFFIStaticObjectBegin ||
      target_type_index < TypeIndex::kTVMFFIStaticObjectBegin) {
    return false;
  }
  return IsInstanceByAncestors(actual_type_index, target_type_index,
                               TVMFFIGetTypeInfo(target_type_index)->type_depth);
}

}  // namespace detail

/// Base of all reference-counted nodes. Not polymorphic: type tests use the header.
///
/// A subclass names its type with one of the TVM_FFI_DECLARE_OBJECT_INFO macros and may first
/// override the `_type_*` constants below.
class Object {
 protected:
  TVMFFIObject header_;

 public:
  Object() {
    header_.combined_ref_count = 0;
    header_.type_index = 0;
    header_.__padding = 0;
    header_.deleter = nullptr;
  }
  // Counts belong to the address, not to the value.
  Object(const Object&) : Object() {}
  Object(Object&&) noexcept : Object() {}
  Object& operator=(const Object&) { return *this; }
  Object& operator=(Object&&) noexcept { return *this; }

  /// Whether the runtime type is TargetType or derives from it.
  template <typename TargetType>
  TVM_FFI_INLINE bool IsInstance() const {
    return detail::IsObjectInstance<TargetType>(header_.type_index);
  }

  TVM_FFI_INLINE int32_t type_index() const { return header_.type_index; }
  std::string GetTypeKey() const { return TypeIndexToTypeKey(header_.type_index); }
  uint64_t GetTypeKeyHash() const { return TVMFFIGetTypeInfo(header_.type_index)->type_key_hash; }
  static std::string TypeIndex2Key(int32_t tindex) { return TypeIndexToTypeKey(tindex); }

  /// True when nothing else, not even a weak pointer, refers to this object.
  bool unique() const {
    return __atomic_load_n(&header_.combined_ref_count, __ATOMIC_ACQUIRE) ==
           detail::kCombinedRefCountBothOne;
  }
  /// Number of strong references.
  uint64_t use_count() const {
    return __atomic_load_n(&header_.combined_ref_count, __ATOMIC_RELAXED) &
           detail::kCombinedRefCountMaskUInt32;
  }

  static constexpr const char* _type_key = StaticTypeKey::kTVMFFIObject;
  /// No class may derive.
  static constexpr bool _type_final = false;
  /// Handles give non-const access.
  static constexpr bool _type_mutable = false;
  /// Type indices reserved right behind this type for direct and indirect children.
  static constexpr uint32_t _type_child_slots = 0;
  static constexpr bool _type_child_slots_can_overflow = true;
  static constexpr int32_t _type_index = TypeIndex::kTVMFFIObject;
  static constexpr int32_t _type_depth = 0;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUnsupported;
  /// Subclasses must keep this class's structural kind.
  static constexpr bool _type_s_eq_hash_subclass_kind_fixed = false;

  static int32_t RuntimeTypeIndex() noexcept { return TypeIndex::kTVMFFIObject; }
  static int32_t _GetOrAllocRuntimeTypeIndex() { return TypeIndex::kTVMFFIObject; }

 private:
  TVM_FFI_INLINE void IncRef() {
    __atomic_fetch_add(&header_.combined_ref_count, detail::kCombinedRefCountStrongOne,
                       __ATOMIC_RELAXED);
  }

  /// Takes a strong reference unless the last one is already gone.
  bool TryPromoteWeak() {
    uint64_t count = __atomic_load_n(&header_.combined_ref_count, __ATOMIC_RELAXED);
    while ((count & detail::kCombinedRefCountMaskUInt32) != 0) {
      if (__atomic_compare_exchange_n(&header_.combined_ref_count, &count,
                                      count + detail::kCombinedRefCountStrongOne, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return true;
      }
    }
    return false;
  }

  /// What other threads did before they dropped their reference is visible after this. As cheap as
  /// a fence, which the thread sanitizer does not know.
  TVM_FFI_INLINE void AcquireDroppedReferences() const {
    static_cast<void>(__atomic_load_n(&header_.combined_ref_count, __ATOMIC_ACQUIRE));
  }

  TVM_FFI_INLINE void DecRef() {
    const uint64_t old = __atomic_fetch_sub(&header_.combined_ref_count,
                                            detail::kCombinedRefCountStrongOne, __ATOMIC_RELEASE);
    if (old == detail::kCombinedRefCountBothOne) {
      // Usual end: no weak pointer was ever made.
      AcquireDroppedReferences();
      if (header_.deleter != nullptr) {
        header_.deleter(&header_, kTVMFFIObjectDeleterFlagBitMaskBoth);
      }
    } else if ((old & detail::kCombinedRefCountMaskUInt32) == detail::kCombinedRefCountStrongOne) {
      DestroyThenDropWeak();
    }
  }

  TVM_FFI_NO_INLINE void DestroyThenDropWeak() {
    AcquireDroppedReferences();
    if (header_.deleter != nullptr) {
      header_.deleter(&header_, kTVMFFIObjectDeleterFlagBitMaskStrong);
    }
    DecWeakRef();
  }

  void IncWeakRef() {
    __atomic_fetch_add(&header_.combined_ref_count, detail::kCombinedRefCountWeakOne,
                       __ATOMIC_RELAXED);
  }

  void DecWeakRef() {
    const uint64_t old = __atomic_fetch_sub(&header_.combined_ref_count,
                                            detail::kCombinedRefCountWeakOne, __ATOMIC_RELEASE);
    if ((old >> 32) == 1) {
      AcquireDroppedReferences();
      if (header_.deleter != nullptr) {
        header_.deleter(&header_, kTVMFFIObjectDeleterFlagBitMaskWeak);
      }
    }
  }

  template <typename>
  friend class ObjectPtr;
  template <typename>
  friend class WeakObjectPtr;
  friend struct detail::ObjectUnsafe;
};

static_assert(sizeof(Object) == sizeof(TVMFFIObject) && sizeof(TVMFFIObject) == 24,
              "the object header is ABI");

template <typename T>
inline constexpr bool is_object_subclass_v = std::is_base_of_v<Object, std::remove_cv_t<T>>;

/// Strong pointer, possibly null.
template <typename T>
class ObjectPtr {
 public:
  ObjectPtr() = default;
  ObjectPtr(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  ObjectPtr(const ObjectPtr<T>& other) : ObjectPtr(other.data_, Share{}) {}
  template <typename U>
  ObjectPtr(const ObjectPtr<U>& other)  // NOLINT(google-explicit-constructor)
      : ObjectPtr(other.data_, Share{}) {
    static_assert(std::is_base_of_v<T, U>, "only a subclass pointer converts");
  }
  ObjectPtr(ObjectPtr<T>&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  template <typename Y>
  ObjectPtr(ObjectPtr<Y>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : data_(other.data_) {
    static_assert(std::is_base_of_v<T, Y>, "only a subclass pointer converts");
    other.data_ = nullptr;
  }
  ~ObjectPtr() { reset(); }

  ObjectPtr<T>& operator=(const ObjectPtr<T>& other) {
    ObjectPtr(other).swap(*this);
    return *this;
  }
  ObjectPtr<T>& operator=(ObjectPtr<T>&& other) noexcept {
    ObjectPtr(std::move(other)).swap(*this);
    return *this;
  }

  void swap(ObjectPtr<T>& other) noexcept { std::swap(data_, other.data_); }
  T* get() const { return static_cast<T*>(data_); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
  explicit operator bool() const { return data_ != nullptr; }

  void reset() {
    if (data_ != nullptr) {
      // Cleared first: the deleter may reach this pointer again.
      std::exchange(data_, nullptr)->DecRef();
    }
  }
  int use_count() const { return data_ == nullptr ? 0 : static_cast<int>(data_->use_count()); }
  bool unique() const { return data_ != nullptr && data_->unique(); }

  bool operator==(const ObjectPtr<T>& other) const { return data_ == other.data_; }
  bool operator!=(const ObjectPtr<T>& other) const { return data_ != other.data_; }
  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return data_ != nullptr; }

 private:
  struct Share {};
  struct Adopt {};
  ObjectPtr(Object* data, Share) : data_(data) {
    if (data_ != nullptr) data_->IncRef();
  }
  ObjectPtr(Object* data, Adopt) : data_(data) {}

  Object* data_{nullptr};

  template <typename>
  friend class ObjectPtr;
  template <typename>
  friend class WeakObjectPtr;
  friend struct detail::ObjectUnsafe;
};

/// Strong pointer that is never null, except after being moved from.
template <typename T>
class Arc : public ObjectPtr<T> {
 public:
  Arc() = delete;
  Arc(std::nullptr_t) = delete;
  Arc(const Arc<T>&) = default;
  Arc(Arc<T>&&) noexcept = default;
  Arc<T>& operator=(const Arc<T>&) = default;
  Arc<T>& operator=(Arc<T>&&) noexcept = default;
  template <typename U, std::enable_if_t<std::is_base_of_v<T, U>, int> = 0>
  Arc(const Arc<U>& other)  // NOLINT(google-explicit-constructor)
      : ObjectPtr<T>(static_cast<const ObjectPtr<U>&>(other)) {}
  template <typename U, std::enable_if_t<std::is_base_of_v<T, U>, int> = 0>
  Arc(Arc<U>&& other)  // NOLINT(google-explicit-constructor)
      : ObjectPtr<T>(static_cast<ObjectPtr<U>&&>(other)) {}
  explicit Arc(UnsafeInit) : ObjectPtr<T>(nullptr) {}

 private:
  explicit Arc(ObjectPtr<T>&& ptr) : ObjectPtr<T>(std::move(ptr)) {}
  friend struct detail::ObjectUnsafe;
};

/// Pointer that does not keep the object's content alive.
template <typename T>
class WeakObjectPtr {
 public:
  WeakObjectPtr() = default;
  WeakObjectPtr(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  WeakObjectPtr(const WeakObjectPtr<T>& other) : WeakObjectPtr(other.data_) {}
  WeakObjectPtr(const ObjectPtr<T>& other)  // NOLINT(google-explicit-constructor)
      : WeakObjectPtr(other.data_) {}
  template <typename U>
  WeakObjectPtr(const WeakObjectPtr<U>& other)  // NOLINT(google-explicit-constructor)
      : WeakObjectPtr(other.data_) {
    static_assert(std::is_base_of_v<T, U>, "only a subclass pointer converts");
  }
  template <typename U>
  WeakObjectPtr(const ObjectPtr<U>& other)  // NOLINT(google-explicit-constructor)
      : WeakObjectPtr(other.data_) {
    static_assert(std::is_base_of_v<T, U>, "only a subclass pointer converts");
  }
  WeakObjectPtr(WeakObjectPtr<T>&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  template <typename Y>
  WeakObjectPtr(WeakObjectPtr<Y>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : data_(other.data_) {
    static_assert(std::is_base_of_v<T, Y>, "only a subclass pointer converts");
    other.data_ = nullptr;
  }
  ~WeakObjectPtr() { reset(); }

  WeakObjectPtr<T>& operator=(const WeakObjectPtr<T>& other) {
    WeakObjectPtr(other).swap(*this);
    return *this;
  }
  WeakObjectPtr<T>& operator=(WeakObjectPtr<T>&& other) noexcept {
    WeakObjectPtr(std::move(other)).swap(*this);
    return *this;
  }
  void swap(WeakObjectPtr<T>& other) noexcept { std::swap(data_, other.data_); }

  /// Strong pointer, or null when the object is gone.
  ObjectPtr<T> lock() const {
    if (data_ == nullptr || !data_->TryPromoteWeak()) return nullptr;
    return ObjectPtr<T>(data_, typename ObjectPtr<T>::Adopt{});
  }
  void reset() {
    if (data_ != nullptr) std::exchange(data_, nullptr)->DecWeakRef();
  }
  /// Number of strong references.
  int use_count() const { return data_ == nullptr ? 0 : static_cast<int>(data_->use_count()); }
  bool expired() const { return use_count() == 0; }

 private:
  explicit WeakObjectPtr(Object* data) : data_(data) {
    if (data_ != nullptr) data_->IncWeakRef();
  }

  Object* data_{nullptr};

  template <typename>
  friend class WeakObjectPtr;
};

namespace detail {

/// Throws TypeError; defined in error.h.
template <typename TObject>
[[noreturn]] void ThrowNullReference();

/// For `operator->` of handles that may be null: None from another language ends up here.
template <typename TObject>
TVM_FFI_INLINE TObject* NotNull(TObject* ptr) {
  if (TVM_FFI_PREDICT_FALSE(ptr == nullptr)) ThrowNullReference<std::remove_cv_t<TObject>>();
  return ptr;
}

}  // namespace detail

/// Base of all handles. Copying shares the object.
///
/// A subclass gets `operator->` (TypeError when null), `get` and constructors from
/// TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE or _NOTNULLABLE.
class ObjectRef {
 public:
  ObjectRef() noexcept = default;
  ~ObjectRef() noexcept = default;
  ObjectRef(const ObjectRef&) = default;
  ObjectRef(ObjectRef&&) noexcept = default;
  ObjectRef& operator=(const ObjectRef&) = default;
  ObjectRef& operator=(ObjectRef&&) noexcept = default;
  explicit ObjectRef(ObjectPtr<Object> data) : data_(std::move(data)) {}
  explicit ObjectRef(UnsafeInit) {}

  bool same_as(const ObjectRef& other) const { return data_ == other.data_; }
  bool operator==(const ObjectRef& other) const { return data_ == other.data_; }
  bool operator!=(const ObjectRef& other) const { return data_ != other.data_; }
  /// Address order, for ordered containers.
  bool operator<(const ObjectRef& other) const { return data_.get() < other.data_.get(); }

  bool defined() const { return data_ != nullptr; }
  const Object* get() const { return data_.get(); }
  const Object* operator->() const { return detail::NotNull(get()); }
  bool unique() const { return data_.unique(); }
  int use_count() const { return data_.use_count(); }

  /// Node pointer if the object is an ObjectType, else nullptr (also for a null handle).
  template <typename ObjectType, typename = std::enable_if_t<std::is_base_of_v<Object, ObjectType>>>
  TVM_FFI_INLINE const ObjectType* as() const& {
    if (data_ != nullptr && data_->IsInstance<ObjectType>()) {
      return static_cast<const ObjectType*>(data_.get());
    }
    return nullptr;
  }
  /// The handle as ObjectRefType if its object fits, else nullopt. A null handle fits nullable
  /// classes only; use the node form to test for an object at the same time.
  template <typename ObjectRefType,
            typename = std::enable_if_t<std::is_base_of_v<ObjectRef, ObjectRefType>>, int = 0>
  std::optional<ObjectRefType> as() const&;
  template <typename ObjectRefType,
            typename = std::enable_if_t<std::is_base_of_v<ObjectRef, ObjectRefType>>, int = 0>
  std::optional<ObjectRefType> as() &&;

  /// As `as`, but a mismatch throws TypeError. Defined in any.h.
  template <typename ObjectRefType,
            typename = std::enable_if_t<std::is_base_of_v<ObjectRef, ObjectRefType>>>
  ObjectRefType as_or_throw() const&;
  template <typename ObjectRefType,
            typename = std::enable_if_t<std::is_base_of_v<ObjectRef, ObjectRefType>>>
  ObjectRefType as_or_throw() &&;

  /// None's index for a null handle.
  int32_t type_index() const {
    return data_ == nullptr ? static_cast<int32_t>(TypeIndex::kTVMFFINone) : data_->type_index();
  }
  std::string GetTypeKey() const { return TypeIndexToTypeKey(type_index()); }

  using ContainerType = Object;
  /// False when the node type alone does not decide membership (Array<T>, ...).
  static constexpr bool _type_container_is_exact = true;
  static constexpr bool _type_is_nullable = true;

 protected:
  ObjectPtr<Object> data_;
  /// For copy-on-write helpers of subclasses.
  Object* get_mutable() const { return data_.get(); }

  friend struct detail::ObjectUnsafe;
};

static_assert(sizeof(ObjectRef) == sizeof(void*), "a handle is one pointer");

/// Whether every ObjectType node may be held by a RefType handle (for static checks).
template <typename RefType, typename ObjectType, typename = void>
inline constexpr bool object_ref_contains_v = false;
template <typename RefType, typename ObjectType>
inline constexpr bool object_ref_contains_v<
    RefType, ObjectType, std::enable_if_t<std::is_base_of_v<ObjectRef, RefType>>> =
    RefType::_type_container_is_exact &&
    std::is_base_of_v<typename RefType::ContainerType, ObjectType>;

template <typename TargetType, typename SourceType>
inline constexpr bool type_subsumes_v<TargetType, SourceType,
                                      std::enable_if_t<std::is_base_of_v<ObjectRef, TargetType> &&
                                                       std::is_base_of_v<ObjectRef, SourceType> &&
                                                       TargetType::_type_container_is_exact>> =
    std::is_base_of_v<TargetType, SourceType> ||
    (std::is_base_of_v<typename TargetType::ContainerType, typename SourceType::ContainerType> &&
     (TargetType::_type_is_nullable || !SourceType::_type_is_nullable));

/// Hash and equality by object identity.
struct ObjectPtrHash {
  size_t operator()(const ObjectRef& a) const { return operator()(a.get()); }
  template <typename T>
  size_t operator()(const ObjectPtr<T>& a) const {
    return operator()(a.get());
  }
  template <typename... V>
  size_t operator()(const Variant<V...>& a) const;  // variant.h

 private:
  // Allocations are at least 16-byte aligned: the low bits carry nothing.
  size_t operator()(const Object* a) const { return reinterpret_cast<size_t>(a) >> 4; }
};

struct ObjectPtrEqual {
  bool operator()(const ObjectRef& a, const ObjectRef& b) const { return a.same_as(b); }
  template <typename T>
  bool operator()(const ObjectPtr<T>& a, const ObjectPtr<T>& b) const {
    return a == b;
  }
  template <typename... V>
  bool operator()(const Variant<V...>& a, const Variant<V...>& b) const;  // variant.h
};

namespace detail {

template <typename TargetType>
TVM_FFI_INLINE bool IsObjectInstance(int32_t object_type_index) {
  static_assert(std::is_base_of_v<Object, TargetType>, "the target must be an object class");
  if constexpr (std::is_same_v<TargetType, Object>) {
    return object_type_index >= TypeIndex::kTVMFFIStaticObjectBegin;
  } else if constexpr (TargetType::_type_final) {
    return object_type_index == TargetType::RuntimeTypeIndex();
  } else {
    // Children live in the slots right behind their parent, unless those ran out.
    const int32_t target = TargetType::RuntimeTypeIndex();
    if (object_type_index == target) return true;
    if constexpr (TargetType::_type_child_slots != 0) {
      const int32_t last = target + static_cast<int32_t>(TargetType::_type_child_slots);
      if (object_type_index >= target && object_type_index <= last) return true;
    }
    if constexpr (TargetType::_type_child_slots_can_overflow) {
      // Parents register before their children, so a smaller index cannot be a child.
      if (object_type_index < target) return false;
      return IsInstanceByAncestors(object_type_index, target, TargetType::_type_depth);
    } else {
      return false;
    }
  }
}

/// Access to internals for the ffi layer itself and for language bindings.
struct ObjectUnsafe {
  TVM_FFI_INLINE static TVMFFIObject* GetHeader(const Object* src) {
    return const_cast<TVMFFIObject*>(&src->header_);
  }
  static TVMFFIObjectAllocHeader* GetObjectAllocHeaderFromPtr(void* ptr) {
    return reinterpret_cast<TVMFFIObjectAllocHeader*>(static_cast<char*>(ptr) -
                                                      sizeof(TVMFFIObjectAllocHeader));
  }
  /// Bytes from the start of Class to its header: non-zero for polymorphic classes.
  template <typename Class>
  static int64_t GetObjectOffsetToSubclass() {
    // Any non-null aligned address works: only the static offset is used.
    auto* probe = reinterpret_cast<Class*>(alignof(Class) < 64 ? 64 : alignof(Class));
    return reinterpret_cast<int64_t>(static_cast<Object*>(probe)) -
           reinterpret_cast<int64_t>(probe);
  }

  template <typename T>
  TVM_FFI_INLINE static T ObjectRefFromObjectPtr(const ObjectPtr<Object>& ptr) {
    T ref(UnsafeInit{});
    ref.data_ = ptr;
    return ref;
  }
  template <typename T>
  TVM_FFI_INLINE static T ObjectRefFromObjectPtr(ObjectPtr<Object>&& ptr) {
    T ref(UnsafeInit{});
    ref.data_ = std::move(ptr);
    return ref;
  }
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromObjectRef(const ObjectRef& ref) {
    return ObjectPtr<T>(ref.data_.data_, typename ObjectPtr<T>::Share{});
  }
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromObjectRef(ObjectRef&& ref) {
    return ObjectPtr<T>(std::exchange(ref.data_.data_, nullptr), typename ObjectPtr<T>::Adopt{});
  }

  /// Adopts one strong reference the caller owned.
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromOwned(Object* raw_ptr) {
    return ObjectPtr<T>(raw_ptr, typename ObjectPtr<T>::Adopt{});
  }
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromOwned(TVMFFIObject* obj_ptr) {
    return ObjectPtrFromOwned<T>(reinterpret_cast<Object*>(obj_ptr));
  }
  template <typename T>
  TVM_FFI_INLINE static Arc<T> ArcFromObjectPtr(ObjectPtr<T>&& ptr) {
    return Arc<T>(std::move(ptr));
  }
  template <typename T>
  TVM_FFI_INLINE static T* RawObjectPtrFromUnowned(TVMFFIObject* obj_ptr) {
    return static_cast<T*>(reinterpret_cast<Object*>(obj_ptr));
  }
  /// Adds a strong reference.
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromUnowned(Object* raw_ptr) {
    return ObjectPtr<T>(raw_ptr, typename ObjectPtr<T>::Share{});
  }
  template <typename T>
  TVM_FFI_INLINE static ObjectPtr<T> ObjectPtrFromUnowned(TVMFFIObject* obj_ptr) {
    return ObjectPtrFromUnowned<T>(reinterpret_cast<Object*>(obj_ptr));
  }

  TVM_FFI_INLINE static void DecRefObjectHandle(TVMFFIObjectHandle handle) {
    if (handle != nullptr) reinterpret_cast<Object*>(handle)->DecRef();
  }
  TVM_FFI_INLINE static void IncRefObjectHandle(TVMFFIObjectHandle handle) {
    if (handle != nullptr) reinterpret_cast<Object*>(handle)->IncRef();
  }

  template <typename T>
  TVM_FFI_INLINE static TVMFFIObject* TVMFFIObjectPtrFromObjectPtr(const ObjectPtr<T>& src) {
    return reinterpret_cast<TVMFFIObject*>(src.data_);
  }
  TVM_FFI_INLINE static TVMFFIObject* TVMFFIObjectPtrFromObjectRef(const ObjectRef& src) {
    return reinterpret_cast<TVMFFIObject*>(src.data_.data_);
  }
  /// Hands the strong reference over to the caller.
  template <typename T>
  TVM_FFI_INLINE static TVMFFIObject* MoveObjectPtrToTVMFFIObjectPtr(ObjectPtr<T>&& src) {
    return reinterpret_cast<TVMFFIObject*>(std::exchange(src.data_, nullptr));
  }
  TVM_FFI_INLINE static TVMFFIObject* MoveObjectRefToTVMFFIObjectPtr(ObjectRef&& src) {
    return reinterpret_cast<TVMFFIObject*>(std::exchange(src.data_.data_, nullptr));
  }

  /// For tests of the weak-count protocol and for bindings.
  static void IncWeakRefObjectHandle(TVMFFIObjectHandle handle) {
    reinterpret_cast<Object*>(handle)->IncWeakRef();
  }
  static void DecWeakRefObjectHandle(TVMFFIObjectHandle handle) {
    reinterpret_cast<Object*>(handle)->DecWeakRef();
  }
};

/// Registers (or finds) the type of a class; instantiated by the declaration macros.
template <typename TypeName, typename ParentType>
int32_t AllocTypeIndex(const char* key, int32_t static_index) {
  static_assert(std::is_base_of_v<ParentType, TypeName>, "the second class must be the base");
  static_assert(!ParentType::_type_final, "the base class is declared final");
  static_assert(TypeName::_type_child_slots == 0 || ParentType::_type_child_slots == 0 ||
                    TypeName::_type_child_slots < ParentType::_type_child_slots,
                "a class needs fewer child slots than its base reserved");
  static_assert(!ParentType::_type_s_eq_hash_subclass_kind_fixed ||
                    TypeName::_type_s_eq_hash_kind == ParentType::_type_s_eq_hash_kind,
                "the base class fixes the structural equality kind");
  TVMFFIByteArray type_key{key, std::char_traits<char>::length(key)};
  return TVMFFITypeGetOrAllocIndex(&type_key, static_index, TypeName::_type_depth,
                                   static_cast<int32_t>(TypeName::_type_child_slots),
                                   TypeName::_type_child_slots_can_overflow ? 1 : 0,
                                   ParentType::_GetOrAllocRuntimeTypeIndex());
}

/// Finds a type another library registers; -2 while it is missing.
inline int32_t LookupTypeIndex(const char* key) {
  TVMFFIByteArray type_key{key, std::char_traits<char>::length(key)};
  return TVMFFITypeGetOrAllocIndex(&type_key, -1, 0, 0, 0, -2);
}

}  // namespace detail

/// Class with a statically numbered type; the class defines `_type_index` itself.
/// `_type_key` must be declared by the class.
#define TVM_FFI_DECLARE_OBJECT_INFO_STATIC(TypeKey, TypeName, ParentType)                   \
  static constexpr const char* _type_key = TypeKey;                                         \
  static constexpr int32_t _type_depth = ParentType::_type_depth + 1;                       \
  static int32_t _GetOrAllocRuntimeTypeIndex() {                                            \
    static const int32_t tindex = ::tvm::ffi::detail::AllocTypeIndex<TypeName, ParentType>( \
        TypeName::_type_key, static_cast<int32_t>(TypeName::_type_index));                  \
    return tindex;                                                                          \
  }                                                                                         \
  static int32_t RuntimeTypeIndex() noexcept { return static_cast<int32_t>(TypeName::_type_index); }

/// Class whose `_type_key` is already defined in its body.
#define TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(TypeName, ParentType)              \
  static constexpr int32_t _type_depth = ParentType::_type_depth + 1;                      \
  static int32_t _GetOrAllocRuntimeTypeIndex() {                                           \
    static const int32_t tindex =                                                          \
        ::tvm::ffi::detail::AllocTypeIndex<TypeName, ParentType>(TypeName::_type_key, -1); \
    return tindex;                                                                         \
  }                                                                                        \
  /* Initialised at load, so that the key is known to every language from then on. */      \
  static inline const int32_t _type_index = _GetOrAllocRuntimeTypeIndex();                 \
  static int32_t RuntimeTypeIndex() noexcept { return _GetOrAllocRuntimeTypeIndex(); }

/// Class whose type index is allocated when its library loads.
#define TVM_FFI_DECLARE_OBJECT_INFO(TypeKey, TypeName, ParentType) \
  static constexpr const char* _type_key = TypeKey;                \
  TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(TypeName, ParentType)

/// As above for a class nobody may derive from: type tests are one comparison.
#define TVM_FFI_DECLARE_OBJECT_INFO_FINAL(TypeKey, TypeName, ParentType) \
  static constexpr int _type_child_slots [[maybe_unused]] = 0;           \
  static constexpr bool _type_final [[maybe_unused]] = true;             \
  TVM_FFI_DECLARE_OBJECT_INFO(TypeKey, TypeName, ParentType)

/// Class that mirrors a type registered elsewhere (another language or library). The lookup
/// repeats until the type appears.
#define TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP(RegisteredKey, TypeDepth) \
  static constexpr const char* _type_key = RegisteredKey;            \
  static constexpr int32_t _type_depth = TypeDepth;                  \
  static constexpr uint32_t _type_child_slots = 0;                   \
  static constexpr bool _type_child_slots_can_overflow = true;       \
  static int32_t _GetOrAllocRuntimeTypeIndex() {                     \
    static int32_t tindex = -2;                                      \
    int32_t found = __atomic_load_n(&tindex, __ATOMIC_RELAXED);      \
    if (found < 0) {                                                 \
      found = ::tvm::ffi::detail::LookupTypeIndex(_type_key);        \
      __atomic_store_n(&tindex, found, __ATOMIC_RELAXED);            \
    }                                                                \
    return found;                                                    \
  }                                                                  \
  static int32_t RuntimeTypeIndex() noexcept { return _GetOrAllocRuntimeTypeIndex(); }

#define TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName) \
  TypeName(const TypeName& other) = default;                  \
  TypeName(TypeName&& other) noexcept = default;              \
  TypeName& operator=(const TypeName& other) = default;       \
  TypeName& operator=(TypeName&& other) noexcept = default

#define TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(TypeName, ObjectName, Nullable)              \
  using __PtrType =                                                                    \
      std::conditional_t<(ObjectName::_type_mutable), ObjectName*, const ObjectName*>; \
  __PtrType operator->() const {                                                       \
    if constexpr (Nullable) return ::tvm::ffi::detail::NotNull(get());                 \
    return get();                                                                      \
  }                                                                                    \
  __PtrType get() const { return static_cast<__PtrType>(data_.get()); }                \
  [[maybe_unused]] static constexpr bool _type_is_nullable = Nullable;                 \
  using ContainerType = ObjectName

/// Members of a handle class that may be null.
#define TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TypeName, ParentType, ObjectName)            \
  TypeName() = default;                                                                         \
  explicit TypeName(::tvm::ffi::ObjectPtr<ObjectName> n) : TypeName(::tvm::ffi::UnsafeInit{}) { \
    data_ = std::move(n);                                                                       \
  }                                                                                             \
  explicit TypeName(::tvm::ffi::UnsafeInit tag) : ParentType(tag) {}                            \
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName);                                        \
  TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(TypeName, ObjectName, true)

/// Members of a handle class that always refers to an object.
#define TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(TypeName, ParentType, ObjectName) \
  explicit TypeName(::tvm::ffi::UnsafeInit tag) : ParentType(tag) {}                    \
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName);                                \
  TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(TypeName, ObjectName, false)

// ---------------------------------------------------------------------------------------------
// Traits
// ---------------------------------------------------------------------------------------------

namespace detail {

TVM_FFI_INLINE void StoreObject(TVMFFIObject* obj, TVMFFIAny* result) {
  result->zero_padding = 0;
  TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result);
  if (obj == nullptr) {
    result->type_index = TypeIndex::kTVMFFINone;
    result->v_int64 = 0;
  } else {
    result->type_index = obj->type_index;
    result->v_obj = obj;
  }
}

TVM_FFI_INLINE bool IsObjectIndex(int32_t type_index) {
  return type_index >= TypeIndex::kTVMFFIStaticObjectBegin;
}

template <typename T, typename = void>
struct StaticFieldIndex {
  static constexpr int32_t value = TypeIndex::kTVMFFIObject;
};

/// Shared by ObjectPtr and Arc; `Nullable` decides what None means.
template <typename PtrType, typename TObject, bool Nullable>
struct ObjectPtrTraitsBase : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIObject;

  TVM_FFI_INLINE static void CopyToAnyView(const PtrType& src, TVMFFIAny* result) {
    StoreObject(ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr<TObject>(src), result);
  }
  TVM_FFI_INLINE static void MoveToAny(PtrType src, TVMFFIAny* result) {
    StoreObject(ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr<TObject>(std::move(src)), result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return Nullable;
    return IsObjectIndex(src->type_index) && IsObjectInstance<TObject>(src->type_index);
  }
  TVM_FFI_INLINE static PtrType CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Wrap(src->type_index == TypeIndex::kTVMFFINone
                    ? ObjectPtr<TObject>(nullptr)
                    : ObjectUnsafe::ObjectPtrFromUnowned<TObject>(src->v_obj));
  }
  TVM_FFI_INLINE static PtrType MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return Wrap(ObjectPtr<TObject>(nullptr));
    ObjectPtr<TObject> ptr = ObjectUnsafe::ObjectPtrFromOwned<TObject>(src->v_obj);
    TypeTraits<std::nullptr_t>::CopyToAnyView(nullptr, src);
    return Wrap(std::move(ptr));
  }
  TVM_FFI_INLINE static std::optional<PtrType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return TObject::_type_key; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    const std::string schema = SimpleTypeSchema(TObject::_type_key);
    return Nullable ? "{\"type\":\"Optional\",\"args\":[" + schema + "]}" : schema;
  }

 private:
  TVM_FFI_INLINE static PtrType Wrap(ObjectPtr<TObject>&& ptr) {
    if constexpr (Nullable) {
      return std::move(ptr);
    } else {
      return ObjectUnsafe::ArcFromObjectPtr<TObject>(std::move(ptr));
    }
  }
};

}  // namespace detail

template <typename T>
struct TypeToRuntimeTypeIndex<T, std::enable_if_t<std::is_base_of_v<ObjectRef, T>>> {
  static int32_t v() { return T::ContainerType::RuntimeTypeIndex(); }
};
template <typename TObject>
struct TypeToRuntimeTypeIndex<ObjectPtr<TObject>, std::enable_if_t<is_object_subclass_v<TObject>>> {
  static int32_t v() { return TObject::RuntimeTypeIndex(); }
};
template <typename TObject>
struct TypeToRuntimeTypeIndex<Arc<TObject>, std::enable_if_t<is_object_subclass_v<TObject>>> {
  static int32_t v() { return TObject::RuntimeTypeIndex(); }
};

template <typename TObject>
struct TypeTraits<ObjectPtr<TObject>,
                  std::enable_if_t<is_object_subclass_v<TObject> && !std::is_const_v<TObject>>>
    : public detail::ObjectPtrTraitsBase<ObjectPtr<TObject>, TObject, true> {};

template <typename TObject>
struct TypeTraits<Arc<TObject>,
                  std::enable_if_t<is_object_subclass_v<TObject> && !std::is_const_v<TObject>>>
    : public detail::ObjectPtrTraitsBase<Arc<TObject>, TObject, false> {};

namespace detail {

/// Handle classes whose values also convert from plain ones offer `_FromPlainValue`; see enum.h.
template <typename TObjRef, typename = void>
inline constexpr bool converts_plain_values_v = false;
template <typename TObjRef>
inline constexpr bool converts_plain_values_v<
    TObjRef, std::void_t<decltype(TObjRef::_FromPlainValue(nullptr, int32_t{}))>> = true;

}  // namespace detail

/// Default behaviour of a handle class.
template <typename TObjRef>
struct ObjectRefTypeTraitsBase : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIObject;
  using ContainerType = typename TObjRef::ContainerType;

  TVM_FFI_INLINE static void CopyToAnyView(const TObjRef& src, TVMFFIAny* result) {
    detail::StoreObject(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(src), result);
  }
  TVM_FFI_INLINE static void MoveToAny(TObjRef src, TVMFFIAny* result) {
    detail::StoreObject(detail::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(src)),
                        result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    if constexpr (TObjRef::_type_is_nullable) {
      if (src->type_index == TypeIndex::kTVMFFINone) return true;
    }
    return detail::IsObjectIndex(src->type_index) &&
           detail::IsObjectInstance<ContainerType>(src->type_index);
  }
  TVM_FFI_INLINE static TObjRef CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if constexpr (TObjRef::_type_is_nullable) {
      if (src->type_index == TypeIndex::kTVMFFINone) return TObjRef(UnsafeInit{});
    }
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<TObjRef>(
        detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(src->v_obj));
  }
  TVM_FFI_INLINE static TObjRef MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if constexpr (TObjRef::_type_is_nullable) {
      if (src->type_index == TypeIndex::kTVMFFINone) return TObjRef(UnsafeInit{});
    }
    ObjectPtr<Object> ptr = detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(src->v_obj);
    TypeTraits<std::nullptr_t>::CopyToAnyView(nullptr, src);
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<TObjRef>(std::move(ptr));
  }
  TVM_FFI_INLINE static std::optional<TObjRef> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if constexpr (detail::converts_plain_values_v<TObjRef>) {
      TVMFFIAny found = TObjRef::_FromPlainValue(src, ContainerType::RuntimeTypeIndex());
      if (found.type_index != TypeIndex::kTVMFFINone) return MoveFromAnyAfterCheck(&found);
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return ContainerType::_type_key; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(ContainerType::_type_key);
  }
};

template <typename TObjRef>
struct TypeTraits<TObjRef, std::enable_if_t<std::is_base_of_v<ObjectRef, TObjRef> &&
                                            use_default_type_traits_v<TObjRef>>>
    : public ObjectRefTypeTraitsBase<TObjRef> {};

/// Base for handles that can also be built from the first castable fallback type by
/// `TypeTraits<ObjectRefType>::ConvertFallbackValue`. Use StrictBool instead of bool.
template <typename ObjectRefType, typename... FallbackTypes>
struct ObjectRefWithFallbackTraitsBase : public ObjectRefTypeTraitsBase<ObjectRefType> {
  static_assert((!std::is_same_v<FallbackTypes, bool> && ...), "use StrictBool as fallback");

  TVM_FFI_INLINE static std::optional<ObjectRefType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (auto ref = ObjectRefTypeTraitsBase<ObjectRefType>::TryCastFromAnyView(src)) return ref;
    return TryFallbackTypes<FallbackTypes...>(src);
  }

  template <typename FallbackType, typename... Rest>
  TVM_FFI_INLINE static std::optional<ObjectRefType> TryFallbackTypes(const TVMFFIAny* src) {
    if (auto value = TypeTraits<FallbackType>::TryCastFromAnyView(src)) {
      return TypeTraits<ObjectRefType>::ConvertFallbackValue(*std::move(value));
    }
    if constexpr (sizeof...(Rest) > 0) {
      return TryFallbackTypes<Rest...>(src);
    } else {
      return std::nullopt;
    }
  }
};

/// Borrowed node pointers: arguments such as the `this` of a reflected method. Null is None
/// outwards; None does not convert back.
template <typename TObject>
struct TypeTraits<TObject*, std::enable_if_t<std::is_base_of_v<Object, TObject>>>
    : public TypeTraitsBase {
  using NoConst = std::remove_const_t<TObject>;

  TVM_FFI_INLINE static void CopyToAnyView(TObject* src, TVMFFIAny* result) {
    detail::StoreObject(src == nullptr ? nullptr : detail::ObjectUnsafe::GetHeader(src), result);
  }
  TVM_FFI_INLINE static void MoveToAny(TObject* src, TVMFFIAny* result) {
    CopyToAnyView(src, result);
    if (src != nullptr) detail::ObjectUnsafe::IncRefObjectHandle(result->v_obj);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return detail::IsObjectIndex(src->type_index) &&
           detail::IsObjectInstance<NoConst>(src->type_index);
  }
  TVM_FFI_INLINE static TObject* CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<NoConst>(src->v_obj);
  }
  TVM_FFI_INLINE static std::optional<TObject*> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return NoConst::_type_key; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(NoConst::_type_key);
  }
};

// Null is None: a nullable class takes it. A class that is not exact (Array<T>, ...) also checks
// the content.
template <typename ObjectRefType, typename, int>
std::optional<ObjectRefType> ObjectRef::as() const& {
  TVMFFIAny view;
  detail::StoreObject(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*this), &view);
  if (!TypeTraits<ObjectRefType>::CheckAnyStrict(&view)) return std::nullopt;
  return detail::ObjectUnsafe::ObjectRefFromObjectPtr<ObjectRefType>(data_);
}

template <typename ObjectRefType, typename, int>
std::optional<ObjectRefType> ObjectRef::as() && {
  TVMFFIAny view;
  detail::StoreObject(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*this), &view);
  if (!TypeTraits<ObjectRefType>::CheckAnyStrict(&view)) return std::nullopt;
  return detail::ObjectUnsafe::ObjectRefFromObjectPtr<ObjectRefType>(std::move(data_));
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_OBJECT_H_
