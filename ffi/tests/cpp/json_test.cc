// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// JSON text, JSON graphs and base64.
#include <gtest/gtest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class ItemObj : public Object {
 public:
  int64_t count = 0;
  DLDataType dtype{kDLInt, 32, 1};
  Any child;
  String label;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.json.Item", ItemObj, Object);
};

/// Stored as a text of its own.
class SecretObj : public Object {
 public:
  int64_t code = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.json.Secret", SecretObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<SecretObj>().def_ro("code", &SecretObj::code);
  refl::TypeAttrDef<SecretObj>()
      .attr(type_attr::kDataToJson, Function::FromTyped([](const SecretObj* self) {
              return String("0" + std::to_string(self->code));
            }))
      .attr(type_attr::kDataFromJson, Function::FromTyped([](const String& text) {
              auto secret = make_object<SecretObj>();
              secret->code = std::stoll(std::string(text));
              return ObjectRef(secret);
            }));
  refl::ObjectDef<ItemObj>()
      .def_ro("count", &ItemObj::count)
      .def_ro("dtype", &ItemObj::dtype)
      .def_ro("child", &ItemObj::child)
      .def_ro("label", &ItemObj::label, refl::default_value(String("none")));
}

std::string ParseError(const std::string& text) {
  String message;
  json::Parse(text, &message);
  return std::string(message);
}

TEST(JsonParse, Values) {
  EXPECT_EQ(json::Parse("null").type_index(), kTVMFFINone);
  EXPECT_EQ(json::Parse(" -12 ").cast<int64_t>(), -12);
  EXPECT_EQ(json::Parse("1.5e3").cast<double>(), 1500.0);
  EXPECT_EQ(json::Parse("9223372036854775807").cast<int64_t>(), INT64_MAX);
  EXPECT_EQ(json::Parse("9223372036854775808").type_index(), kTVMFFIFloat);
  EXPECT_TRUE(std::isnan(json::Parse("NaN").cast<double>()));
  EXPECT_EQ(json::Parse("-Infinity").cast<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json::Parse("1e-400").cast<double>(), 0.0);
  EXPECT_EQ(json::Parse(R"("a\/\u00e9\ud83d\ude00\n")").cast<String>(),
            "a/\xc3\xa9\xf0\x9f\x98\x80\n");
  json::Object object = json::Parse(R"({"b": [1, {}], "a": []})").cast<json::Object>();
  EXPECT_EQ((*object.begin()).first.cast<String>(), "b");  // order of the text
  EXPECT_EQ(object.at(Any(String("b"))).cast<json::Array>().size(), 2U);
}

TEST(JsonParse, ErrorsNameThePosition) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "Expecting value: line 1 column 1 (char 0)"},
      {"\n\n  x", "Expecting value: line 3 column 3 (char 4)"},
      {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
      {"[1,]", "Expecting value: line 1 column 4 (char 3)"},
      {"[1", "Expecting ',' delimiter: line 1 column 3 (char 2)"},
      {"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {"{\"a\":1,}", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
      {"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
      {"1 2", "Extra data: line 1 column 3 (char 2)"},
      {"01", "Extra data: line 1 column 2 (char 1)"},
      {"+1", "Expecting value: line 1 column 1 (char 0)"},
      {".5", "Expecting value: line 1 column 1 (char 0)"},
      {"\"abc", "Unterminated string starting at: line 1 column 1 (char 0)"},
      {"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
      {"\"\\q\"", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\u12\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\ud800\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {"\"\\", "Unterminated string starting at: line 1 column 1 (char 0)"},
      {"\"\xc3\xa9\" x", "Extra data: line 1 column 5 (char 4)"},
      {"1e999", "Number out of range: line 1 column 1 (char 0)"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(ParseError(text), message) << text;
  EXPECT_THROW(json::Parse("["), Error);
}

TEST(JsonParse, DeepNestingIsRejected) {
  EXPECT_NE(ParseError(std::string(1000000, '[')).find("Nesting deeper than"), std::string::npos);
  const std::string fine = std::string(9000, '[') + std::string(9000, ']');
  EXPECT_EQ(ParseError(fine), "");
}

TEST(JsonParse, RandomBytesNeverCrash) {
  std::mt19937 random(20240607);
  const std::string alphabet = "[]{}\",:\\u0123eE+-.truefalsn \n\xc3\xa9";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const size_t size = random() % 24;
    for (size_t i = 0; i < size; ++i) text += alphabet[random() % alphabet.size()];
    String message;
    Any value = json::Parse(text, &message);
    if (message.size() == 0) {
      // What was read is written and read back the same.
      EXPECT_TRUE(RecursiveEq(value, json::Parse(json::Stringify(value)))) << text;
    }
  }
}

TEST(JsonWrite, Text) {
  EXPECT_EQ(json::Stringify(1.0), "1.0");
  EXPECT_EQ(json::Stringify(0.1), "0.10000000000000001");
  EXPECT_EQ(json::Stringify(1e16), "10000000000000000.0");
  EXPECT_EQ(json::Stringify(std::nan("")), "NaN");
  EXPECT_EQ(json::Stringify(String("a/b\"\x01\n")), R"("a\/b\"\u0001\n")");
  Map<Any, Any> map{{"a", Array<Any>{1, nullptr}}, {"b", Map<Any, Any>{}}};
  EXPECT_EQ(json::Stringify(map), R"({"a":[1,null],"b":{}})");
  EXPECT_EQ(json::Stringify(map, 2), "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": {\n  }\n}");
  EXPECT_THROW(json::Stringify(Map<Any, Any>{{1, 2}}), Error);
  EXPECT_THROW(json::Stringify(Dict<Any, Any>{}), Error);
  List<Any> cyclic;
  cyclic.push_back(cyclic);
  EXPECT_THROW(json::Stringify(cyclic), Error);
  cyclic.clear();
}

Any RoundTrip(const Any& value) { return FromJSONGraphString(ToJSONGraphString(value)); }

TEST(JsonGraph, RoundTrips) {
  const std::vector<Any> values = {Any(nullptr),
                                   Any(true),
                                   Any(7),
                                   Any(1.5),
                                   Any(String("short")),
                                   Any(String("a string that is long")),
                                   Any(Bytes(std::string("\x00\xff\x01", 3))),
                                   Any(DLDevice{kDLCUDA, 1}),
                                   Any(DLDataType{kDLFloat, 16, 4}),
                                   Any(Shape({1, 2})),
                                   Any(Array<Any>{1, "a", 1}),
                                   Any(List<Any>{1, List<Any>{}}),
                                   Any(Map<Any, Any>{{"k", 1}, {2, "v"}}),
                                   Any(Dict<Any, Any>{{"k", 1}})};
  for (const Any& value : values) {
    EXPECT_TRUE(RecursiveEq(value, RoundTrip(value))) << ToJSONGraphString(value);
  }
}

TEST(JsonGraph, Layout) {
  EXPECT_EQ(ToJSONGraphString(Array<Any>{1, "a", 1}),
            R"({"root_index":2,"nodes":[{"type":"int","data":1},{"type":"ffi.String","data":"a"},)"
            R"({"type":"ffi.Array","data":[0,1,0]}]})");
  EXPECT_EQ(ToJSONGraphString(Any(nullptr), Map<Any, Any>{{"v", "x"}}),
            R"({"root_index":0,"nodes":[{"type":"None"}],"metadata":{"v":"x"}})");
}

TEST(JsonGraph, ObjectsKeepSharing) {
  auto item = make_object<ItemObj>();
  item->count = 3;
  item->child = Array<Any>{1};
  ObjectRef ref(item);
  Array<Any> copy = RoundTrip(Array<Any>{ref, ref}).cast<Array<Any>>();
  EXPECT_TRUE(copy[0].same_as(copy[1]));
  const auto* first = copy[0].cast<ObjectRef>().as<ItemObj>();
  EXPECT_EQ(first->count, 3);
  EXPECT_EQ(first->dtype.bits, 32);
  EXPECT_EQ(first->child.cast<Array<Any>>()[0].cast<int>(), 1);
  // A field that an older writer did not know takes its default.
  Any old = FromJSONGraphString(
      R"({"root_index":1,"nodes":[{"type":"None"},)"
      R"({"type":"test.json.Item","data":{"count":1,"dtype":"int8","child":0}}]})");
  EXPECT_EQ(old.cast<ObjectRef>().as<ItemObj>()->label, "none");
}

TEST(JsonGraph, HooksReplaceTheFields) {
  auto secret = make_object<SecretObj>();
  secret->code = 41;
  const String text = ToJSONGraphString(ObjectRef(secret));
  EXPECT_EQ(text, R"({"root_index":0,"nodes":[{"type":"test.json.Secret","data":"041"}]})");
  EXPECT_EQ(FromJSONGraphString(text).cast<ObjectRef>().as<SecretObj>()->code, 41);
  EXPECT_THROW(
      FromJSONGraphString(R"({"root_index":0,"nodes":[{"type":"test.json.Secret","data":7}]})"),
      Error);
}

TEST(JsonGraph, BigIntegersAreDecimalText) {
  std::string digits = "-123456789012345678901234567890";
  std::istringstream stream(digits);
  BigInt number;
  stream >> number;
  const String text = ToJSONGraphString(Any(number));
  EXPECT_EQ(text, R"({"root_index":0,"nodes":[{"type":"ffi.BigInt","data":")" + digits + R"("}]})");
  EXPECT_TRUE(RecursiveEq(FromJSONGraphString(text), Any(number)));
  for (const char* bad : {"\"12x\"", "\"\"", "7", "null"}) {
    const std::string damaged =
        std::string(R"({"root_index":0,"nodes":[{"type":"ffi.BigInt","data":)") + bad + "}]}";
    EXPECT_THROW(FromJSONGraphString(damaged), Error) << damaged;
  }
}

TEST(JsonGraph, DamagedInputIsAnError) {
  const std::vector<std::string> cases = {
      "[]",
      "{}",
      R"({"root_index":0})",
      R"({"root_index":5,"nodes":[]})",
      R"({"root_index":-1,"nodes":[{"type":"None"}]})",
      R"({"root_index":0,"nodes":[{"type":"no.such.type","data":1}]})",
      R"({"root_index":0,"nodes":[{"data":1}]})",
      R"({"root_index":0,"nodes":[{"type":"int"}]})",
      R"({"root_index":0,"nodes":[{"type":"int","data":"a"}]})",
      R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]})",
      R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]},{"type":"ffi.Array","data":[0]}]})",
      R"({"root_index":0,"nodes":[{"type":"ffi.Map","data":[0]}]})",
      R"({"root_index":0,"nodes":[{"type":"Device","data":[1]}]})",
      R"({"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"YQ"}]})",
      R"({"root_index":0,"nodes":[{"type":"ffi.Function","data":{}}]})",
      R"({"root_index":0,"nodes":[{"type":"test.json.Item","data":{"dtype":"int8"}}]})",
      R"({"root_index":0,"nodes":[{"type":"test.json.Item","data":[]}]})"};
  for (const std::string& text : cases) EXPECT_THROW(FromJSONGraphString(text), Error) << text;
}

TEST(JsonGraph, CyclesAndForeignObjectsAreErrors) {
  List<Any> cyclic;
  cyclic.push_back(cyclic);
  EXPECT_THROW(ToJSONGraph(cyclic), Error);
  cyclic.clear();
  EXPECT_THROW(ToJSONGraph(Function::FromTyped([] { return 1; })), Error);
}

TEST(Base64, RoundTripAndErrors) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(std::string(Base64Decode(Base64Encode(Bytes(bytes)))), bytes);
    bytes += static_cast<char>(i * 7);
  }
  EXPECT_EQ(Base64Encode(Bytes(std::string("ab"))), "YWI=");
  EXPECT_THROW(Base64Decode(String("YWI")), Error);
  EXPECT_THROW(Base64Decode(String("Y=I=")), Error);
  EXPECT_THROW(Base64Decode(String("Y*I=")), Error);
}

}  // namespace
