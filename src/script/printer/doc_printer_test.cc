// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ir/module.h>
#include <tvm/script/printer/doc_printer.h>
#include <tvm/script/printer/ir_docsifier.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace tvm::script::printer {
namespace {

using Kind = OperationKind;

IdDoc Id(const char* name) { return IdDoc(name); }
ExprDoc Op(Kind kind, ffi::Array<ExprDoc> operands) { return OperationDoc(kind, operands); }
std::string Text(const Doc& doc) { return DocToPythonScript(doc, PrinterConfig::Default()); }

TEST(DocPrinter, ParenthesesOnlyWherePythonNeedsThem) {
  ExprDoc a = Id("a"), b = Id("b"), c = Id("c");
  ExprDoc sum = Op(Kind::kAdd, {a, b}), power = Op(Kind::kPow, {a, b});
  ExprDoc less = Op(Kind::kLt, {a, b}), minus = Op(Kind::kUSub, {a});
  ExprDoc choice = Op(Kind::kIfThenElse, {a, b, c});
  EXPECT_EQ(Text(Op(Kind::kAdd, {sum, c})), "a + b + c");
  EXPECT_EQ(Text(Op(Kind::kAdd, {c, sum})), "c + (a + b)");
  EXPECT_EQ(Text(Op(Kind::kMult, {sum, c})), "(a + b) * c");
  EXPECT_EQ(Text(Op(Kind::kPow, {power, c})), "(a ** b) ** c");
  EXPECT_EQ(Text(Op(Kind::kPow, {c, power})), "c ** a ** b");
  EXPECT_EQ(Text(Op(Kind::kPow, {minus, c})), "(-a) ** c");
  EXPECT_EQ(Text(Op(Kind::kPow, {c, minus})), "c ** -a");
  EXPECT_EQ(Text(Op(Kind::kUSub, {power})), "-a ** b");
  EXPECT_EQ(Text(Op(Kind::kPow, {LiteralDoc::Int(-2), c})), "(-2) ** c");
  // A chain of comparisons would mean something else.
  EXPECT_EQ(Text(Op(Kind::kLt, {less, c})), "(a < b) < c");
  EXPECT_EQ(Text(Op(Kind::kEq, {c, less})), "c == (a < b)");
  EXPECT_EQ(Text(Op(Kind::kNot, {less})), "not a < b");
  EXPECT_EQ(Text(Op(Kind::kAdd, {minus, Op(Kind::kNot, {b})})), "-a + (not b)");
  EXPECT_EQ(Text(Op(Kind::kIfThenElse, {choice, choice, choice})),
            "(b if a else c) if (b if a else c) else b if a else c");
  EXPECT_EQ(Text(sum.Attr("x")), "(a + b).x");
  EXPECT_EQ(Text(LiteralDoc::Int(1).Attr("x")), "(1).x");
  EXPECT_EQ(Text(minus.Call({b})), "(-a)(b)");
  EXPECT_EQ(Text(LambdaDoc({Id("a")}, b).Call({c})), "(lambda a: b)(c)");
}

TEST(DocPrinter, LiteralsReadBack) {
  EXPECT_EQ(PythonString("a\"b\\c\n\t\r\x01\x7f"), R"("a\"b\\c\n\t\r\x01\x7F")");
  EXPECT_EQ(PythonString("h\xC3\xA9"), "\"h\xC3\xA9\"");
  for (double value : {0.0, -0.0, 0.1, 1e300, 5e-324, 1.0 / 3, 123456789.0, -2.5}) {
    std::string text = PythonFloat(value);
    double back = std::strtod(text.c_str(), nullptr);
    EXPECT_EQ(back, value) << text;
    EXPECT_EQ(std::signbit(back), std::signbit(value)) << text;
  }
  EXPECT_EQ(PythonFloat(std::numeric_limits<double>::infinity()), "\"inf\"");
  EXPECT_EQ(PythonFloat(-std::numeric_limits<double>::infinity()), "\"-inf\"");
  EXPECT_EQ(PythonFloat(std::nan("")), "\"nan\"");
}

TEST(DocPrinter, Statements) {
  ExprDoc a = Id("a"), b = Id("b");
  StmtDoc call = ExprStmtDoc(Id("f").Call({a}, {"k"}, {b}));
  EXPECT_EQ(Text(call), "f(a, k=b)");
  EXPECT_EQ(Text(ForDoc(TupleDoc({a, b}), Id("r"), {})), "for a, b in r:\n    pass");
  EXPECT_EQ(Text(IfDoc(a, {}, {call})), "if a:\n    pass\nelse:\n    f(a, k=b)");
  EXPECT_EQ(Text(AssignDoc(a, b, Id("c"))), "a: c = b");
  EXPECT_EQ(Text(AssignDoc(TupleDoc({a}), TupleDoc({b}))), "a, = (b,)");
  EXPECT_EQ(Text(a[{SliceDoc(a, b), SliceDoc(std::nullopt, std::nullopt, a)}]), "a[a:b, ::a]");
  EXPECT_EQ(Text(a[{}]), "a[()]");
  FunctionDoc function(Id("g"), {AssignDoc(a, std::nullopt, b)}, {Id("d")}, Id("r"), {call});
  EXPECT_EQ(Text(function), "@d\ndef g(a: b) -> r:\n    f(a, k=b)");
  EXPECT_EQ(Text(ClassDoc(Id("C"), {}, {function, call})),
            "class C:\n    @d\n    def g(a: b) -> r:\n        f(a, k=b)\n\n    f(a, k=b)");
  EXPECT_THROW(IfDoc(a, {}, {}), ffi::Error);
  EXPECT_THROW(OperationDoc(Kind::kAdd, {a}), ffi::Error);
}

TEST(DocPrinter, UnderlinesUtf8ByCharacters) {
  AccessPath path = AccessPath::Root()->Attr("x");
  LiteralDoc text = LiteralDoc::Str("\xC3\xA9\xC3\xA9", path);
  StmtBlockDoc block({ExprStmtDoc(Id("f").Call({LiteralDoc::Str("\xC3\xA9"), text}))});
  PrinterConfig config({{"path_to_underline", ffi::Array<AccessPath>({path})},
                        {"render_invisible_path_info", false}});
  EXPECT_EQ(DocToPythonScript(block, config), "f(\"\xC3\xA9\", \"\xC3\xA9\xC3\xA9\")\n       ^^^^");
}

TEST(IRDocsifier, NamesAreTakenUntilTheFrameEnds) {
  IRDocsifier d(PrinterConfig::Default());
  FrameScope root(d, "");
  EXPECT_EQ(d.FreshName("x"), "x");
  {
    FrameScope inner(d, "");
    EXPECT_EQ(d.FreshName("x"), "x_1");
    EXPECT_EQ(d.FreshName("x"), "x_2");
  }
  EXPECT_EQ(d.FreshName("x"), "x_1");
  EXPECT_EQ(d.FreshName("lambda"), "lambda_1");
  EXPECT_EQ(d.FreshName("9 lives"), "_9_lives");
  EXPECT_EQ(d.FreshName(""), "v");
}

TEST(IRDocsifier, VariablesEndWithTheirFrame) {
  IRDocsifier d(PrinterConfig::Default());
  FrameScope root(d, "", {}, true);
  Var x("x"), y("y");
  {
    FrameScope inner(d, "");
    d.Define(x, "x");
    EXPECT_TRUE(d.IsDefined(x));
    d.DeclareFree(y, "y", [] { return ExprDoc(Id("value")); });
  }
  EXPECT_FALSE(d.IsDefined(x));
  // A free variable belongs to the frame that declares it.
  EXPECT_TRUE(d.IsDefined(y));
  ASSERT_EQ(root->stmts.size(), 1u);
  EXPECT_EQ(Text(root->stmts[0]), "y = value");
}

}  // namespace
}  // namespace tvm::script::printer
