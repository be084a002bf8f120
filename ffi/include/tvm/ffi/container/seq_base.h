// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Node and conversion rules common to Array and List.
#ifndef TVM_FFI_CONTAINER_SEQ_BASE_H_
#define TVM_FFI_CONTAINER_SEQ_BASE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {

/// Sequence of Any slots behind a TVMFFISeqCell. Positions are checked (IndexError); room is
/// not: whoever inserts has made capacity.
///
/// Any may be moved by copying its bits, so gaps open and close with memmove.
class SeqBaseObj : public Object, protected TVMFFISeqCell {
 public:
  SeqBaseObj() : TVMFFISeqCell{nullptr, 0, 0, nullptr} {}
  ~SeqBaseObj() noexcept {
    DestroyRange(MutableBegin(), MutableEnd());
    if (data_deleter != nullptr) data_deleter(data);
  }

  size_t size() const { return static_cast<size_t>(TVMFFISeqCell::size); }
  size_t capacity() const { return static_cast<size_t>(TVMFFISeqCell::capacity); }
  bool empty() const { return TVMFFISeqCell::size == 0; }
  const Any& at(int64_t i) const { return operator[](i); }
  const Any& operator[](int64_t i) const {
    CheckIndex(i);
    return begin()[i];
  }
  const Any& front() const { return operator[](0); }
  const Any& back() const { return operator[](TVMFFISeqCell::size - 1); }
  const Any* begin() const { return static_cast<const Any*>(data); }
  const Any* end() const { return begin() + TVMFFISeqCell::size; }

  void clear() {
    Any* first = MutableBegin();
    Any* last = MutableEnd();
    TVMFFISeqCell::size = 0;
    DestroyRange(first, last);
  }
  void SetItem(int64_t i, Any item) {
    CheckIndex(i);
    MutableBegin()[i] = std::move(item);
  }
  /// `i` is known to be valid.
  void SetItemAfterCheck(int64_t i, Any item) { MutableBegin()[i] = std::move(item); }
  void pop_back() {
    if (empty()) TVM_FFI_THROW(IndexError) << "cannot pop from an empty sequence";
    (MutableBegin() + --TVMFFISeqCell::size)->~Any();
  }
  void erase(int64_t idx) { erase(idx, idx + 1); }
  void erase(int64_t first, int64_t last) {
    CheckRange(first, last);
    DestroyRange(MutableBegin() + first, MutableBegin() + last);
    MoveBits(first, last, TVMFFISeqCell::size - last);
    TVMFFISeqCell::size -= last - first;
  }
  void insert(int64_t idx, Any item) {
    CheckRange(idx, TVMFFISeqCell::size);
    MoveBits(idx + 1, idx, TVMFFISeqCell::size - idx);
    ::new (MutableBegin() + idx) Any(std::move(item));
    ++TVMFFISeqCell::size;
  }
  /// The range must not alias this sequence.
  template <typename IterType>
  void insert(int64_t idx, IterType first, IterType last) {
    CheckRange(idx, TVMFFISeqCell::size);
    const int64_t count = std::distance(first, last);
    const int64_t tail = TVMFFISeqCell::size - idx;
    MoveBits(idx + count, idx, tail);
    // The tail counts as absent until the gap is filled: a throwing conversion must not leave
    // uninitialised slots inside `size`.
    TVMFFISeqCell::size = idx;
    try {
      for (; first != last; ++first) PushUnchecked(Any(*first));
    } catch (...) {
      MoveBits(TVMFFISeqCell::size, idx + count, tail);
      TVMFFISeqCell::size += tail;
      throw;
    }
    TVMFFISeqCell::size += tail;
  }
  void Reverse() {
    Any* first = MutableBegin();
    for (Any* last = MutableEnd(); first < last && first < --last; ++first) first->swap(*last);
  }
  /// New slots are None. Capacity must suffice.
  void resize(int64_t n) {
    if (n < 0) TVM_FFI_THROW(ValueError) << "cannot resize a sequence to " << n << " elements";
    while (TVMFFISeqCell::size > n) pop_back();
    while (TVMFFISeqCell::size < n) PushUnchecked(Any());
  }
  static constexpr int64_t kInitCapacity = 4;
  /// Capacity for `needed` elements: doubles, so that appending is linear in total.
  static int64_t GrownCapacity(int64_t capacity, int64_t needed) {
    int64_t grown = capacity * 2 > kInitCapacity ? capacity * 2 : kInitCapacity;
    return grown > needed ? grown : needed;
  }
  /// Appends into existing capacity.
  TVM_FFI_INLINE void PushUnchecked(Any item) {
    ::new (MutableEnd()) Any(std::move(item));
    ++TVMFFISeqCell::size;
  }

 protected:
  Any* MutableBegin() const { return static_cast<Any*>(data); }
  Any* MutableEnd() const { return MutableBegin() + TVMFFISeqCell::size; }

  static void DestroyRange(Any* first, Any* last) {
    while (last != first) (--last)->~Any();
  }
  /// Moves `count` slots by their bits; source slots become raw memory.
  void MoveBits(int64_t dst, int64_t src, int64_t count) {
    if (count != 0 && dst != src) {
      std::memmove(static_cast<void*>(MutableBegin() + dst), MutableBegin() + src,
                   static_cast<size_t>(count) * sizeof(Any));
    }
  }
  void CheckIndex(int64_t i) const {
    if (TVM_FFI_PREDICT_FALSE(i < 0 || i >= TVMFFISeqCell::size)) ThrowOutOfBounds(i);
  }
  void CheckRange(int64_t first, int64_t last) const {
    if (first < 0 || first > TVMFFISeqCell::size) ThrowOutOfBounds(first);
    if (last < first || last > TVMFFISeqCell::size) ThrowOutOfBounds(last - 1);
  }
  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE void ThrowOutOfBounds(int64_t i) const {
    TVM_FFI_THROW(IndexError) << "Index " << i << " out of bounds " << TVMFFISeqCell::size;
    TVM_FFI_UNREACHABLE();
  }
};

namespace detail {

/// Conversion rules of Array<T> and List<T>: own kind shared when every element matches, else a
/// converted copy from either kind. Derived offers kPrimaryTypeIndex, kOtherTypeIndex, kTypeName.
template <typename Derived, typename SeqRef, typename T>
struct SeqTypeTraitsBase : public ObjectRefTypeTraitsBase<SeqRef> {
  using Base = ObjectRefTypeTraitsBase<SeqRef>;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index != Derived::kPrimaryTypeIndex) return false;
    if constexpr (!std::is_same_v<T, Any>) {
      for (const Any& cell : *Cells(src)) {
        if (!AnyUnsafe::CheckAnyStrict<T>(cell)) return false;
      }
    }
    return true;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (!IsSequence(src)) return TypeTraitsBase::GetMismatchTypeInfo(src);
    if constexpr (!std::is_same_v<T, Any>) {
      const SeqBaseObj* cells = Cells(src);
      for (size_t i = 0; i < cells->size(); ++i) {
        const Any& cell = cells->begin()[i];
        if (AnyUnsafe::CheckAnyStrict<T>(cell) || TryCastElement<T>(cell).has_value()) continue;
        return std::string(Derived::kTypeName) + "[index " + std::to_string(i) + ": " +
               AnyUnsafe::GetMismatchTypeInfo<T>(cell) + "]";
      }
    }
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }
  static std::optional<SeqRef> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    if (!IsSequence(src)) return std::nullopt;
    SeqRef result;
    const SeqBaseObj* cells = Cells(src);
    result.reserve(static_cast<int64_t>(cells->size()));
    // By position: a conversion may run user code that changes a List.
    for (size_t i = 0; i < cells->size(); ++i) {
      std::optional<T> element = TryCastElement<T>(cells->begin()[i]);
      if (!element.has_value()) return std::nullopt;
      result.push_back(*std::move(element));
    }
    return result;
  }
  static std::string TypeStr() { return CompoundTypeStr<T>(Derived::kTypeName); }

 private:
  static bool IsSequence(const TVMFFIAny* src) {
    return src->type_index == Derived::kPrimaryTypeIndex ||
           src->type_index == Derived::kOtherTypeIndex;
  }
  static const SeqBaseObj* Cells(const TVMFFIAny* src) {
    return ObjectUnsafe::RawObjectPtrFromUnowned<SeqBaseObj>(src->v_obj);
  }
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_SEQ_BASE_H_
