// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/const_eval.h"

#include <tvm/relax/analysis.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "relax/ir/mapped_tensor.h"
#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/lower_rules.h"
#include "relax/transform/const_math.h"

namespace tvm {
namespace relax {

namespace {

using Shape = std::vector<int64_t>;

Shape ShapeOf(const ffi::Tensor& t) { return Shape(t.shape().begin(), t.shape().end()); }
Shape RowMajor(const Shape& shape) {
  Shape s(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) s[d - 1] = s[d] * shape[d];
  return s;
}
int64_t Count(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}
int64_t ElementBytes(const ffi::Tensor& t) { return (t.dtype().bits * t.dtype().lanes + 7) / 8; }
int Axis(int64_t axis, size_t n) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(n) : axis);
}

/// An element at an address of any alignment: weights may be views of a file.
template <typename T>
struct [[gnu::packed]] Loose {
  T value;
};

/// Extents and strides of a copy without dimensions of extent 1 and with neighbours joined that
/// are walked as one.
void Simplify(Shape* shape, Shape* strides) {
  Shape s, t;
  for (size_t d = 0; d < shape->size(); ++d) {
    const int64_t extent = (*shape)[d], stride = (*strides)[d];
    if (extent == 1) continue;
    if (!s.empty() && t.back() == stride * extent) {
      s.back() *= extent;
      t.back() = stride;
    } else {
      s.push_back(extent);
      t.push_back(stride);
    }
  }
  *shape = std::move(s);
  *strides = std::move(t);
}

/// Runs f(begin, end) over parts of [0, n) on all cores when there is enough to move.
void Split(int64_t n, int64_t bytes, const std::function<void(int64_t, int64_t)>& f) {
  constexpr int64_t kWorthThread = 1 << 20;
  const auto cores = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const int64_t parts = std::min({n, cores, std::max<int64_t>(1, bytes / kWorthThread)});
  std::vector<std::thread> threads;
  for (int64_t p = 1; p < parts; ++p) {
    threads.emplace_back(f, n * p / parts, n * (p + 1) / parts);
  }
  f(0, n / std::max<int64_t>(1, parts));
  for (std::thread& t : threads) t.join();
}

/// dst[r, c] = src[r * row + c * col] in squares that stay in the first-level cache, where one of
/// the two sides is always walked across cache lines.
template <typename T>
void CopyPlane(const Loose<T>* src, T* dst, int64_t rows, int64_t cols, int64_t row, int64_t col,
               int64_t dst_row) {
  constexpr int64_t kSquare = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare) {
    const int64_t r1 = std::min(rows, r0 + kSquare);
    for (int64_t c0 = 0; c0 < cols; c0 += kSquare) {
      const int64_t c1 = std::min(cols, c0 + kSquare);
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) dst[r * dst_row + c] = src[r * row + c * col].value;
      }
    }
  }
}

template <typename T>
void CopyRows(const char* src, char* dst, Shape shape, Shape strides) {
  Simplify(&shape, &strides);
  const auto* s = reinterpret_cast<const Loose<T>*>(src);
  T* d = reinterpret_cast<T*>(dst);
  if (shape.empty()) {
    *d = s->value;
    return;
  }
  const size_t n = shape.size();
  const int64_t total = Count(shape), inner = shape[n - 1], step = strides[n - 1];
  if (step == 1 || n == 1) {
    // Rows of the result are rows of the source.
    Split(total / inner, total * static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t base = 0, rest = r;
        for (size_t k = n - 1; k-- > 0; rest /= shape[k]) base += rest % shape[k] * strides[k];
        if (step == 1) {
          std::memcpy(d + r * inner, s + base, static_cast<size_t>(inner) * sizeof(T));
        } else {
          for (int64_t i = 0; i < inner; ++i) d[r * inner + i] = s[base + i * step].value;
        }
      }
    });
    return;
  }
  // A transposition of the innermost dimension and of the one that the source has innermost.
  size_t fast = 0;
  for (size_t k = 1; k + 1 < n; ++k) {
    if (strides[k] < strides[fast]) fast = k;
  }
  Shape dst_strides = RowMajor(shape);
  Shape outer_shape, outer_src, outer_dst;
  for (size_t k = 0; k + 1 < n; ++k) {
    if (k == fast) continue;
    outer_shape.push_back(shape[k]);
    outer_src.push_back(strides[k]);
    outer_dst.push_back(dst_strides[k]);
  }
  // Without outer dimensions the rows themselves are shared out.
  const bool plane_only = outer_shape.empty();
  const int64_t count = plane_only ? shape[fast] : Count(outer_shape);
  Split(count, total * static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
    if (plane_only) {
      CopyPlane<T>(s + begin * strides[fast], d + begin * dst_strides[fast], end - begin, inner,
                   strides[fast], step, dst_strides[fast]);
      return;
    }
    for (int64_t o = begin; o < end; ++o) {
      int64_t from = 0, to = 0, rest = o;
      for (size_t k = outer_shape.size(); k-- > 0; rest /= outer_shape[k]) {
        from += rest % outer_shape[k] * outer_src[k];
        to += rest % outer_shape[k] * outer_dst[k];
      }
      CopyPlane<T>(s + from, d + to, shape[fast], inner, strides[fast], step, dst_strides[fast]);
    }
  });
}

}  // namespace

ffi::Tensor CopyStrided(const ffi::Tensor& src, const Shape& shape, const Shape& strides,
                        int64_t offset) {
  ffi::Tensor out = NewHostTensor(shape, DataType(src.dtype()));
  int64_t bytes = ElementBytes(src);
  if (Count(shape) == 0) return out;
  const char* from = TensorBytes(src) + offset * bytes;
  char* to = TensorBytes(out);
  switch (bytes) {
    case 1:
      CopyRows<uint8_t>(from, to, shape, strides);
      break;
    case 2:
      CopyRows<uint16_t>(from, to, shape, strides);
      break;
    case 4:
      CopyRows<uint32_t>(from, to, shape, strides);
      break;
    case 8:
      CopyRows<uint64_t>(from, to, shape, strides);
      break;
    default:
      TVM_FFI_THROW(TypeError) << "constants of " << DataType(src.dtype())
                               << " cannot be moved while compiling";
  }
  ReleasePages(src);
  return out;
}

ffi::Tensor ReshapeTensor(const ffi::Tensor& src, const Shape& shape) {
  ffi::Tensor out = NewHostTensor(shape, DataType(src.dtype()));
  std::memcpy(TensorBytes(out), TensorBytes(src), TensorByteSize(src));
  ReleasePages(src);
  return out;
}

ffi::Tensor PackPanels(const ffi::Tensor& src, int64_t k, int64_t n, int64_t stride_k,
                       int64_t stride_n, int64_t panel, int64_t groups) {
  const int64_t each = (n + panel - 1) / panel, panels = groups * each, bytes = ElementBytes(src);
  ffi::Tensor out = NewHostTensor({panels, k, panel}, DataType(src.dtype()));
  const char* from = TensorBytes(src);
  char* to = TensorBytes(out);
  auto pack = [&]<typename T>(T) {
    const auto* s = reinterpret_cast<const Loose<T>*>(from);
    T* d = reinterpret_cast<T*>(to);
    Split(panels, TensorByteSize(out), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t at = p % each * panel, width = std::min(panel, n - at);
        T* first = d + p * k * panel;
        const Loose<T>* column = s + (p / each * n + at) * stride_n;
        if (width < panel) std::memset(first, 0, static_cast<size_t>(k * panel) * sizeof(T));
        if (stride_n == 1) {
          for (int64_t r = 0; r < k; ++r) {
            std::memcpy(first + r * panel, column + r * stride_k,
                        static_cast<size_t>(width) * sizeof(T));
          }
        } else {
          CopyPlane<T>(column, first, k, width, stride_k, stride_n, panel);
        }
      }
    });
  };
  switch (bytes) {
    case 1:
      pack(uint8_t{});
      break;
    case 2:
      pack(uint16_t{});
      break;
    case 4:
      pack(uint32_t{});
      break;
    default:
      pack(uint64_t{});
      break;
  }
  ReleasePages(src);
  return out;
}

namespace {

/// Constant operand i, compact in host memory, or null.
const ffi::Tensor* ConstArg(const Call& call, size_t i) {
  const auto* c = i < call->args.size() ? call->args[i].as<ConstantNode>() : nullptr;
  if (c == nullptr || c->data.device().device_type != kDLCPU || !c->data.IsContiguous()) {
    return nullptr;
  }
  return &c->data;
}

std::optional<Shape> OutShape(const Type& ty) {
  const auto* t = ty.as<TensorTypeNode>();
  if (t == nullptr) return std::nullopt;
  auto s = t->GetStaticShape();
  if (!s.has_value()) return std::nullopt;
  return Shape(s.value().begin(), s.value().end());
}

Optional<Expr> Reshape(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  auto shape = OutShape(call->ty);
  if (x == nullptr || !shape || Count(*shape) != x->numel()) return std::nullopt;
  return Constant(ReshapeTensor(*x, *shape));
}

Optional<Expr> Permute(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  if (x == nullptr) return std::nullopt;
  const OptInts& axes = AttrsOf<PermuteDimsAttrs>(call.get())->axes;
  Shape in = ShapeOf(*x), strides = RowMajor(in), shape, out_strides;
  for (size_t d = 0; d < in.size(); ++d) {
    int a =
        axes.has_value() ? Axis(axes.value()[d], in.size()) : static_cast<int>(in.size() - 1 - d);
    shape.push_back(in[a]);
    out_strides.push_back(strides[a]);
  }
  return Constant(CopyStrided(*x, shape, out_strides, 0));
}

/// Operand as a list of literal integers.
std::optional<Shape> IntList(const Expr& e) {
  Shape r;
  if (const auto* s = e.as<ShapeExprNode>()) return AsInts(s->values);
  const auto* t = e.as<TupleNode>();
  if (t == nullptr) return std::nullopt;
  for (const Expr& f : t->fields) {
    const auto* imm = f.as<IntImmNode>();
    if (imm == nullptr) return std::nullopt;
    r.push_back(imm->value);
  }
  return r;
}

Optional<Expr> Slice(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  if (x == nullptr) return std::nullopt;
  auto axes = IntList(call->args[1]), begin = IntList(call->args[2]), end = IntList(call->args[3]);
  if (!axes || !begin || !end) return std::nullopt;
  Shape steps(axes->size(), 1);
  if (call->args.size() > 4) {
    auto given = IntList(call->args[4]);
    if (!given) return std::nullopt;
    steps = *given;
  }
  Shape shape = ShapeOf(*x), strides = RowMajor(shape);
  int64_t offset = 0;
  for (size_t k = 0; k < axes->size(); ++k) {
    int d = Axis((*axes)[k], shape.size());
    SliceBounds b = ResolveSlice(x->shape()[d], (*begin)[k], (*end)[k], steps[k]);
    offset += b.begin * strides[d];
    shape[d] = b.length;
    strides[d] *= b.stride;
  }
  if (Count(shape) == 0) offset = 0;
  return Constant(CopyStrided(*x, shape, strides, offset));
}

Optional<Expr> Broadcast(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  auto shape = OutShape(call->ty);
  if (x == nullptr || !shape || Count(*shape) > std::max<int64_t>(1024, 2 * x->numel())) {
    return std::nullopt;
  }
  Shape in = ShapeOf(*x), own = RowMajor(in), strides(shape->size(), 0);
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] != 1) strides[shape->size() - in.size() + d] = own[d];
  }
  return Constant(CopyStrided(*x, *shape, strides, 0));
}

Optional<Expr> Concat(const Call& call) {
  const auto* tuple = call->args[0].as<TupleNode>();
  auto shape = OutShape(call->ty);
  if (tuple == nullptr || !shape) return std::nullopt;
  std::vector<ffi::Tensor> parts;
  for (const Expr& f : tuple->fields) {
    const auto* c = f.as<ConstantNode>();
    if (c == nullptr || !c->data.IsContiguous()) return std::nullopt;
    parts.push_back(c->data);
  }
  const OptInt& attr = AttrsOf<ConcatAttrs>(call.get())->axis;
  int axis = attr.has_value() ? Axis(attr.value(), shape->size()) : 0;
  ffi::Tensor out = NewHostTensor(*shape, DataType(parts[0].dtype()));
  int64_t outer = 1, row = ElementBytes(out);
  for (int d = 0; d < axis; ++d) outer *= (*shape)[d];
  for (size_t d = axis; d < shape->size(); ++d) row *= (*shape)[d];
  int64_t at = 0;
  for (const ffi::Tensor& t : parts) {
    int64_t bytes = outer == 0 ? 0 : TensorByteSize(t) / outer;
    for (int64_t o = 0; o < outer; ++o) {
      std::memcpy(TensorBytes(out) + o * row + at, TensorBytes(t) + o * bytes, bytes);
    }
    at += bytes;
  }
  return Constant(out);
}

Optional<Expr> Stack(const Call& call) {
  const auto* tuple = call->args[0].as<TupleNode>();
  auto shape = OutShape(call->ty);
  if (tuple == nullptr || !shape) return std::nullopt;
  int axis = Axis(AttrsOf<StackAttrs>(call.get())->axis, shape->size());
  std::vector<ffi::Tensor> parts;
  for (const Expr& f : tuple->fields) {
    const auto* c = f.as<ConstantNode>();
    if (c == nullptr || !c->data.IsContiguous()) return std::nullopt;
    parts.push_back(c->data);
  }
  ffi::Tensor out = NewHostTensor(*shape, DataType(parts[0].dtype()));
  int64_t outer = 1, inner = ElementBytes(out), n = static_cast<int64_t>(parts.size());
  for (int d = 0; d < axis; ++d) outer *= (*shape)[d];
  for (size_t d = axis + 1; d < shape->size(); ++d) inner *= (*shape)[d];
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t o = 0; o < outer; ++o) {
      std::memcpy(TensorBytes(out) + (o * n + k) * inner, TensorBytes(parts[k]) + o * inner, inner);
    }
  }
  return Constant(out);
}

Optional<Expr> Split(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  const auto* tuple = call->ty.as<TupleTypeNode>();
  if (x == nullptr || tuple == nullptr) return std::nullopt;
  int axis = Axis(AttrsOf<SplitAttrs>(call.get())->axis, x->ndim());
  Shape strides = RowMajor(ShapeOf(*x));
  Array<Expr> fields;
  int64_t begin = 0;
  for (const Type& f : tuple->fields) {
    auto shape = OutShape(f);
    if (!shape) return std::nullopt;
    fields.push_back(Constant(CopyStrided(*x, *shape, strides, begin * strides[axis])));
    begin += (*shape)[axis];
  }
  return Tuple(fields);
}

Optional<Expr> Take(const Call& call) {
  const ffi::Tensor* x = ConstArg(call, 0);
  const ffi::Tensor* idx = ConstArg(call, 1);
  auto shape = OutShape(call->ty);
  if (x == nullptr || idx == nullptr || !shape || Count(*shape) == 0) return std::nullopt;
  const auto* attrs = AttrsOf<TakeAttrs>(call.get());
  int axis = attrs->axis.has_value() ? Axis(attrs->axis.value(), x->ndim()) : 0;
  int64_t extent = x->shape()[axis], outer = 1, inner = ElementBytes(*x);
  for (int d = 0; d < axis; ++d) outer *= x->shape()[d];
  for (int d = axis + 1; d < x->ndim(); ++d) inner *= x->shape()[d];
  DataType it(idx->dtype());
  ffi::Tensor out = NewHostTensor(*shape, DataType(x->dtype()));
  char* dst = TensorBytes(out);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < idx->numel(); ++k) {
      int64_t i = LoadScalarAsInt(TensorBytes(*idx) + k * it.bytes(), it);
      if (attrs->mode == "wrap") {
        i = ((i % extent) + extent) % extent;
      } else {
        if (attrs->mode == "fast" && i < 0) i += extent;
        i = std::max<int64_t>(0, std::min(i, extent - 1));
      }
      std::memcpy(dst, TensorBytes(*x) + (o * extent + i) * inner, inner);
      dst += inner;
    }
  }
  return Constant(out);
}

Optional<Expr> Fill(const Call& call, double value) {
  auto shape = OutShape(call->ty);
  if (!shape || Count(*shape) > 1024) return std::nullopt;
  DataType dtype = call->ty.as<TensorTypeNode>()->ElementType();
  ffi::Tensor out = NewHostTensor(*shape, dtype);
  for (int64_t i = 0; i < Count(*shape); ++i) {
    StoreScalar(TensorBytes(out) + i * dtype.bytes(), dtype, value);
  }
  return Constant(out);
}
Optional<Expr> Ones(const Call& call) { return Fill(call, 1); }
Optional<Expr> Zeros(const Call& call) { return Fill(call, 0); }
Optional<Expr> Full(const Call& call) {
  const ffi::Tensor* v = ConstArg(call, 1);
  if (v == nullptr) return std::nullopt;
  DataType t(v->dtype());
  if (t.is_int() && t.bits() == 64) {
    int64_t i = LoadScalarAsInt(TensorBytes(*v), t);
    if (std::abs(i) > (int64_t{1} << 53)) return std::nullopt;
  }
  return Fill(call, LoadScalarAsDouble(TensorBytes(*v), t));
}
Optional<Expr> Arange(const Call& call) {
  auto shape = OutShape(call->ty);
  const auto* start = call->args[0].as<IntImmNode>();
  const auto* step = call->args[2].as<IntImmNode>();
  if (!shape || start == nullptr || step == nullptr || Count(*shape) > 65536) return std::nullopt;
  DataType t = call->ty.as<TensorTypeNode>()->ElementType();
  ffi::Tensor out = NewHostTensor(*shape, t);
  for (int64_t i = 0; i < Count(*shape); ++i) {
    StoreScalar(TensorBytes(out) + i * t.bytes(), t, start->value + i * step->value);
  }
  return Constant(out);
}
Optional<Expr> ShapeToTensor(const Call& call) {
  const auto* s = call->args[0].as<ShapeExprNode>();
  auto dims = s == nullptr ? std::nullopt : AsInts(s->values);
  if (!dims) return std::nullopt;
  ffi::Tensor out = NewHostTensor({static_cast<int64_t>(dims->size())}, DataType::Int(64));
  if (!dims->empty()) std::memcpy(TensorBytes(out), dims->data(), dims->size() * 8);
  return Constant(out);
}

using Rule = Optional<Expr> (*)(const Call&);
const std::unordered_map<std::string_view, Rule>& MoveRules() {
  static const auto& rules = *new std::unordered_map<std::string_view, Rule>{
      {"relax.reshape", Reshape},
      {"relax.flatten", Reshape},
      {"relax.expand_dims", Reshape},
      {"relax.squeeze", Reshape},
      {"relax.nn.batch_flatten", Reshape},
      {"relax.permute_dims", Permute},
      {"relax.strided_slice", Slice},
      {"relax.broadcast_to", Broadcast},
      {"relax.concat", Concat},
      {"relax.split", Split},
      {"relax.stack", Stack},
      {"relax.take", Take},
      {"relax.ones", Ones},
      {"relax.zeros", Zeros},
      {"relax.ones_like", Ones},
      {"relax.zeros_like", Zeros},
      {"relax.full", Full},
      {"relax.arange", Arange},
      {"relax.shape_to_tensor", ShapeToTensor},
  };
  return rules;
}

}  // namespace

bool IsHostStep(const Call& call, DataType from, DataType to) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return false;
  const std::string_view name(op->name.data(), op->name.size());
  if (name == "relax.permute_dims" || name == "relax.reshape" || name == "relax.expand_dims") {
    return to.lanes() == 1 && (to.bits() == 8 || to.bits() == 16 || to.bits() == 32);
  }
  const DataType single = DataType::Float(32);
  if (name == "relax.astype") return from == single && to.is_bfloat16();
  return name == "relax.multiply" && from == single && to == single;
}

Optional<Expr> EvalOnHost(const Call& call) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return std::nullopt;
  std::string_view name(op->name.data(), op->name.size());
  auto it = MoveRules().find(name);
  if (it != MoveRules().end()) return it->second(call);
  return EvalElementwise(call, name);
}

}  // namespace relax
}  // namespace tvm
