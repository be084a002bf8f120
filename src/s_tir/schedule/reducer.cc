// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/reducer.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/stmt_functor.h>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// Unifies a pattern with an expression: pattern variables stand for whatever makes both equal.
class Unifier {
 public:
  std::unordered_map<const VarNode*, PrimExpr> bound;
  std::unordered_map<const VarNode*, bool> open;

  bool Match(const PrimExpr& pattern, const PrimExpr& expr) {
    if (const auto* var = pattern.as<VarNode>()) {
      if (auto it = bound.find(var); it != bound.end()) return ExprDeepEqual()(it->second, expr);
      if (open.count(var) == 0) return pattern.same_as(expr);
      bound.emplace(var, expr);
      return true;
    }
    if (pattern->type_index() != expr->type_index() || pattern.dtype() != expr.dtype()) {
      return false;
    }
#define TVM_S_TIR_MATCH_BINARY(Name, Commutes)          \
  if (const auto* p = pattern.as<Name##Node>()) {       \
    const auto* e = expr.as<Name##Node>();              \
    return MatchPair(p->a, p->b, e->a, e->b, Commutes); \
  }
    TVM_S_TIR_MATCH_BINARY(Add, true)
    TVM_S_TIR_MATCH_BINARY(Mul, true)
    TVM_S_TIR_MATCH_BINARY(Min, true)
    TVM_S_TIR_MATCH_BINARY(Max, true)
    TVM_S_TIR_MATCH_BINARY(And, true)
    TVM_S_TIR_MATCH_BINARY(Or, true)
    TVM_S_TIR_MATCH_BINARY(EQ, true)
    TVM_S_TIR_MATCH_BINARY(NE, true)
    TVM_S_TIR_MATCH_BINARY(Sub, false)
    TVM_S_TIR_MATCH_BINARY(Div, false)
    TVM_S_TIR_MATCH_BINARY(LT, false)
    TVM_S_TIR_MATCH_BINARY(LE, false)
    TVM_S_TIR_MATCH_BINARY(GT, false)
    TVM_S_TIR_MATCH_BINARY(GE, false)
#undef TVM_S_TIR_MATCH_BINARY
    if (const auto* p = pattern.as<NotNode>()) return Match(p->a, expr.as<NotNode>()->a);
    if (const auto* p = pattern.as<CastNode>()) return Match(p->value, expr.as<CastNode>()->value);
    if (const auto* p = pattern.as<SelectNode>()) {
      const auto* e = expr.as<SelectNode>();
      return Match(p->condition, e->condition) && Match(p->true_value, e->true_value) &&
             Match(p->false_value, e->false_value);
    }
    if (const auto* p = pattern.as<CallNode>()) {
      const auto* e = expr.as<CallNode>();
      if (!p->op.same_as(e->op) || p->args.size() != e->args.size()) return false;
      for (size_t i = 0; i < p->args.size(); ++i) {
        if (!IsPrimExpr(p->args[i]) || !IsPrimExpr(e->args[i]) ||
            !Match(PrimExpr(p->args[i]), PrimExpr(e->args[i]))) {
          return false;
        }
      }
      return true;
    }
    return ExprDeepEqual()(pattern, expr);
  }

 private:
  bool MatchPair(const PrimExpr& pa, const PrimExpr& pb, const PrimExpr& a, const PrimExpr& b,
                 bool commutes) {
    const auto saved = bound;
    if (Match(pa, a) && Match(pb, b)) return true;
    bound = saved;
    if (commutes && Match(pa, b) && Match(pb, a)) return true;
    bound = saved;
    return false;
  }
};

struct Entry {
  size_t num_values;
  ReducerFactory make;
};

struct Table {
  std::mutex mutex;
  std::vector<Entry> entries;
};

CommReducer MakeReducer(
    const std::vector<DataType>& dtypes, const ffi::Array<PrimExpr>& identity,
    const std::function<ffi::Array<PrimExpr>(const std::vector<Var>&, const std::vector<Var>&)>&
        combine) {
  std::vector<Var> x, y;
  for (DataType dtype : dtypes) {
    x.emplace_back("x", dtype);
    y.emplace_back("y", dtype);
  }
  return CommReducer(ffi::Array<Var>(x.begin(), x.end()), ffi::Array<Var>(y.begin(), y.end()),
                     combine(x, y), identity);
}

using Binary = PrimExpr (*)(const PrimExpr&, const PrimExpr&);

void AddScalar(std::vector<Entry>* entries, Binary op, PrimExpr (*identity)(DataType),
               bool (*applies)(DataType)) {
  entries->push_back({1, [=](const std::vector<DataType>& dtypes) -> std::optional<CommReducer> {
                        if (!applies(dtypes[0])) return std::nullopt;
                        return MakeReducer(dtypes, {identity(dtypes[0])}, [&](auto& x, auto& y) {
                          return ffi::Array<PrimExpr>{op(x[0], y[0])};
                        });
                      }});
}

bool IsNumber(DataType dtype) { return !dtype.is_bool() && !dtype.is_handle(); }
bool IsBool(DataType dtype) { return dtype.is_bool(); }

/// The index and value of the best element: of equal ones the first, or whichever comes, as the
/// program says.
void AddArg(std::vector<Entry>* entries, bool largest, bool tie_break, bool value_first,
            bool or_equal) {
  entries->push_back({2, [=](const std::vector<DataType>& dtypes) -> std::optional<CommReducer> {
                        const size_t v = value_first ? 0 : 1, i = 1 - v;
                        if (!IsNumber(dtypes[v]) || !dtypes[i].is_int()) return std::nullopt;
                        ffi::Array<PrimExpr> identity{make_zero(dtypes[0]), make_zero(dtypes[1])};
                        identity.Set(i, make_const(dtypes[i], -1));
                        identity.Set(v, largest ? min_value(dtypes[v]) : max_value(dtypes[v]));
                        return MakeReducer(dtypes, identity, [&](auto& x, auto& y) {
                          PrimExpr wins = largest ? (or_equal ? x[v] >= y[v] : x[v] > y[v])
                                                  : (or_equal ? x[v] <= y[v] : x[v] < y[v]);
                          PrimExpr index_wins = wins;
                          if (tie_break) index_wins = wins || (x[v] == y[v] && x[i] < y[i]);
                          ffi::Array<PrimExpr> result{x[0], x[1]};
                          result.Set(v, Select(wins, x[v], y[v]));
                          result.Set(i, Select(index_wins, x[i], y[i]));
                          return result;
                        });
                      }});
}

Table& Reducers() {
  static Table* table = [] {
    auto* result = new Table();
    std::vector<Entry>* entries = &result->entries;
    auto zero = [](DataType t) { return make_zero(t); };
    auto one = [](DataType t) { return make_const(t, 1); };
    AddScalar(entries, [](const PrimExpr& a, const PrimExpr& b) { return a + b; }, zero, IsNumber);
    AddScalar(entries, [](const PrimExpr& a, const PrimExpr& b) { return a * b; }, one, IsNumber);
    AddScalar(
        entries, [](const PrimExpr& a, const PrimExpr& b) { return PrimExpr(Min(a, b)); },
        [](DataType t) { return max_value(t); }, IsNumber);
    AddScalar(
        entries, [](const PrimExpr& a, const PrimExpr& b) { return PrimExpr(Max(a, b)); },
        [](DataType t) { return min_value(t); }, IsNumber);
    AddScalar(
        entries, [](const PrimExpr& a, const PrimExpr& b) { return PrimExpr(And(a, b)); },
        [](DataType) { return const_true(); }, IsBool);
    AddScalar(
        entries, [](const PrimExpr& a, const PrimExpr& b) { return PrimExpr(Or(a, b)); },
        [](DataType) { return const_false(); }, IsBool);
    // Pairs of sums, as for mean and variance.
    entries->push_back(
        {2, [](const std::vector<DataType>& dtypes) -> std::optional<CommReducer> {
           if (!IsNumber(dtypes[0]) || !IsNumber(dtypes[1])) return std::nullopt;
           return MakeReducer(
               dtypes, {make_zero(dtypes[0]), make_zero(dtypes[1])},
               [](auto& x, auto& y) { return ffi::Array<PrimExpr>{x[0] + y[0], x[1] + y[1]}; });
         }});
    for (int bits = 0; bits < 16; ++bits) AddArg(entries, bits & 1, bits & 2, bits & 4, bits & 8);
    return result;
  }();
  return *table;
}

/// Identities that mean the same: the lowest float or minus infinity, say.
bool SameIdentity(const PrimExpr& expected, const PrimExpr& found) {
  if (ExprDeepEqual()(expected, found)) return true;
  DataType dtype = expected.dtype();
  if (dtype != found.dtype() || !dtype.is_float()) return false;
  ExprDeepEqual equal;
  const PrimExpr highest = infinity(dtype), lowest = neg(infinity(dtype));
  return (equal(expected, min_value(dtype)) && equal(found, lowest)) ||
         (equal(expected, max_value(dtype)) && equal(found, highest));
}

/// Stores of a statement list, with names bound before put back in.
bool CollectStores(const Stmt& stmt, std::vector<BufferStore>* stores) {
  ffi::Array<Stmt> seq;
  if (const auto* op = stmt.as<SeqStmtNode>()) {
    seq = op->seq;
  } else {
    seq.push_back(stmt);
  }
  ffi::Map<Var, PrimExpr> names;
  for (const Stmt& part : seq) {
    if (const auto* bind = part.as<BindNode>()) {
      // All values are computed before the first store, so they may be put in its place.
      if (!stores->empty() || !IsPrimExpr(bind->value)) return false;
      names.Set(bind->var, Substitute(PrimExpr(bind->value), names));
    } else if (auto store = part.as<BufferStore>()) {
      if ((*store)->predicate.has_value()) return false;
      BufferStore copy = *store;
      copy.CopyOnWrite()->value = Substitute((*store)->value, names);
      stores->push_back(copy);
    } else {
      return false;
    }
  }
  // Without the names a later store would see what an earlier one wrote.
  return stores->size() == 1 || !names.empty();
}

bool SameIndices(const ffi::Array<PrimExpr>& a, const ffi::Array<PrimExpr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!ExprDeepEqual()(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

void RegisterReducer(size_t num_values, ReducerFactory make) {
  Table& table = Reducers();
  std::lock_guard<std::mutex> lock(table.mutex);
  table.entries.push_back({num_values, std::move(make)});
}

std::optional<ReductionStep> MatchReduction(const Stmt& init, const Stmt& body) {
  std::vector<BufferStore> inits, updates;
  ffi::Array<Stmt> init_stmts;
  if (const auto* seq = init.as<SeqStmtNode>()) {
    init_stmts = seq->seq;
  } else {
    init_stmts.push_back(init);
  }
  for (const Stmt& stmt : init_stmts) {
    auto store = stmt.as<BufferStore>();
    if (!store.has_value()) return std::nullopt;
    inits.push_back(*store);
  }
  if (!CollectStores(body, &updates) || inits.size() != updates.size()) return std::nullopt;
  ReductionStep step;
  std::vector<DataType> dtypes;
  ffi::Array<PrimExpr> values;
  step.indices = updates[0]->indices;
  for (size_t i = 0; i < updates.size(); ++i) {
    if (!SameIndices(updates[i]->indices, step.indices)) return std::nullopt;
    const BufferStore* found = nullptr;
    for (const BufferStore& store : inits) {
      if (store->buffer.same_as(updates[i]->buffer)) found = &store;
    }
    if (found == nullptr || !SameIndices((*found)->indices, step.indices)) return std::nullopt;
    step.buffers.push_back(updates[i]->buffer);
    step.init.push_back((*found)->value);
    values.push_back(updates[i]->value);
    dtypes.push_back(updates[i]->buffer.dtype());
  }
  std::vector<Entry> entries;
  {
    Table& table = Reducers();
    std::lock_guard<std::mutex> lock(table.mutex);
    entries = table.entries;
  }
  for (const Entry& entry : entries) {
    if (entry.num_values != values.size()) continue;
    std::optional<CommReducer> reducer = entry.make(dtypes);
    if (!reducer.has_value()) continue;
    Unifier unifier;
    bool ok = true;
    for (size_t i = 0; i < values.size(); ++i) {
      unifier.bound.emplace((*reducer)->lhs[i].get(), BufferLoad(step.buffers[i], step.indices));
      unifier.open.emplace((*reducer)->rhs[i].get(), true);
      ok = ok && SameIdentity((*reducer)->identity_element[i], step.init[i]);
    }
    for (size_t i = 0; ok && i < values.size(); ++i) {
      ok = unifier.Match((*reducer)->result[i], values[i]);
    }
    for (size_t i = 0; ok && i < values.size(); ++i) {
      ok = unifier.bound.count((*reducer)->rhs[i].get()) != 0;
    }
    if (!ok) continue;
    step.combiner = *reducer;
    for (const Var& rhs : (*reducer)->rhs) step.sources.push_back(unifier.bound.at(rhs.get()));
    // A source that reads the accumulators makes it something else than a reduction.
    bool reads_own = false;
    for (const PrimExpr& source : step.sources) {
      PostOrderVisitExpr(source, [&](const Expr& e) {
        const auto* load = e.as<BufferLoadNode>();
        for (const Buffer& buffer : step.buffers) {
          reads_own = reads_own || (load != nullptr && load->buffer.same_as(buffer));
        }
      });
    }
    if (!reads_own) return step;
  }
  return std::nullopt;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def(
      "s_tir.schedule.RegisterReducer", [](int n, ffi::Function combine, ffi::Function identity) {
        TVM_FFI_CHECK(n >= 1, ValueError) << "a reducer has at least one value, but n is " << n;
        RegisterReducer(
            static_cast<size_t>(n),
            [combine, identity](const std::vector<DataType>& dtypes) -> std::optional<CommReducer> {
              ffi::Array<ffi::String> names;
              for (DataType dtype : dtypes) names.push_back(dtype.ToString());
              return MakeReducer(dtypes, identity(names).cast<ffi::Array<PrimExpr>>(),
                                 [&](auto& x, auto& y) {
                                   return combine(ffi::Array<Var>(x.begin(), x.end()),
                                                  ffi::Array<Var>(y.begin(), y.end()))
                                       .template cast<ffi::Array<PrimExpr>>();
                                 });
            });
      });
}

}  // namespace s_tir
}  // namespace tvm
