// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Iterator adapters and type predicates shared by the containers.
#ifndef TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_
#define TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>

#include <iterator>
#include <string>
#include <type_traits>

namespace tvm {
namespace ffi {
namespace detail {

/// Walks `TIter` and yields `Converter::convert(*iter)` by value.
template <typename Converter, typename TIter>
class IterAdapter {
 public:
  using difference_type = typename std::iterator_traits<TIter>::difference_type;
  using value_type = typename Converter::ResultType;
  using pointer = const value_type*;
  using reference = const value_type;
  using iterator_category = typename std::iterator_traits<TIter>::iterator_category;

  IterAdapter() = default;
  explicit IterAdapter(TIter iter) : iter_(iter) {}
  IterAdapter& operator++() {
    ++iter_;
    return *this;
  }
  IterAdapter& operator--() {
    --iter_;
    return *this;
  }
  IterAdapter operator++(int) { return IterAdapter(iter_++); }
  IterAdapter operator--(int) { return IterAdapter(iter_--); }
  IterAdapter operator+(difference_type offset) const { return IterAdapter(iter_ + offset); }
  IterAdapter operator-(difference_type offset) const { return IterAdapter(iter_ - offset); }
  IterAdapter& operator+=(difference_type offset) {
    iter_ += offset;
    return *this;
  }
  IterAdapter& operator-=(difference_type offset) {
    iter_ -= offset;
    return *this;
  }
  difference_type operator-(const IterAdapter& rhs) const { return iter_ - rhs.iter_; }
  bool operator==(const IterAdapter& other) const { return iter_ == other.iter_; }
  bool operator!=(const IterAdapter& other) const { return iter_ != other.iter_; }
  bool operator<(const IterAdapter& other) const { return iter_ < other.iter_; }
  reference operator*() const { return Converter::convert(*iter_); }
  reference operator[](difference_type i) const { return Converter::convert(iter_[i]); }
  TIter base() const { return iter_; }

 private:
  TIter iter_{};
};

/// The same backwards: starts at the last element, ends before the first.
template <typename Converter, typename TIter>
class ReverseIterAdapter {
 public:
  using difference_type = typename std::iterator_traits<TIter>::difference_type;
  using value_type = typename Converter::ResultType;
  using pointer = const value_type*;
  using reference = const value_type;
  using iterator_category = typename std::iterator_traits<TIter>::iterator_category;

  ReverseIterAdapter() = default;
  explicit ReverseIterAdapter(TIter iter) : iter_(iter) {}
  ReverseIterAdapter& operator++() {
    --iter_;
    return *this;
  }
  ReverseIterAdapter& operator--() {
    ++iter_;
    return *this;
  }
  ReverseIterAdapter operator++(int) { return ReverseIterAdapter(iter_--); }
  ReverseIterAdapter operator--(int) { return ReverseIterAdapter(iter_++); }
  ReverseIterAdapter operator+(difference_type offset) const {
    return ReverseIterAdapter(iter_ - offset);
  }
  difference_type operator-(const ReverseIterAdapter& rhs) const { return rhs.iter_ - iter_; }
  bool operator==(const ReverseIterAdapter& other) const { return iter_ == other.iter_; }
  bool operator!=(const ReverseIterAdapter& other) const { return iter_ != other.iter_; }
  reference operator*() const { return Converter::convert(*iter_); }

 private:
  TIter iter_{};
};

template <typename... T>
inline constexpr bool all_storage_enabled_v = (storage_enabled_v<T> && ...);
template <typename... T>
inline constexpr bool all_object_ref_v = (std::is_base_of_v<ObjectRef, T> && ...);

/// `name<A, B>`.
template <typename... V>
std::string ContainerTypeStr(const char* name) {
  return CompoundTypeStr<V...>(name);
}

/// `convert` of an adapter over cells known to hold T.
template <typename T>
struct ElementConverter {
  using ResultType = T;
  TVM_FFI_INLINE static T convert(const Any& cell) {
    return AnyUnsafe::CopyFromAnyViewAfterCheck<T>(cell);
  }
};

/// Converts one cell; Any takes everything.
template <typename T>
TVM_FFI_INLINE std::optional<T> TryCastElement(const Any& cell) {
  return cell.try_cast<T>();
}

template <typename Iter>
inline constexpr bool is_forward_iterator_v =
    std::is_base_of_v<std::forward_iterator_tag,
                      typename std::iterator_traits<Iter>::iterator_category>;

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_
