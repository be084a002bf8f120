// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `List<T>`: sequence whose updates are seen through every handle.
#ifndef TVM_FFI_CONTAINER_LIST_H_
#define TVM_FFI_CONTAINER_LIST_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/container/seq_base.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {

/// Slots live in a buffer of their own, so that the object keeps its address while growing.
class ListObj : public SeqBaseObj {
 public:
  static ObjectPtr<ListObj> CreateRepeated(int64_t n, const Any& val) {
    ObjectPtr<ListObj> object = make_object<ListObj>();
    object->Reserve(n);
    for (int64_t i = 0; i < n; ++i) object->PushUnchecked(val);
    return object;
  }
  /// Makes capacity for at least `n` elements.
  void Reserve(int64_t n) {
    if (n <= TVMFFISeqCell::capacity) return;
    const int64_t count = TVMFFISeqCell::size;
    void* buffer = ::operator new(static_cast<size_t>(n) * sizeof(Any));
    if (count != 0) std::memcpy(buffer, data, static_cast<size_t>(count) * sizeof(Any));
    if (data_deleter != nullptr) data_deleter(data);
    data = buffer;
    data_deleter = FreeBuffer;
    TVMFFISeqCell::capacity = n;
  }
  /// Makes capacity for `extra` more elements, growing geometrically.
  void ReserveExtra(int64_t extra) {
    const int64_t needed = TVMFFISeqCell::size + extra;
    if (needed > TVMFFISeqCell::capacity) {
      Reserve(GrownCapacity(TVMFFISeqCell::capacity, needed));
    }
  }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIList;
  static constexpr bool _type_final = true;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIList, ListObj, Object);

 private:
  static void FreeBuffer(void* buffer) { ::operator delete(buffer); }
};

/// Shared sequence of T. Elements are returned by value.
template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
class List : public ObjectRef {
 public:
  using value_type = T;
  using ContainerType = ListObj;
  static constexpr bool _type_container_is_exact = std::is_same_v<T, Any>;
  static constexpr bool _type_is_nullable = false;

  using ValueConverter = detail::ElementConverter<T>;
  using iterator = detail::IterAdapter<ValueConverter, const Any*>;
  using const_iterator = iterator;
  using reverse_iterator = detail::ReverseIterAdapter<ValueConverter, const Any*>;

  explicit List(UnsafeInit tag) : ObjectRef(tag) {}
  List() { data_ = make_object<ListObj>(); }
  List(const List&) = default;
  List(List&&) noexcept = default;
  List& operator=(const List&) = default;
  List& operator=(List&&) noexcept = default;
  /// Upcast, shares the object.
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  List(const List<U>& other) : ObjectRef(other) {}  // NOLINT(google-explicit-constructor)
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  List(List<U>&& other)  // NOLINT(google-explicit-constructor)
      : ObjectRef(std::move(other)) {}
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  List& operator=(const List<U>& other) {
    ObjectRef::operator=(other);
    return *this;
  }
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> && type_subsumes_v<T, U>>>
  List& operator=(List<U>&& other) {
    ObjectRef::operator=(std::move(other));
    return *this;
  }
  explicit List(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {
    TVM_FFI_ICHECK(data_ != nullptr) << "a List is never null";
  }
  template <typename IterType,
            typename = typename std::iterator_traits<IterType>::iterator_category>
  List(IterType first, IterType last) : List() {
    Append(first, last);
  }
  List(std::initializer_list<T> init) : List(init.begin(), init.end()) {}  // NOLINT
  List(const std::vector<T>& init) : List(init.begin(), init.end()) {}     // NOLINT
  explicit List(const size_t n, const T& val) {
    data_ = ListObj::CreateRepeated(static_cast<int64_t>(n), Any(val));
  }

  iterator begin() const { return iterator(data_ == nullptr ? nullptr : GetListObj()->begin()); }
  iterator end() const { return iterator(data_ == nullptr ? nullptr : GetListObj()->end()); }
  reverse_iterator rbegin() const {
    return reverse_iterator(empty() ? nullptr : GetListObj()->end() - 1);
  }
  reverse_iterator rend() const {
    return reverse_iterator(empty() ? nullptr : GetListObj()->begin() - 1);
  }

  T operator[](int64_t i) const { return ValueConverter::convert(Checked()->at(i)); }
  T at(int64_t i) const { return ValueConverter::convert(Checked()->at(i)); }
  size_t size() const { return data_ == nullptr ? 0 : GetListObj()->size(); }
  size_t capacity() const { return data_ == nullptr ? 0 : GetListObj()->capacity(); }
  bool empty() const { return size() == 0; }
  T front() const { return ValueConverter::convert(Checked()->front()); }
  T back() const { return ValueConverter::convert(Checked()->back()); }

  void push_back(const T& item) {
    Any cell(item);
    Grow(1)->PushUnchecked(std::move(cell));
  }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
  }
  void insert(iterator position, const T& val) {
    Any cell(val);
    const int64_t idx = position.base() - Checked()->begin();
    Grow(1)->insert(idx, std::move(cell));
  }
  template <typename IterType>
  void insert(iterator position, IterType first, IterType last) {
    static_assert(detail::is_valid_iterator_v<T, IterType>, "the iterator yields another type");
    if (first == last) return;
    const int64_t idx = position.base() - Checked()->begin();
    // Collected first: the source may be this list.
    Array<T> source(first, last);
    const ArrayObj* cells = source.GetArrayObj();
    Grow(static_cast<int64_t>(cells->size()))->insert(idx, cells->begin(), cells->end());
  }
  void pop_back() { Checked()->pop_back(); }
  void erase(iterator position) { erase(position, position + 1); }
  void erase(iterator first, iterator last) {
    ListObj* cells = Checked();
    cells->erase(first.base() - cells->begin(), last.base() - cells->begin());
  }
  /// New elements are empty cells: valid for nullable T only.
  void resize(int64_t n) {
    const int64_t extra = n - static_cast<int64_t>(size());
    Grow(extra > 0 ? extra : 0)->resize(n);
  }
  void reserve(int64_t n) { Checked()->Reserve(n); }
  void clear() { Checked()->clear(); }
  void Set(int64_t i, T value) { Checked()->SetItem(i, Any(std::move(value))); }
  /// Null only after a move.
  ListObj* GetListObj() const { return static_cast<ListObj*>(data_.get()); }

  /// Replaces the content for every handle; the range may point into this list.
  template <typename IterType>
  void Assign(IterType first, IterType last) {
    Array<T> source(first, last);
    clear();
    Append(source.begin(), source.end());
  }

 private:
  ListObj* Checked() const {
    if (TVM_FFI_PREDICT_FALSE(data_ == nullptr)) {
      TVM_FFI_THROW(IndexError) << "cannot use a moved-from list";
    }
    return GetListObj();
  }
  ListObj* Grow(int64_t extra) {
    ListObj* cells = Checked();
    cells->ReserveExtra(extra);
    return cells;
  }
  template <typename IterType>
  void Append(IterType first, IterType last) {
    static_assert(detail::is_valid_iterator_v<T, IterType>, "the iterator yields another type");
    if constexpr (detail::is_forward_iterator_v<IterType>) reserve(std::distance(first, last));
    for (; first != last; ++first) push_back(T(*first));
  }
};

template <typename T>
inline constexpr bool use_default_type_traits_v<List<T>> = false;

template <typename T>
struct TypeTraits<List<T>> : public detail::SeqTypeTraitsBase<TypeTraits<List<T>>, List<T>, T> {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIList;
  static constexpr int32_t kPrimaryTypeIndex = TypeIndex::kTVMFFIList;
  static constexpr int32_t kOtherTypeIndex = TypeIndex::kTVMFFIArray;
  static constexpr const char* kTypeName = "List";
  static constexpr const char* kStaticTypeKey = StaticTypeKey::kTVMFFIList;

  static std::string TypeSchema() { return detail::CompoundTypeSchema<T>(kStaticTypeKey); }
};

template <typename T, typename U>
inline constexpr bool type_subsumes_v<List<T>, List<U>, std::enable_if_t<!std::is_same_v<T, Any>>> =
    type_subsumes_v<T, U>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_LIST_H_
