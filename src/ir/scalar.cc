// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar.h>
#include <tvm/ir/scalar_op.h>

#include <optional>
#include <string>

namespace tvm::tirx {

namespace {

/// All operand checks name the node that is being built.
void RequireDefined(const ffi::ObjectRef& value, const char* node, const char* field) {
  TVM_FFI_CHECK(value.defined(), ValueError) << node << "." << field << " is not defined";
}

void RequireSameType(const PrimExpr& a, const PrimExpr& b) {
  TVM_FFI_CHECK(a.dtype() == b.dtype(), TypeError)
      << "mismatched types. " << a.dtype() << " vs. " << b.dtype();
}

void RequireBool(const PrimExpr& value, const char* node) {
  TVM_FFI_CHECK(value.dtype().is_predicate_dtype(), TypeError)
      << node << " expects a boolean operand, found dtype " << value.dtype();
}

/// dtype with other lanes, scalable or fixed as `like` is.
DataType WithLanesOf(DataType element, DataType like) {
  if (like.is_scalable_vector()) {
    return element.with_scalable_vscale_factor(like.vscale_factor());
  }
  return element.with_lanes(like.lanes());
}

/// k for the expressions vscale(), k * vscale() and vscale() * k.
std::optional<int64_t> VScaleFactor(const PrimExpr& lanes) {
  auto is_vscale = [](const Expr& expr) {
    const auto* call = expr.as<CallNode>();
    return call != nullptr && call->op.same_as(builtin_scalar::vscale());
  };
  if (is_vscale(lanes)) return 1;
  const auto* mul = lanes.as<MulNode>();
  if (mul == nullptr) return std::nullopt;
  if (is_vscale(mul->a) && as_const_int(mul->b)) return *as_const_int(mul->b);
  if (is_vscale(mul->b) && as_const_int(mul->a)) return *as_const_int(mul->a);
  return std::nullopt;
}

/// Vector dtype of `element` for a lane count expression.
DataType VectorType(DataType element, const PrimExpr& lanes, const char* node) {
  if (const int64_t* n = as_const_int(lanes)) {
    TVM_FFI_CHECK(*n > 1 && *n <= 32767, ValueError)
        << node << " needs between 2 and 32767 lanes, found " << *n;
    return element.with_lanes(static_cast<int>(*n));
  }
  std::optional<int64_t> factor = VScaleFactor(lanes);
  TVM_FFI_CHECK(factor.has_value() && *factor > 0, ValueError)
      << node << " needs a lane count that is a constant or a multiple of vscale(), found "
      << Expr(lanes);
  return element.with_scalable_vscale_factor(static_cast<int>(*factor));
}

PrimExpr LanesAsInt32(const PrimExpr& lanes) {
  if (const int64_t* n = as_const_int(lanes)) return IntImm(DataType::Int(32), *n);
  return lanes;
}

enum class ResultKind { kOperand, kBool };

template <typename Node>
ffi::ObjectPtr<Node> MakeBinary(PrimExpr a, PrimExpr b, Span span, const char* name,
                                ResultKind result) {
  RequireDefined(a, name, "a");
  RequireDefined(b, name, "b");
  RequireSameType(a, b);
  auto node = ffi::make_object<Node>();
  node->ty = result == ResultKind::kOperand
                 ? a->ty
                 : Type(PrimType(WithLanesOf(DataType::Bool(), a.dtype())));
  node->a = std::move(a);
  node->b = std::move(b);
  node->span = std::move(span);
  return node;
}

}  // namespace

StringImm::StringImm(ffi::String value, Span span) {
  static auto* text_type = new PointerType(PrimType(DataType::Int(8)));
  auto node = ffi::make_object<StringImmNode>();
  node->ty = *text_type;
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

Cast::Cast(DataType dtype, PrimExpr value, Span span) {
  RequireDefined(value, "Cast", "value");
  DataType from = value.dtype();
  TVM_FFI_CHECK(from.get_lanes_or_vscale_factor() == dtype.get_lanes_or_vscale_factor() &&
                    from.is_scalable_vector() == dtype.is_scalable_vector(),
                TypeError)
      << "Cast keeps the number of lanes, found " << from << " to " << dtype;
  auto node = ffi::make_object<CastNode>();
  node->ty = PrimType(dtype);
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

#define TVM_DEFINE_ARITH(Name)                                                          \
  Name::Name(PrimExpr a, PrimExpr b, Span span)                                         \
      : Name(MakeBinary<Name##Node>(std::move(a), std::move(b), std::move(span), #Name, \
                                    ResultKind::kOperand)) {}
#define TVM_DEFINE_COMPARE(Name)                                                        \
  Name::Name(PrimExpr a, PrimExpr b, Span span)                                         \
      : Name(MakeBinary<Name##Node>(std::move(a), std::move(b), std::move(span), #Name, \
                                    ResultKind::kBool)) {}
TVM_DEFINE_ARITH(Add)
TVM_DEFINE_ARITH(Sub)
TVM_DEFINE_ARITH(Mul)
TVM_DEFINE_ARITH(Div)
TVM_DEFINE_ARITH(Mod)
TVM_DEFINE_ARITH(FloorDiv)
TVM_DEFINE_ARITH(FloorMod)
TVM_DEFINE_ARITH(Min)
TVM_DEFINE_ARITH(Max)
TVM_DEFINE_COMPARE(EQ)
TVM_DEFINE_COMPARE(NE)
TVM_DEFINE_COMPARE(LT)
TVM_DEFINE_COMPARE(LE)
TVM_DEFINE_COMPARE(GT)
TVM_DEFINE_COMPARE(GE)
#undef TVM_DEFINE_ARITH
#undef TVM_DEFINE_COMPARE

And::And(PrimExpr a, PrimExpr b, Span span)
    : And(MakeBinary<AndNode>(std::move(a), std::move(b), std::move(span), "And",
                              ResultKind::kBool)) {
  RequireBool(get()->a, "And");
}

Or::Or(PrimExpr a, PrimExpr b, Span span)
    : Or(MakeBinary<OrNode>(std::move(a), std::move(b), std::move(span), "Or", ResultKind::kBool)) {
  RequireBool(get()->a, "Or");
}

Not::Not(PrimExpr a, Span span) {
  RequireDefined(a, "Not", "a");
  RequireBool(a, "Not");
  auto node = ffi::make_object<NotNode>();
  node->ty = PrimType(WithLanesOf(DataType::Bool(), a.dtype()));
  node->a = std::move(a);
  node->span = std::move(span);
  data_ = std::move(node);
}

Select::Select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value, Span span) {
  RequireDefined(condition, "Select", "condition");
  RequireDefined(true_value, "Select", "true_value");
  RequireDefined(false_value, "Select", "false_value");
  RequireBool(condition, "Select");
  DataType cond = condition.dtype(), value = true_value.dtype();
  TVM_FFI_CHECK(
      cond.is_scalar() || cond.get_lanes_or_vscale_factor() == value.get_lanes_or_vscale_factor(),
      TypeError)
      << "Select needs a scalar condition or one lane a value lane, found " << cond << " for "
      << value;
  TVM_FFI_CHECK(value == false_value.dtype(), TypeError)
      << "mismatched types. " << value << " vs. " << false_value.dtype();
  auto node = ffi::make_object<SelectNode>();
  node->ty = true_value->ty;
  node->condition = std::move(condition);
  node->true_value = std::move(true_value);
  node->false_value = std::move(false_value);
  node->span = std::move(span);
  data_ = std::move(node);
}

Ramp::Ramp(PrimExpr base, PrimExpr stride, PrimExpr lanes, Span span) {
  RequireDefined(base, "Ramp", "base");
  RequireDefined(stride, "Ramp", "stride");
  RequireDefined(lanes, "Ramp", "lanes");
  TVM_FFI_CHECK(base.dtype().is_scalar() && stride.dtype().is_scalar(), TypeError)
      << "Ramp needs a scalar base and stride, found " << base.dtype() << " and " << stride.dtype();
  if (stride.dtype() != base.dtype()) stride = cast(base.dtype(), std::move(stride));
  auto node = ffi::make_object<RampNode>();
  node->ty = PrimType(VectorType(base.dtype(), lanes, "Ramp"));
  node->base = std::move(base);
  node->stride = std::move(stride);
  node->lanes = LanesAsInt32(lanes);
  node->span = std::move(span);
  data_ = std::move(node);
}

Broadcast::Broadcast(PrimExpr value, PrimExpr lanes, Span span) {
  RequireDefined(value, "Broadcast", "value");
  RequireDefined(lanes, "Broadcast", "lanes");
  TVM_FFI_CHECK(value.dtype().is_scalar(), TypeError)
      << "Broadcast needs a scalar value, found " << value.dtype();
  auto node = ffi::make_object<BroadcastNode>();
  node->ty = PrimType(VectorType(value.dtype(), lanes, "Broadcast"));
  node->value = std::move(value);
  node->lanes = LanesAsInt32(lanes);
  node->span = std::move(span);
  data_ = std::move(node);
}

Let::Let(Var var, Expr value, Expr body, Span span) {
  RequireDefined(var, "Let", "var");
  RequireDefined(value, "Let", "value");
  RequireDefined(body, "Let", "body");
  TVM_FFI_CHECK(var->dtype() == value->dtype(), TypeError)
      << "Let binds a variable of dtype " << var->dtype() << " to a value of dtype "
      << value->dtype();
  auto node = ffi::make_object<LetNode>();
  node->ty = body->ty;
  node->var = std::move(var);
  node->value = std::move(value);
  node->body = std::move(body);
  node->span = std::move(span);
  data_ = std::move(node);
}

Shuffle::Shuffle(ffi::Array<PrimExpr> vectors, ffi::Array<PrimExpr> indices, Span span) {
  TVM_FFI_CHECK(!vectors.empty() && !indices.empty(), ValueError)
      << "Shuffle needs at least one vector and one index";
  DataType element = vectors[0].dtype().element_of();
  int total = 0;
  for (const PrimExpr& vector : vectors) {
    RequireDefined(vector, "Shuffle", "vectors");
    TVM_FFI_CHECK(vector.dtype().element_of() == element, TypeError)
        << "mismatched types. " << vector.dtype().element_of() << " vs. " << element;
    total += vector.dtype().lanes();
  }
  for (const PrimExpr& index : indices) {
    const int64_t* lane = as_const_int(index);
    TVM_FFI_CHECK(lane == nullptr || (*lane >= 0 && *lane < total), IndexError)
        << "Shuffle index " << *lane << " is out of the " << total << " lanes";
  }
  auto node = ffi::make_object<ShuffleNode>();
  node->ty = PrimType(element.with_lanes(static_cast<int>(indices.size())));
  node->vectors = std::move(vectors);
  node->indices = std::move(indices);
  node->span = std::move(span);
  data_ = std::move(node);
}

PrimExpr Shuffle::Concat(ffi::Array<PrimExpr> vectors, Span span) {
  TVM_FFI_CHECK(!vectors.empty(), ValueError) << "Shuffle::Concat needs at least one vector";
  if (vectors.size() == 1) return vectors[0];
  int total = 0;
  for (const PrimExpr& vector : vectors) total += vector.dtype().lanes();
  ffi::Array<PrimExpr> indices;
  for (int i = 0; i < total; ++i) indices.push_back(IntImm(DataType::Int(32), i));
  return Shuffle(std::move(vectors), std::move(indices), std::move(span));
}

PrimExpr Shuffle::ExtractElement(PrimExpr vector, int index, Span span) {
  return Shuffle({std::move(vector)}, {IntImm(DataType::Int(32), index)}, std::move(span));
}

const char* IterVarTypeToString(IterVarType type) {
  static constexpr const char* kNames[] = {"DataPar",    "ThreadIndex",  "CommReduce",
                                           "Ordered",    "Opaque",       "Unrolled",
                                           "Vectorized", "Parallelized", "Tensorized"};
  int index = static_cast<int>(type);
  return index >= 0 && index <= 8 ? kNames[index] : "Unknown";
}

IterVar::IterVar(Range dom, Var var, IterVarType iter_type, ffi::String thread_tag, Span span) {
  RequireDefined(var, "IterVar", "var");
  if (dom.defined()) {
    DataType extent = dom->extent.dtype();
    TVM_FFI_CHECK(extent.is_int() || extent.is_uint(), TypeError)
        << "IterVar needs an integer domain, found extent of dtype " << extent;
    TVM_FFI_CHECK(var->dtype() == extent, TypeError)
        << "IterVar domain has dtype " << extent << " but its variable " << var->dtype();
  }
  auto node = ffi::make_object<IterVarNode>();
  node->dom = std::move(dom);
  node->var = std::move(var);
  node->iter_type = iter_type;
  node->thread_tag = std::move(thread_tag);
  node->span = std::move(span);
  data_ = std::move(node);
}

CommReducer::CommReducer(ffi::Array<Var> lhs, ffi::Array<Var> rhs, ffi::Array<PrimExpr> result,
                         ffi::Array<PrimExpr> identity_element, Span span) {
  size_t n = result.size();
  TVM_FFI_CHECK(lhs.size() == n && rhs.size() == n && identity_element.size() == n, ValueError)
      << "CommReducer needs as many lhs, rhs and identity elements as results (" << n << "), found "
      << lhs.size() << ", " << rhs.size() << ", " << identity_element.size();
  for (size_t i = 0; i < n; ++i) {
    DataType dtype = result[i].dtype();
    TVM_FFI_CHECK(lhs[i]->dtype() == dtype && rhs[i]->dtype() == dtype &&
                      identity_element[i].dtype() == dtype,
                  TypeError)
        << "CommReducer value " << i << " has dtype " << dtype << " but lhs " << lhs[i]->dtype()
        << ", rhs " << rhs[i]->dtype() << ", identity " << identity_element[i].dtype();
  }
  auto node = ffi::make_object<CommReducerNode>();
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->result = std::move(result);
  node->identity_element = std::move(identity_element);
  node->span = std::move(span);
  data_ = std::move(node);
}

ffi::Array<PrimExpr> CommReducerNode::operator()(ffi::Array<PrimExpr> a,
                                                 ffi::Array<PrimExpr> b) const {
  TVM_FFI_CHECK(a.size() == lhs.size() && b.size() == rhs.size(), ValueError)
      << "reducer of " << lhs.size() << " values applied to " << a.size() << " and " << b.size();
  ffi::Map<Var, PrimExpr> values;
  for (size_t i = 0; i < a.size(); ++i) {
    values.Set(lhs[i], a[i]);
    values.Set(rhs[i], b[i]);
  }
  ffi::Array<PrimExpr> combined;
  for (const PrimExpr& value : result) combined.push_back(Substitute(value, values));
  return combined;
}

Reduce::Reduce(CommReducer combiner, ffi::Array<PrimExpr> source, ffi::Array<IterVar> axis,
               PrimExpr condition, int value_index, ffi::Array<PrimExpr> init, Span span) {
  RequireDefined(combiner, "Reduce", "combiner");
  for (const IterVar& iter : axis) {
    TVM_FFI_CHECK(iter.defined() && iter->iter_type == kCommReduce, ValueError)
        << "Can only take axis created by reduce_axis";
  }
  if (!condition.defined()) condition = const_true();
  RequireBool(condition, "Reduce");
  TVM_FFI_CHECK(source.size() == combiner->result.size(), ValueError)
      << "Reduce has " << source.size() << " sources for a combiner of " << combiner->result.size()
      << " values";
  for (const PrimExpr& value : source) RequireDefined(value, "Reduce", "source");
  TVM_FFI_CHECK(value_index >= 0 && static_cast<size_t>(value_index) < source.size(), IndexError)
      << "Reduce value_index " << value_index << " is out of " << source.size() << " values";
  if (!init.empty()) {
    TVM_FFI_CHECK(init.size() == source.size(), ValueError)
        << "Number of inits should match number of exprs";
    for (const PrimExpr& value : init) {
      bool allowed =
          value.as<ProducerLoadNode>() || value.as<IntImmNode>() || value.as<FloatImmNode>();
      TVM_FFI_CHECK(allowed, ValueError)
          << "init can only be an IntImm, FloatImm or ProducerLoad, but received " << Expr(value)
          << " of type " << value.GetTypeKey();
    }
  }
  auto node = ffi::make_object<ReduceNode>();
  node->ty = source[value_index]->ty;
  node->combiner = std::move(combiner);
  node->source = std::move(source);
  node->init = std::move(init);
  node->axis = std::move(axis);
  node->condition = std::move(condition);
  node->value_index = value_index;
  node->span = std::move(span);
  data_ = std::move(node);
}

ProducerLoad::ProducerLoad(DataProducer producer, ffi::Array<PrimExpr> indices, Span span) {
  RequireDefined(producer, "ProducerLoad", "producer");
  auto node = ffi::make_object<ProducerLoadNode>();
  node->ty = PrimType(producer->dtype);
  node->producer = std::move(producer);
  node->indices = std::move(indices);
  node->span = std::move(span);
  data_ = std::move(node);
}

}  // namespace tvm::tirx
