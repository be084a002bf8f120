// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Standard library types as arguments and results.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/stl.h>

#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

using namespace tvm::ffi;

std::string Repr(const Any& value) { return std::string(ReprPrint(value)); }

TEST(Stl, Sequences) {
  Function sum = Function::FromTyped(
      [](std::vector<int64_t> v) { return std::accumulate(v.begin(), v.end(), int64_t{0}); });
  EXPECT_EQ(sum(Array<int>{1, 2, 3}).cast<int>(), 6);
  EXPECT_THROW(sum(Array<Any>{1, "x"}), Error);
  Function reversed = Function::FromTyped([](std::array<int64_t, 2> pair) {
    return std::vector<std::vector<int64_t>>{{pair[1]}, {pair[0]}};
  });
  EXPECT_EQ(Repr(reversed(Array<int>{1, 2})), "((2,), (1,))");
  EXPECT_THROW(reversed(Array<int>{1}), Error);
  Function swapped = Function::FromTyped([](std::tuple<int64_t, std::string> pair) {
    return std::make_tuple(std::get<1>(pair), std::get<0>(pair));
  });
  EXPECT_EQ(Repr(swapped(Array<Any>{1, "x"})), "(\"x\", 1)");
}

TEST(Stl, Mappings) {
  Function invert = Function::FromTyped([](std::map<std::string, int64_t> map) {
    std::unordered_map<int64_t, std::string> result;
    for (const auto& [key, value] : map) result[value] = key;
    return result;
  });
  EXPECT_EQ(Repr(invert(Map<Any, Any>{{"a", 1}})), "{1: \"a\"}");
  EXPECT_THROW(invert(Map<Any, Any>{{1, 1}}), Error);
}

TEST(Stl, OptionalVariantFunction) {
  Function next = Function::FromTyped([](std::optional<int64_t> v) -> std::optional<int64_t> {
    if (!v.has_value()) return std::nullopt;
    return *v + 1;
  });
  EXPECT_EQ(next(1).cast<int>(), 2);
  EXPECT_EQ(next(nullptr).type_index(), kTVMFFINone);
  Function index = Function::FromTyped(
      [](std::variant<int64_t, std::string> v) { return static_cast<int64_t>(v.index()); });
  EXPECT_EQ(index("x").cast<int>(), 1);
  EXPECT_EQ(index(3).cast<int>(), 0);
  Function apply = Function::FromTyped([](std::function<int64_t(int64_t)> f) { return f(20); });
  EXPECT_EQ(apply(Function::FromTyped([](int64_t v) { return v * 2; })).cast<int>(), 40);
}

}  // namespace
