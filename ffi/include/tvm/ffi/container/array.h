// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Array<T>`: immutable sequence with copy-on-write updates.
#ifndef TVM_FFI_CONTAINER_ARRAY_H_
#define TVM_FFI_CONTAINER_ARRAY_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/container/seq_base.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>

#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {

/// Slots follow the object in the same allocation.
class ArrayObj : public SeqBaseObj {
 public:
  /// Array without elements and room for `capacity`.
  static ObjectPtr<ArrayObj> Empty(int64_t capacity = kInitCapacity) {
    ObjectPtr<ArrayObj> object =
        make_inplace_array_object<ArrayObj, Any>(static_cast<size_t>(capacity));
    object->data = reinterpret_cast<char*>(object.get()) + sizeof(ArrayObj);
    object->TVMFFISeqCell::capacity = capacity;
    return object;
  }
  static ObjectPtr<ArrayObj> CopyFrom(int64_t cap, ArrayObj* from) {
    ObjectPtr<ArrayObj> object = Empty(cap);
    for (const Any& cell : *from) object->PushUnchecked(cell);
    return object;
  }
  /// Leaves `from` empty.
  static ObjectPtr<ArrayObj> MoveFrom(int64_t cap, ArrayObj* from) {
    ObjectPtr<ArrayObj> object = Empty(cap);
    const int64_t count = static_cast<int64_t>(from->size());
    if (count != 0) {
      std::memcpy(object->data, from->data, static_cast<size_t>(count) * sizeof(Any));
    }
    object->TVMFFISeqCell::size = count;
    from->TVMFFISeqCell::size = 0;
    return object;
  }
  static ObjectPtr<ArrayObj> CreateRepeated(int64_t n, const Any& val) {
    ObjectPtr<ArrayObj> object = Empty(n);
    for (int64_t i = 0; i < n; ++i) object->PushUnchecked(val);
    return object;
  }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIArray;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIArray, ArrayObj, Object);

  template <typename, typename>
  friend class Array;
  template <typename...>
  friend class Tuple;
};

static_assert(sizeof(ArrayObj) == 56, "slots start 56 bytes behind the object");

namespace detail {

/// Whether an iterator yields values an Array<T> takes.
template <typename T, typename IterType>
inline constexpr bool is_valid_iterator_v =
    std::is_same_v<T, Any> || std::is_convertible_v<decltype(*std::declval<IterType>()), T>;

}  // namespace detail

/// Sequence of T. Copies share storage; an update works in place only when the storage is
/// unique. Elements are returned by value.
template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
class Array : public ObjectRef {
 public:
  using value_type = T;
  using ContainerType = ArrayObj;
  static constexpr bool _type_container_is_exact = std::is_same_v<T, Any>;
  static constexpr bool _type_is_nullable = false;

  using ValueConverter = detail::ElementConverter<T>;
  using iterator = detail::IterAdapter<ValueConverter, const Any*>;
  using const_iterator = iterator;
  using reverse_iterator = detail::ReverseIterAdapter<ValueConverter, const Any*>;

  explicit Array(UnsafeInit tag) : ObjectRef(tag) {}
  Array() { data_ = ArrayObj::Empty(); }
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array&) = default;
  Array& operator=(Array&&) noexcept = default;
  /// Upcast, shares storage.
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  Array(const Array<U>& other) : ObjectRef(other) {}  // NOLINT(google-explicit-constructor)
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  Array(Array<U>&& other)  // NOLINT(google-explicit-constructor)
      : ObjectRef(std::move(other)) {}
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  Array& operator=(const Array<U>& other) {
    ObjectRef::operator=(other);
    return *this;
  }
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  Array& operator=(Array<U>&& other) {
    ObjectRef::operator=(std::move(other));
    return *this;
  }
  explicit Array(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {
    TVM_FFI_ICHECK(data_ != nullptr) << "an Array is never null";
  }
  template <typename IterType,
            typename = typename std::iterator_traits<IterType>::iterator_category>
  Array(IterType first, IterType last) {
    Assign(first, last);
  }
  Array(std::initializer_list<T> init) { Assign(init.begin(), init.end()); }  // NOLINT
  Array(const std::vector<T>& init) {                                         // NOLINT
    Assign(init.begin(), init.end());
  }
  explicit Array(const size_t n, const T& val) {
    data_ = ArrayObj::CreateRepeated(static_cast<int64_t>(n), Any(val));
  }

  iterator begin() const { return iterator(CellsBegin()); }
  iterator end() const { return iterator(CellsEnd()); }
  reverse_iterator rbegin() const { return reverse_iterator(empty() ? nullptr : CellsEnd() - 1); }
  reverse_iterator rend() const { return reverse_iterator(empty() ? nullptr : CellsBegin() - 1); }

  const T operator[](int64_t i) const { return ValueConverter::convert(Checked()->at(i)); }
  T at(int64_t i) const { return ValueConverter::convert(Checked()->at(i)); }
  size_t size() const { return data_ == nullptr ? 0 : GetArrayObj()->size(); }
  size_t capacity() const { return data_ == nullptr ? 0 : GetArrayObj()->capacity(); }
  bool empty() const { return size() == 0; }
  T front() const { return ValueConverter::convert(Checked()->front()); }
  T back() const { return ValueConverter::convert(Checked()->back()); }

  void push_back(const T& item) {
    Any cell(item);  // before growing: `item` may live in this array
    CopyOnWrite(1)->PushUnchecked(std::move(cell));
  }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
  }
  void insert(iterator position, const T& val) {
    Any cell(val);
    const int64_t idx = position.base() - CellsBegin();
    CopyOnWrite(1)->insert(idx, std::move(cell));
  }
  template <typename IterType>
  void insert(iterator position, IterType first, IterType last) {
    static_assert(detail::is_valid_iterator_v<T, IterType>, "the iterator yields another type");
    if (first == last) return;
    const int64_t idx = position.base() - CellsBegin();
    // Collected first: the source may be this array.
    Array<T> source(first, last);
    const ArrayObj* cells = source.GetArrayObj();
    CopyOnWrite(static_cast<int64_t>(cells->size()))->insert(idx, cells->begin(), cells->end());
  }
  void pop_back() {
    Checked();
    CopyOnWrite()->pop_back();
  }
  void erase(iterator position) { erase(position, position + 1); }
  void erase(iterator first, iterator last) {
    if (first == last) return;
    const Any* base = Checked()->begin();
    const int64_t from = first.base() - base, to = last.base() - base;
    CopyOnWrite()->erase(from, to);
  }
  /// New elements are empty cells: valid for nullable T only.
  void resize(int64_t n) {
    const int64_t extra = n - static_cast<int64_t>(size());
    CopyOnWrite(extra > 0 ? extra : 0)->resize(n);
  }
  void reserve(int64_t n) {
    if (n > static_cast<int64_t>(capacity())) {
      SwitchContainer(n);
    }
  }
  void clear() {
    if (!empty()) CopyOnWrite()->clear();
  }
  void Set(int64_t i, T value) {
    Checked()->at(i);
    CopyOnWrite()->SetItemAfterCheck(i, Any(std::move(value)));
  }
  /// Null only after a move.
  ArrayObj* GetArrayObj() const { return static_cast<ArrayObj*>(data_.get()); }

  /// Array of `fmap(element)`; this array itself when nothing changed.
  template <typename F, typename U = std::invoke_result_t<F, T>>
  Array<U> Map(F fmap) const {
    Array<U> result;
    const ArrayObj* cells = GetArrayObj();
    if (cells == nullptr) return result;
    const int64_t count = static_cast<int64_t>(cells->size());
    int64_t i = 0;
    if constexpr (std::is_same_v<T, U>) {
      Any changed;
      for (; i < count; ++i) {
        Any mapped(fmap(ValueConverter::convert(cells->begin()[i])));
        if (!mapped.same_as(cells->begin()[i])) {
          changed = std::move(mapped);
          break;
        }
      }
      if (i == count) return *this;
      result.reserve(count);
      ArrayObj* target = result.GetArrayObj();
      for (int64_t k = 0; k < i; ++k) target->PushUnchecked(cells->begin()[k]);
      target->PushUnchecked(std::move(changed));
      ++i;
    } else {
      result.reserve(count);
    }
    ArrayObj* target = result.GetArrayObj();
    for (; i < count; ++i) {
      target->PushUnchecked(Any(U(fmap(ValueConverter::convert(cells->begin()[i])))));
    }
    return result;
  }
  /// Replaces each element by `fmutate(element)`, in place when unique; copies only when an
  /// element really changes.
  template <typename F,
            typename = std::enable_if_t<std::is_convertible_v<std::invoke_result_t<F, T>, T>>>
  void MutateByApply(F fmutate) {
    if (data_ == nullptr) return;
    const bool in_place = data_.unique();
    if (!in_place) {
      *this = Map([&fmutate](T value) -> T { return fmutate(std::move(value)); });
      return;
    }
    ArrayObj* cells = GetArrayObj();
    for (size_t i = 0; i < cells->size(); ++i) {
      // Taken out, so that the element itself may be unique inside fmutate.
      Any* cell = cells->MutableBegin() + i;
      T value = detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(*cell));
      cell->reset();
      *cell = Any(T(fmutate(std::move(value))));
    }
  }
  /// Replaces the content; the range may point into this array.
  template <typename IterType>
  void Assign(IterType first, IterType last) {
    static_assert(detail::is_valid_iterator_v<T, IterType>, "the iterator yields another type");
    if constexpr (detail::is_forward_iterator_v<IterType>) {
      const int64_t count = std::distance(first, last);
      ObjectPtr<ArrayObj> cells = ArrayObj::Empty(count > 0 ? count : 0);
      for (; first != last; ++first) cells->PushUnchecked(Any(T(*first)));
      data_ = std::move(cells);
    } else {
      Array<T> collected;
      for (; first != last; ++first) collected.push_back(T(*first));
      *this = std::move(collected);
    }
  }

  /// Makes the storage unique.
  ArrayObj* CopyOnWrite() { return CopyOnWrite(0); }

  /// Concatenates elements and arrays.
  template <typename... Args>
  static Array<T> Agregate(Args... args) {
    Array<T> result;
    (AppendTo(&result, std::move(args)), ...);
    return result;
  }

 private:
  const Any* CellsBegin() const { return data_ == nullptr ? nullptr : GetArrayObj()->begin(); }
  const Any* CellsEnd() const { return data_ == nullptr ? nullptr : GetArrayObj()->end(); }
  ArrayObj* Checked() const {
    if (TVM_FFI_PREDICT_FALSE(data_ == nullptr)) {
      TVM_FFI_THROW(IndexError) << "cannot index a moved-from array";
    }
    return GetArrayObj();
  }
  static void AppendTo(Array<T>* dest, const Array<T>& source) {
    dest->insert(dest->end(), source.begin(), source.end());
  }
  static void AppendTo(Array<T>* dest, const T& value) { dest->push_back(value); }

  /// Unique storage with room for `extra` more elements.
  ArrayObj* CopyOnWrite(int64_t extra) {
    const int64_t needed = static_cast<int64_t>(size()) + extra;
    const int64_t room = static_cast<int64_t>(capacity());
    if (needed > room) {
      return SwitchContainer(SeqBaseObj::GrownCapacity(room, needed));
    }
    if (data_ == nullptr || !data_.unique()) return SwitchContainer(room);
    return GetArrayObj();
  }
  ArrayObj* SwitchContainer(int64_t capacity) {
    if (data_ == nullptr) {
      data_ = ArrayObj::Empty(capacity);
    } else if (data_.unique()) {
      data_ = ArrayObj::MoveFrom(capacity, GetArrayObj());
    } else {
      data_ = ArrayObj::CopyFrom(capacity, GetArrayObj());
    }
    return GetArrayObj();
  }

  template <typename, typename>
  friend class Array;
};

/// Elements of `lhs`, then of `rhs`.
template <typename T,
          typename = std::enable_if_t<std::is_same_v<T, Any> || TypeTraits<T>::convert_enabled>>
inline Array<T> Concat(Array<T> lhs, const Array<T>& rhs) {
  lhs.insert(lhs.end(), rhs.begin(), rhs.end());
  return lhs;
}

template <>
inline ObjectPtr<ArrayObj> make_object() {
  return ArrayObj::Empty();
}

template <typename T>
inline constexpr bool use_default_type_traits_v<Array<T>> = false;

template <typename T>
struct TypeTraits<Array<T>> : public detail::SeqTypeTraitsBase<TypeTraits<Array<T>>, Array<T>, T> {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIArray;
  static constexpr int32_t kPrimaryTypeIndex = TypeIndex::kTVMFFIArray;
  static constexpr int32_t kOtherTypeIndex = TypeIndex::kTVMFFIList;
  static constexpr const char* kTypeName = "Array";
  static constexpr const char* kStaticTypeKey = StaticTypeKey::kTVMFFIArray;

  static std::string TypeSchema() { return detail::CompoundTypeSchema<T>(kStaticTypeKey); }
};

template <typename T, typename U>
inline constexpr bool
    type_subsumes_v<Array<T>, Array<U>, std::enable_if_t<!std::is_same_v<T, Any>>> =
        type_subsumes_v<T, U>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_ARRAY_H_
