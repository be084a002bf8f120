// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Sample calls of operator rows, for the generic tests.
#ifndef TVM_SRC_RELAX_OP_SAMPLES_H_
#define TVM_SRC_RELAX_OP_SAMPLES_H_

#include <tvm/ffi/function.h>
#include <tvm/relax/op_row.h>

#include <string>
#include <string_view>
#include <vector>

#include "relax/ir/utils.h"
#include "relax/op/lower_rules.h"
#include "relax/op/signature.h"

namespace tvm {
namespace relax {

/// One sample: operands (a tuple has several types) and attributes.
struct Sample {
  std::string text;
  std::vector<std::vector<Type>> operands;
  std::vector<bool> is_tuple;
  std::string attrs;
};

inline Type ParseSampleType(std::string_view s) {
  size_t open = s.find('[');
  std::string_view kind = s.substr(0, open);
  DataType dtype = kind == "bool"  ? DataType::Bool()
                   : kind == "i32" ? DataType::Int(32)
                   : kind == "i64" ? DataType::Int(64)
                   : kind == "i8"  ? DataType::Int(8)
                   : kind == "u8"  ? DataType::UInt(8)
                                   : DataType::Float(32);
  std::vector<int64_t> dims;
  std::string_view body = s.substr(open + 1, s.size() - open - 2);
  while (!body.empty()) {
    size_t comma = body.find(',');
    dims.push_back(std::stoll(std::string(body.substr(0, comma))));
    body = comma == std::string_view::npos ? std::string_view() : body.substr(comma + 1);
  }
  return TensorType(Dims(dims), dtype);
}

inline std::vector<Sample> SamplesOf(const OpRow& row) {
  std::vector<Sample> result;
  std::string_view text(row.samples);
  while (!text.empty()) {
    size_t bar = text.find('|');
    std::string_view one = text.substr(0, bar);
    text = bar == std::string_view::npos ? std::string_view() : text.substr(bar + 1);
    Sample s;
    s.text = std::string(one);
    size_t semi = one.find(';');
    std::string_view types = one.substr(0, semi);
    if (semi != std::string_view::npos) s.attrs = std::string(one.substr(semi + 1));
    bool in_tuple = false;
    size_t i = 0;
    while (i < types.size()) {
      char c = types[i];
      if (c == ' ') {
        ++i;
      } else if (c == '(') {
        in_tuple = true;
        s.operands.emplace_back();
        s.is_tuple.push_back(true);
        ++i;
      } else if (c == ')') {
        in_tuple = false;
        ++i;
      } else {
        size_t end = types.find(']', i) + 1;
        Type ty = ParseSampleType(types.substr(i, end - i));
        if (!in_tuple) {
          s.operands.emplace_back();
          s.is_tuple.push_back(false);
        }
        s.operands.back().push_back(ty);
        i = end;
      }
    }
    if (!s.operands.empty()) result.push_back(std::move(s));
  }
  return result;
}

/// The call of a sample on fresh variables.
inline Expr MakeSampleCall(const OpRow& row, const Sample& sample, Array<Var>* vars = nullptr) {
  Array<Expr> args;
  int n = 0;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    Array<Expr> fields;
    for (const Type& t : sample.operands[i]) {
      Var v("x" + std::to_string(n++), t);
      if (vars != nullptr) vars->push_back(v);
      fields.push_back(v);
    }
    args.push_back(sample.is_tuple[i] ? Expr(Tuple(fields)) : fields[0]);
  }
  OpSignature given = OpSignature::Parse("", sample.attrs);
  OpSignature sig = OpSignature::Parse(row.args, row.attrs);
  std::vector<ffi::Any> values;
  for (size_t i = 0; i < sig.args.size(); ++i) {
    values.push_back(i < args.size() ? ffi::Any(args[i]) : ffi::Any());
  }
  for (const AttrSpec& a : sig.attrs) {
    ffi::Any value = a.default_value;
    for (const AttrSpec& g : given.attrs) {
      if (g.name == a.name) value = g.default_value;
    }
    values.push_back(value);
  }
  ffi::Function make = ffi::Function::GetGlobalRequired(std::string("relax.op.") + row.name);
  std::vector<ffi::AnyView> views(values.begin(), values.end());
  ffi::Any result;
  make.CallPacked(views.data(), static_cast<int>(views.size()), &result);
  return result.cast<Expr>();
}

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_SAMPLES_H_
