// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/script/printer/doc_printer.h>

#include <string>
#include <string_view>
#include <utility>

#include "script/printer/expr_writer.h"

namespace tvm::script::printer {

namespace {

/// Writes docs as Python text. Recursion is bounded: every doc checks the stack.
class DocWriter : private ExprWriter {
 public:
  DocWriter(const PrinterConfigNode* config, std::string head) : ExprWriter(config) {
    text() = std::move(head);
    out_.Exempt(0);
  }

  std::string Write(const Doc& doc) {
    if (doc->IsInstance<StmtDocNode>()) {
      Stmt(static_cast<const StmtDocNode*>(doc.get()));
    } else {
      Expr(doc, kAny);
    }
    return out_.Finish();
  }

 private:
  void Stmt(const StmtDocNode* doc) {
    CheckStackDepth();
    if (const auto* block = As<StmtBlockDocNode>(doc)) {
      size_t begin = text().size();
      Lines(block->stmts);
      Shown(doc, begin);
      return;
    }
    if (doc->IsInstance<CommentDocNode>() || doc->IsInstance<DocStringDocNode>()) {
      return CommentLines(doc);
    }
    const bool compound = IsCompound(doc);
    if (compound && doc->comment.has_value()) {
      Comment(CommentOf(doc));
      out_.NewLine();
    }
    size_t begin = text().size();
    if (!Simple(doc) && !Compound(doc)) {
      TVM_FFI_THROW(TypeError) << "cannot print a doc of type " << doc->GetTypeKey();
    }
    Shown(doc, begin);
    if (!compound && doc->comment.has_value() && !IsDefinition(doc)) {
      const size_t gap = text().size();
      text() += "  ";
      Comment(CommentOf(doc));
      out_.Exempt(gap);
    }
  }

  static bool IsDefinition(const StmtDocNode* doc) {
    return doc->IsInstance<FunctionDocNode>() || doc->IsInstance<ClassDocNode>();
  }
  static bool IsCompound(const StmtDocNode* doc) {
    return doc->IsInstance<IfDocNode>() || doc->IsInstance<WhileDocNode>() ||
           doc->IsInstance<ForDocNode>() || doc->IsInstance<ScopeDocNode>();
  }

  static std::string CommentOf(const StmtDocNode* doc) {
    std::string comment(doc->comment.value());
    TVM_FFI_CHECK(comment.find('\n') == std::string_view::npos, ValueError)
        << "the comment of a " << doc->GetTypeKey() << " must be one line, found a line break";
    return comment;
  }

  void Comment(std::string_view comment) {
    size_t begin = text().size();
    text() += "# ";
    text() += comment;
    out_.Exempt(begin);
  }

  /// Calls `line` for each line of a text.
  template <typename F>
  static void EachLine(std::string_view all, F line) {
    while (true) {
      size_t end = all.find('\n');
      line(all.substr(0, end));
      if (end == std::string_view::npos) break;
      all.remove_prefix(end + 1);
    }
  }

  void CommentLines(const StmtDocNode* doc) {
    std::string comment = doc->comment.has_value() ? std::string(doc->comment.value()) : "";
    if (comment.empty()) return;
    if (doc->IsInstance<DocStringDocNode>()) return DocString(comment);
    bool first = true;
    EachLine(comment, [&](std::string_view line) {
      if (!first) out_.NewLine();
      first = false;
      Comment(line);
    });
  }

  void DocString(std::string_view comment) {
    size_t begin = text().size();
    text() += "\"\"\"";
    EachLine(comment, [&](std::string_view line) {
      out_.NewLine();
      text() += line;
    });
    out_.NewLine();
    text() += "\"\"\"";
    out_.Exempt(begin);
  }

  /// Statements, one below the other; a blank line follows a definition.
  void Lines(const Array<StmtDoc>& stmts) {
    bool first = true;
    const StmtDocNode* last = nullptr;
    for (const StmtDoc& stmt : stmts) {
      if (!first) {
        if (IsDefinition(last)) text() += '\n';
        out_.NewLine();
      }
      first = false;
      Stmt(stmt.get());
      last = stmt.get();
    }
  }

  void Body(const Array<StmtDoc>& stmts, const StmtDocNode* documented = nullptr) {
    out_.Indent();
    out_.NewLine();
    if (documented != nullptr && documented->comment.has_value() &&
        !documented->comment.value().empty()) {
      DocString(std::string_view(documented->comment.value()));
      out_.NewLine();
    }
    bool only_comments = true;
    for (const StmtDoc& stmt : stmts) {
      only_comments = only_comments && stmt->IsInstance<CommentDocNode>();
    }
    Lines(stmts);
    if (only_comments) {
      if (!stmts.empty()) out_.NewLine();
      text() += "pass";
    }
    out_.Dedent();
  }

  /// Left side of an assignment or loop: a tuple goes without parentheses.
  void Target(const ExprDoc& doc) {
    const auto* tuple = doc.as<TupleDocNode>();
    if (tuple == nullptr || tuple->elements.empty()) return Expr(doc, kAny);
    size_t begin = text().size();
    List(tuple->elements);
    if (tuple->elements.size() == 1) text() += ',';
    Shown(tuple, begin);
  }

  void Assign(const AssignDocNode* node) {
    Target(node->lhs);
    if (node->annotation.has_value()) {
      text() += ": ";
      Expr(*node->annotation, kAny);
    }
    if (!node->rhs.has_value()) return;
    text() += " = ";
    const auto* left = node->lhs.as<TupleDocNode>();
    const auto* right = (*node->rhs).as<TupleDocNode>();
    if (left != nullptr && right != nullptr && right->elements.size() > 1) {
      Target(*node->rhs);
    } else {
      Expr(*node->rhs, kAny);
    }
  }

  /// Statements of one line.
  bool Simple(const StmtDocNode* doc) {
    if (const auto* node = As<AssignDocNode>(doc)) {
      Assign(node);
    } else if (const auto* node = As<ExprStmtDocNode>(doc)) {
      Expr(node->expr, kAny);
    } else if (const auto* node = As<AssertDocNode>(doc)) {
      text() += "assert ";
      Expr(node->test, kAny);
      if (node->msg.has_value()) {
        text() += ", ";
        Expr(*node->msg, kAny);
      }
    } else if (const auto* node = As<ReturnDocNode>(doc)) {
      text() += "return ";
      Expr(node->value, kAny);
    } else if (doc->IsInstance<BreakDocNode>()) {
      text() += "break";
    } else if (doc->IsInstance<ContinueDocNode>()) {
      text() += "continue";
    } else if (const auto* node = As<OpCallDocNode>(doc)) {
      OpCall(node);
    } else {
      return false;
    }
    return true;
  }

  void OpCall(const OpCallDocNode* node) {
    Expr(node->callee, kAtom);
    text() += '(';
    List(node->args);
    bool first = node->args.empty();
    auto used = [](const Optional<ExprDoc>& doc) {
      if (!doc.has_value()) return false;
      const auto* dict = doc.value().as<DictDocNode>();
      return dict == nullptr || !dict->keys.empty();
    };
    if (used(node->workspace)) Keyword("workspace", *node->workspace, &first);
    if (used(node->dispatch)) Keyword("dispatch", *node->dispatch, &first);
    if (used(node->config)) {
      const auto* dict = node->config.value().as<DictDocNode>();
      TVM_FFI_CHECK(dict != nullptr, TypeError) << "OpCallDoc.config must be a DictDoc";
      for (size_t i = 0; i < dict->keys.size(); ++i) {
        const auto* key = dict->keys[i].as<LiteralDocNode>();
        TVM_FFI_CHECK(key != nullptr && key->value.as<String>().has_value(), TypeError)
            << "keys of OpCallDoc.config must be string literals";
        Keyword(std::string_view(key->value.cast<String>()), dict->values[i], &first);
      }
    }
    text() += ')';
  }

  /// Statements with a body.
  bool Compound(const StmtDocNode* doc) {
    if (const auto* node = As<ForDocNode>(doc)) {
      text() += "for ";
      Target(node->lhs);
      text() += " in ";
      Expr(node->rhs, kAny);
      text() += ':';
      Body(node->body);
    } else if (const auto* node = As<ScopeDocNode>(doc)) {
      text() += "with ";
      Expr(node->rhs, kAny);
      if (node->lhs.has_value()) {
        text() += " as ";
        Expr(*node->lhs, kAny);
      }
      text() += ':';
      Body(node->body);
    } else if (const auto* node = As<IfDocNode>(doc)) {
      text() += "if ";
      Expr(node->predicate, kAny);
      text() += ':';
      Body(node->then_branch);
      if (!node->else_branch.empty()) {
        out_.NewLine();
        text() += "else:";
        Body(node->else_branch);
      }
    } else if (const auto* node = As<WhileDocNode>(doc)) {
      text() += "while ";
      Expr(node->predicate, kAny);
      text() += ':';
      Body(node->body);
    } else if (const auto* node = As<FunctionDocNode>(doc)) {
      Function(node);
    } else if (const auto* node = As<ClassDocNode>(doc)) {
      Decorators(node->decorators);
      text() += "class ";
      Expr(node->name, kAny);
      text() += ':';
      Body(node->body, node);
    } else {
      return false;
    }
    return true;
  }

  void Decorators(const Array<ExprDoc>& decorators) {
    for (const ExprDoc& decorator : decorators) {
      text() += '@';
      Expr(decorator, kAny);
      out_.NewLine();
    }
  }

  void Function(const FunctionDocNode* node) {
    Decorators(node->decorators);
    text() += "def ";
    Expr(node->name, kAny);
    if (!node->type_params.empty()) {
      text() += '[';
      List(node->type_params);
      text() += ']';
    }
    text() += '(';
    bool first = true;
    for (const AssignDoc& arg : node->args) {
      if (!first) text() += ", ";
      first = false;
      size_t begin = text().size();
      Assign(arg.get());
      Shown(arg.get(), begin);
    }
    text() += ')';
    if (node->return_type.has_value()) {
      text() += " -> ";
      Expr(*node->return_type, kAny);
    }
    text() += ':';
    Body(node->body, node);
  }
};

}  // namespace

std::string DocToPythonScript(const Doc& doc, const PrinterConfig& config, std::string head) {
  TVM_FFI_CHECK(doc.defined(), ValueError) << "the doc to print is None";
  std::string text = DocWriter(config.get(), std::move(head)).Write(doc);
  size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("script.printer.DocToPythonScript",
                                   [](const Doc& doc, const PrinterConfig& config) {
                                     return String(DocToPythonScript(doc, config));
                                   });
}

}  // namespace tvm::script::printer
