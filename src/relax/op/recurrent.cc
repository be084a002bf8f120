// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The steps of a recurrence whose input products were taken beforehand.
///
/// `nn.lstm` becomes one matrix product over all steps and `nn.lstm_steps`, so that only what
/// depends on the step before is left in the loop over time.
#include <tvm/tirx/stmt.h>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

constexpr int64_t kLanes = 16;

/// gates [T, B, D, 4H]; recurrent [D, H, 4H]; h0, c0 [D, B, H].
Type InferLSTMSteps(const Call& call, const BlockBuilder&) {
  const auto* g = TensorArg(call, 0);
  const auto* r = TensorArg(call, 1);
  CheckRank(call, 0, g, 4);
  CheckRank(call, 1, r, 3);
  CheckFloat(call, g);
  DataType dtype = g->ElementType();
  auto gd = g->GetShape(), rd = r->GetShape();
  if (!gd.has_value() || !rd.has_value()) {
    return TupleType({TensorType(dtype, 4), TensorType(dtype, 3), TensorType(dtype, 3)});
  }
  PrimExpr t = gd.value()[0], b = gd.value()[1], d = gd.value()[2], h = rd.value()[1];
  Type state = TensorType({d, b, h}, dtype, g->vdevice);
  return TupleType({TensorType({t, d, b, h}, dtype, g->vdevice), state, state});
}

/// A loop over [0, extent) as blocks of vectors when it divides, `body` for one position.
tirx::Stmt VectorOver(const PrimExpr& extent, const char* name,
                      const std::function<tirx::Stmt(PrimExpr)>& body) {
  DataType i64 = DataType::Int(64);
  auto n = AsInt(extent);
  if (!n || *n % kLanes != 0) {
    Var i(name, i64);
    return tirx::For(i, Int64(0), extent, tirx::ForKind::kSerial, body(PrimExpr(i)));
  }
  Var o(std::string(name) + "o", i64), v(std::string(name) + "v", i64);
  PrimExpr at = PrimExpr(o) * Int64(kLanes) + PrimExpr(v);
  tirx::Stmt inner = tirx::For(v, Int64(0), Int64(kLanes), tirx::ForKind::kVectorized, body(at));
  return tirx::For(o, Int64(0), Int64(*n / kLanes), tirx::ForKind::kSerial, inner);
}

void LowerLSTMSteps(LowerArgs& a) {
  const te::Tensor &gates = a[0], &rec = a[1], &h0 = a[2], &c0 = a[3];
  DataType t = gates.dtype(), i64 = DataType::Int(64);
  PrimExpr T = gates.shape()[0], B = gates.shape()[1], D = gates.shape()[2];
  PrimExpr H = rec.shape()[1], G = gates.shape()[3];
  const String& direction = a.Attrs<LSTMAttrs>().direction;
  auto buffer = [&](const Array<PrimExpr>& shape, const char* name) {
    return tirx::decl_buffer(shape, t, name);
  };
  tirx::Buffer gb = buffer(gates.shape(), "gates"), rb = buffer(rec.shape(), "rec");
  tirx::Buffer h0b = buffer(h0.shape(), "h0"), c0b = buffer(c0.shape(), "c0");
  tirx::Buffer y = buffer({T, D, B, H}, "y"), h = buffer({D, B, H}, "h"),
               c = buffer({D, B, H}, "c");
  tirx::Buffer g = buffer({G}, "g");
  auto load = [](const tirx::Buffer& b, Array<PrimExpr> at) -> PrimExpr {
    return tirx::BufferLoad(b, at);
  };
  auto loop = [&](const Var& v, const PrimExpr& n, const tirx::Stmt& body) {
    return tirx::For(v, Int64(0), n, tirx::ForKind::kSerial, body);
  };
  Var d("d", i64), s("s", i64), b("bi", i64), k("k", i64), b2("bj", i64), d2("dj", i64);

  tirx::Stmt init =
      loop(d2, D,
           loop(b2, B, VectorOver(H, "j", [&](PrimExpr j) -> tirx::Stmt {
                  return tirx::SeqStmt({tirx::BufferStore(h, load(h0b, {d2, b2, j}), {d2, b2, j}),
                                        tirx::BufferStore(c, load(c0b, {d2, b2, j}), {d2, b2, j})});
                })));
  PrimExpr backward = direction == "reverse"         ? const_true()
                      : direction == "bidirectional" ? tvm::equal(PrimExpr(d), Int64(1))
                                                     : const_false();
  PrimExpr time = tvm::select(backward, T - Int64(1) - PrimExpr(s), PrimExpr(s));
  tirx::Stmt start = VectorOver(G, "p", [&](PrimExpr j) -> tirx::Stmt {
    return tirx::BufferStore(g, load(gb, {time, b, d, j}), {j});
  });
  tirx::Stmt product = loop(k, H, VectorOver(G, "q", [&](PrimExpr j) -> tirx::Stmt {
                              return tirx::BufferStore(
                                  g, load(g, {j}) + load(h, {d, b, k}) * load(rb, {d, k, j}), {j});
                            }));
  tirx::Stmt update = VectorOver(H, "u", [&](PrimExpr j) -> tirx::Stmt {
    auto gate = [&](int n) { return load(g, {H * Int64(n) + j}); };
    PrimExpr cell =
        tvm::sigmoid(gate(2)) * load(c, {d, b, j}) + tvm::sigmoid(gate(0)) * tvm::tanh(gate(3));
    return tirx::SeqStmt(
        {tirx::BufferStore(c, cell, {d, b, j}),
         tirx::BufferStore(h, tvm::sigmoid(gate(1)) * tvm::tanh(load(c, {d, b, j})), {d, b, j}),
         tirx::BufferStore(y, load(h, {d, b, j}), {time, d, b, j})});
  });
  tirx::Stmt steps = loop(d, D, loop(s, T, loop(b, B, tirx::SeqStmt({start, product, update}))));
  tirx::Stmt body = tirx::SeqStmt({tirx::AllocBuffer(g), init, steps});
  te::ExternOp op("lstm_steps", "recurrence", {}, {gates, rec, h0, c0}, {gb, rb, h0b, c0b},
                  {y, h, c}, body);
  a.out = {op.output(0), op.output(1), op.output(2)};
}

}  // namespace

static const OpRow kRecurrentRows[] = {
    {.name = "nn.lstm_steps",
     .args = "gates, recurrent, h0, c0",
     .attrs = "direction='forward', linear_before_reset=False",
     .attrs_key = "relax.attrs.LSTMAttrs",
     .infer = InferLSTMSteps,
     .lower = LowerLSTMSteps,
     .samples = "f32[3,2,1,32] f32[1,8,32] f32[1,2,8] f32[1,2,8] | "
                "f32[3,2,2,64] f32[2,16,64] f32[2,2,16] f32[2,2,16]; direction='bidirectional'",
     .doc = "Steps of an LSTM: gates [T, B, D, 4H] hold the input products and biases."},
};
TVM_RELAX_REGISTER_OPS(kRecurrentRows)

}  // namespace relax
}  // namespace tvm
