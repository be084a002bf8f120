// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Shape`, an immutable list of extents, and `ShapeView`, its borrowed form.
#ifndef TVM_FFI_CONTAINER_SHAPE_H_
#define TVM_FFI_CONTAINER_SHAPE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/type_traits.h>

#include <initializer_list>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

inline int64_t ExtentProduct(const int64_t* data, size_t size) {
  int64_t product = 1;
  for (size_t i = 0; i < size; ++i) product *= data[i];
  return product;
}

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowShapeIndex(size_t idx,
                                                                             size_t size) {
  TVM_FFI_THROW(IndexError) << "indexing " << idx << " on a Shape of size " << size;
  TVM_FFI_UNREACHABLE();
}

}  // namespace detail

/// Borrowed extents.
class ShapeView {
 public:
  ShapeView() = default;
  ShapeView(const ShapeView&) = default;
  ShapeView(ShapeView&&) = default;
  ShapeView& operator=(const ShapeView&) = default;
  ShapeView& operator=(ShapeView&&) = default;
  ShapeView(const int64_t* data, size_t size) : cell_{data, size} {}
  /// Valid within the full expression only.
  ShapeView(const std::initializer_list<int64_t>& other)  // NOLINT
      : cell_{other.begin(), other.size()} {}

  const int64_t* data() const { return cell_.data; }
  size_t size() const { return cell_.size; }
  /// 1 for no extents.
  int64_t Product() const { return detail::ExtentProduct(data(), size()); }
  int64_t operator[](size_t idx) const { return cell_.data[idx]; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size(); }
  bool empty() const { return size() == 0; }
  int64_t front() const { return at(0); }
  int64_t back() const { return at(size() - 1); }
  int64_t at(size_t idx) const {
    if (idx >= size()) detail::ThrowShapeIndex(idx, size());
    return cell_.data[idx];
  }

 private:
  TVMFFIShapeCell cell_{nullptr, 0};
};

class ShapeObj : public Object, public TVMFFIShapeCell {
 public:
  using index_type = int64_t;

  ShapeObj() : TVMFFIShapeCell{nullptr, 0} {}
  int64_t Product() const { return detail::ExtentProduct(data, size); }

  static constexpr uint32_t _type_index = TypeIndex::kTVMFFIShape;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIShape, ShapeObj, Object);
};

namespace detail {

/// Shape object with room for `length` extents, which the caller writes.
inline ObjectPtr<ShapeObj> MakeEmptyShape(size_t length, int64_t** mutable_data) {
  ObjectPtr<ShapeObj> object = make_inplace_array_object<ShapeObj, int64_t>(length);
  auto* extents =
      reinterpret_cast<int64_t*>(reinterpret_cast<char*>(object.get()) + sizeof(ShapeObj));
  object->data = extents;
  object->size = length;
  *mutable_data = extents;
  return object;
}

template <typename IterType>
inline ObjectPtr<ShapeObj> MakeInplaceShape(IterType begin, IterType end) {
  int64_t* extents;
  ObjectPtr<ShapeObj> object =
      MakeEmptyShape(static_cast<size_t>(std::distance(begin, end)), &extents);
  for (; begin != end; ++begin) *extents++ = static_cast<int64_t>(*begin);
  return object;
}

/// Row-major strides in elements.
inline void FillStridesFromShape(ShapeView shape, int64_t* out_strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    out_strides[i] = stride;
    stride *= shape[i];
  }
}

inline ObjectPtr<ShapeObj> MakeStridesFromShape(ShapeView shape) {
  int64_t* strides;
  ObjectPtr<ShapeObj> object = MakeEmptyShape(shape.size(), &strides);
  FillStridesFromShape(shape, strides);
  return object;
}

}  // namespace detail

class Shape : public ObjectRef {
 public:
  using index_type = ShapeObj::index_type;

  Shape() : Shape(ShapeView()) {}
  template <typename IterType,
            typename = typename std::iterator_traits<IterType>::iterator_category>
  Shape(IterType begin, IterType end) : Shape(detail::MakeInplaceShape(begin, end)) {}
  Shape(Array<int64_t> shape) : Shape(shape.begin(), shape.end()) {}                  // NOLINT
  Shape(std::initializer_list<int64_t> shape) : Shape(shape.begin(), shape.end()) {}  // NOLINT
  Shape(std::vector<int64_t> other) : Shape(other.begin(), other.end()) {}            // NOLINT
  Shape(ShapeView other) : Shape(other.begin(), other.end()) {}                       // NOLINT

  /// Row-major strides of a compact tensor.
  static Shape StridesFromShape(ShapeView shape) {
    return Shape(detail::MakeStridesFromShape(shape));
  }
  operator ShapeView() const { return ShapeView(data(), size()); }  // NOLINT

  const int64_t* data() const { return get()->data; }
  size_t size() const { return get()->size; }
  int64_t operator[](size_t idx) const { return at(idx); }
  int64_t at(size_t idx) const {
    if (idx >= size()) detail::ThrowShapeIndex(idx, size());
    return data()[idx];
  }
  bool empty() const { return size() == 0; }
  int64_t front() const { return at(0); }
  int64_t back() const { return at(size() - 1); }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size(); }
  /// 1 for no extents.
  int64_t Product() const { return get()->Product(); }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Shape, ObjectRef, ShapeObj);

 private:
  explicit Shape(ObjectPtr<ShapeObj> object) : ObjectRef(ObjectPtr<Object>(std::move(object))) {}
};

inline std::ostream& operator<<(std::ostream& os, const Shape& shape) {
  os << '[';
  for (size_t i = 0; i < shape.size(); ++i) os << (i == 0 ? "" : ", ") << shape[i];
  return os << ']';
}

template <>
inline constexpr bool use_default_type_traits_v<Shape> = false;

template <>
struct TypeTraits<Shape> : public ObjectRefWithFallbackTraitsBase<Shape, Array<int64_t>> {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIShape;
  TVM_FFI_INLINE static Shape ConvertFallbackValue(Array<int64_t> src) {
    return Shape(std::move(src));
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_SHAPE_H_
