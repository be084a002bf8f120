// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar.h>
#include <tvm/script/printer/ir_docsifier.h>

#include <algorithm>
#include <cstdio>

namespace tvm::script::printer {

using ffi::Array;
using ffi::Map;
using ffi::Optional;
using ffi::String;

namespace {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Functions of one dialect by type index.
using PrintTable = std::vector<IRDocsifier::PrintFn>;
using PrintTables = std::unordered_map<std::string, PrintTable, StringHash, std::equal_to<>>;

PrintTables& Tables() {
  static PrintTables tables;
  return tables;
}

IRDocsifier::PrintFn Find(std::string_view token, int32_t type_index) {
  auto it = Tables().find(token);
  if (it == Tables().end()) return nullptr;
  size_t index = static_cast<size_t>(type_index);
  return index < it->second.size() ? it->second[index] : nullptr;
}

/// Header lines in order of their rank.
enum HeaderRank : int { kTypeVarHeader = 10, kIRHeader = 20, kTIRxHeader = 30, kRelaxHeader = 50 };

bool IsKeyword(std::string_view text) {
  static const std::unordered_set<std::string_view> keywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return keywords.count(text) != 0;
}

/// Whether the plain number or string and the expression could be confused.
bool IsLiteral(const ffi::Object* object) {
  const int32_t string_index = tirx::StringImmNode::RuntimeTypeIndex();
  return object->IsInstance<IntImmNode>() || object->IsInstance<FloatImmNode>() ||
         object->type_index() == string_index;
}

/// `hint` with all that cannot be in a name replaced.
std::string ToIdentifier(std::string_view hint) {
  std::string name(hint);
  for (char& c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  if (name.empty()) return "v";
  return name[0] >= '0' && name[0] <= '9' ? "_" + name : name;
}

}  // namespace

bool IsIdentifier(std::string_view text) {
  return !text.empty() && ToIdentifier(text) == text && !IsKeyword(text);
}

// ---------------------------------------------------------------------------------------------
// Frames

FrameScope::FrameScope(IRDocsifier& d, std::string_view token, ffi::ObjectRef owner,
                       bool takes_free_vars)
    : d_(d) {
  frame_.token = std::string(token);
  frame_.owner = std::move(owner);
  frame_.takes_free_vars = takes_free_vars;
  d_.frames_.push_back(&frame_);
}

FrameScope::~FrameScope() {
  d_.EndFrame(&frame_);
  d_.frames_.pop_back();
}

void IRDocsifier::EndFrame(Frame* frame) {
  for (const ffi::ObjectRef& var : frame->defined) vars_.erase(var.get());
  for (const std::string& name : frame->names) {
    names_.erase(name);
    // The search for a suffix starts again where names have become free.
    suffixes_.erase(name.substr(0, name.find_last_not_of("0123456789")));
    suffixes_.erase(name);
  }
}

// ---------------------------------------------------------------------------------------------
// Dispatch

IRDocsifier::IRDocsifier(PrinterConfig config) : cfg(std::move(config)) {
  TVM_FFI_CHECK(cfg.defined(), ValueError) << "the printer needs a configuration, found None";
  // Names that the text itself uses.
  for (std::string_view name : {"range", "metadata", "Module", "TypeVar", "Axis", "Tx", "tvm"}) {
    names_.insert(std::string(name));
  }
  names_.insert(std::string(cfg->ir_prefix));
  names_.insert(std::string(cfg->GetExtra<String>("tirx.prefix", "T")));
  names_.insert(std::string(cfg->GetExtra<String>("relax.prefix", "R")));
  names_.insert(std::string(cfg->module_alias));
}

void IRDocsifier::Register(std::string_view token, int32_t type_index, PrintFn print) {
  auto it = Tables().try_emplace(std::string(token)).first;
  if (it->second.size() <= static_cast<size_t>(type_index)) it->second.resize(type_index + 1);
  it->second[type_index] = print;
}

bool IRDocsifier::CanPrint(std::string_view token, int32_t type_index) {
  return Find(token, type_index) != nullptr || Find("", type_index) != nullptr;
}

Doc IRDocsifier::AsDoc(const ffi::Any& value, const AccessPath& path) {
  CheckStackDepth();
  const auto* object = value.as<ffi::Object>();
  if (object == nullptr || object->IsInstance<ffi::ArrayObj>() ||
      object->IsInstance<ffi::MapObj>() || object->IsInstance<ffi::StringObj>()) {
    Doc doc = AnyToDoc(value, path);
    doc->source_paths.push_back(path);
    return doc;
  }
  return ObjectToDoc(object, path);
}

ExprDoc IRDocsifier::AsExpr(const ffi::Any& value, const AccessPath& path) {
  Doc doc = AsDoc(value, path);
  if (auto expr = doc.as<ExprDoc>()) return *expr;
  TVM_FFI_THROW(TypeError) << "expected an expression to print, found " << value.GetTypeKey()
                           << " which prints as a statement";
}

Doc IRDocsifier::ObjectToDoc(const ffi::Object* object, const AccessPath& path) {
  const bool was_any = in_any;
  in_any = was_any && IsLiteral(object);
  PrintFn print = nullptr;
  if (!frames_.empty()) print = Find(frames_.back()->token, object->type_index());
  if (print == nullptr) print = Find("", object->type_index());
  Doc doc;
  if (print != nullptr) {
    doc = print(object, path, *this);
  } else {
    doc = Unknown(object);
  }
  in_any = was_any;
  if (!cfg->TracksPaths()) return doc;
  doc->source_paths.push_back(path);
  for (const ffi::ObjectRef& marked : cfg->obj_to_underline) {
    if (marked.get() == object) found_paths_.push_back(path);
  }
  if (const auto* stmt = doc.as<StmtDocNode>()) Annotate(stmt, object, path);
  return doc;
}

void IRDocsifier::Annotate(const StmtDocNode* stmt, const ffi::Object* object,
                           const AccessPath& path) {
  auto add = [stmt](const String& text) {
    stmt->comment = stmt->comment.has_value()
                        ? String(std::string(*stmt->comment) + ", " + std::string(text))
                        : text;
  };
  for (const auto& [marked, text] : cfg->obj_to_annotate) {
    if (marked.get() == object) add(text);
  }
  for (const auto& [marked, text] : cfg->path_to_annotate) {
    if (marked->PathEqual(path)) add(text);
  }
}

ExprDoc IRDocsifier::Unknown(const ffi::Object* object) {
  // Beside other things an object without text form can only be kept in the metadata.
  if (!frames_.empty() && frames_.size() > 1)
    return AddMetadata(ffi::GetRef<ffi::ObjectRef>(object));
  return ExprStringDoc(ffi::ReprPrint(ffi::GetRef<ffi::ObjectRef>(object)));
}

Doc IRDocsifier::AnyToDoc(const ffi::Any& value, const AccessPath& path) {
  switch (value.type_index()) {
    case ffi::TypeIndex::kTVMFFINone:
      return LiteralDoc::None();
    case ffi::TypeIndex::kTVMFFIBool:
    case ffi::TypeIndex::kTVMFFIInt:
      return LiteralDoc(value);
    case ffi::TypeIndex::kTVMFFIFloat: {
      double number = value.cast<double>();
      if (number - number == 0) return LiteralDoc(value);
      return IdDoc("float").Call({LiteralDoc(value)});
    }
    case ffi::TypeIndex::kTVMFFIDataType:
      return Dialect("tirx", "dtype").Call({LiteralDoc::DType(DataType(value.cast<DLDataType>()))});
    default:
      break;
  }
  if (auto text = value.as<String>()) {
    std::string_view view(*text);
    if (view.find('\n') != std::string_view::npos) return AddMetadata(value);
    return LiteralDoc::Str(*text);
  }
  const bool was_any = std::exchange(in_any, true);
  Doc doc;
  if (auto array = value.as<Array<ffi::Any>>()) {
    doc = ListDoc(AsExprs(*array, path));
  } else if (auto map = value.as<Map<ffi::Any, ffi::Any>>()) {
    doc = MapToDoc(*map, path);
  } else {
    doc = AddMetadata(value);
  }
  in_any = was_any;
  return doc;
}

ExprDoc IRDocsifier::MapToDoc(const Map<ffi::Any, ffi::Any>& map, const AccessPath& path) {
  std::vector<std::pair<ffi::Any, ffi::Any>> entries;
  bool strings = true;
  for (const auto& [key, value] : map) {
    strings = strings && key.as<String>().has_value();
    entries.emplace_back(key, value);
  }
  if (strings) {
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return a.first.template cast<String>() < b.first.template cast<String>();
    });
  }
  Array<ExprDoc> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(AsExpr(key, path->MapItem(key)));
    values.push_back(AsExpr(value, path->MapItem(key)));
  }
  return DictDoc(keys, values);
}

ExprDoc DictOf(const Map<String, ffi::Any>& dict, const AccessPath& path, IRDocsifier& d) {
  return d.AsExpr(dict, path);
}

void IRDocsifier::Emit(const ffi::Any& value, const AccessPath& path) {
  Doc doc = AsDoc(value, path);
  if (const auto* block = doc.as<StmtBlockDocNode>()) {
    if (block->comment.has_value() && !block->stmts.empty()) {
      block->stmts[0]->comment = block->comment;
    }
    // The block has no text of its own: each statement shows its paths.
    if (cfg->TracksPaths()) {
      for (const StmtDoc& stmt : block->stmts) {
        for (const AccessPath& shown : block->source_paths) stmt->source_paths.push_back(shown);
      }
    }
    for (const StmtDoc& stmt : block->stmts) Push(stmt);
  } else if (auto stmt = doc.as<StmtDoc>()) {
    Push(*stmt);
  } else if (auto expr = doc.as<ExprDoc>()) {
    Push(ExprStmtDoc(*expr));
  } else {
    TVM_FFI_THROW(TypeError) << "expected a statement to print, found " << value.GetTypeKey();
  }
}

Array<StmtDoc> IRDocsifier::AsBody(std::string_view token, const ffi::Any& value,
                                   const AccessPath& path) {
  FrameScope frame(*this, token);
  Emit(value, path);
  return frame->stmts;
}

// ---------------------------------------------------------------------------------------------
// Names

std::string IRDocsifier::FreshName(std::string_view hint, Frame* frame) {
  std::string base = ToIdentifier(hint);
  std::string name = base;
  int& count = suffixes_[base];
  if (names_.count(name) == 0) count = 0;  // all earlier uses have ended
  for (int i = 1; names_.count(name) != 0 || IsKeyword(name); ++i) {
    // Start where the last search for this name ended: many variables may share one hint.
    i = std::max(i, count);
    name = base + "_" + std::to_string(i);
    count = i;
  }
  names_.insert(name);
  if (frame == nullptr && !frames_.empty()) frame = frames_.back();
  if (frame != nullptr) frame->names.push_back(name);
  return name;
}

IdDoc IRDocsifier::Define(const ffi::ObjectRef& var, std::string_view hint, Frame* frame) {
  if (auto it = vars_.find(var.get()); it != vars_.end() && !it->second.name.empty()) {
    return IdDoc(it->second.name);
  }
  std::string wanted(hint);
  if (cfg->show_object_address) {
    char address[32];
    std::snprintf(address, sizeof(address), "_%p", static_cast<const void*>(var.get()));
    wanted += address;
  }
  std::string name = FreshName(wanted, frame);
  if (frame == nullptr) frame = frames_.back();
  String text(name);
  vars_[var.get()] = VarInfo{[text]() -> ExprDoc { return IdDoc(text); }, name};
  frame->defined.push_back(var);
  return IdDoc(text);
}

void IRDocsifier::DefineAs(const ffi::ObjectRef& var, std::function<ExprDoc()> make, Frame* frame) {
  if (frame == nullptr) frame = frames_.back();
  if (vars_.count(var.get()) == 0) frame->defined.push_back(var);
  vars_[var.get()] = VarInfo{std::move(make), ""};
}

Optional<ExprDoc> IRDocsifier::VarDoc(const ffi::ObjectRef& var) const {
  auto it = vars_.find(var.get());
  if (it == vars_.end()) return std::nullopt;
  return it->second.make();
}

Frame* IRDocsifier::FreeVarFrame() {
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    if ((*it)->takes_free_vars) return *it;
  }
  return frames_.front();
}

ExprDoc IRDocsifier::DeclareFree(const ffi::ObjectRef& var, std::string_view hint,
                                 const std::function<ExprDoc()>& value) {
  Frame* frame = FreeVarFrame();
  // The value first: what it uses must be declared above.
  ExprDoc rhs = value();
  if (auto known = VarDoc(var)) return *known;
  IdDoc name = Define(var, hint, frame);
  frame->stmts.push_back(AssignDoc(name, rhs));
  return name;
}

// ---------------------------------------------------------------------------------------------
// Header and metadata

ExprDoc IRDocsifier::Dialect(std::string_view dialect, std::string_view name) {
  DialectId& id = dialects_[std::string(dialect)];
  if (!id.prefix.defined()) {
    if (dialect == "ir") {
      std::string prefix(cfg->ir_prefix);
      NeedHeader(kIRHeader, "# from tvm.script import ir as " + prefix);
      id.prefix = IdDoc(String(prefix));
    } else {
      std::string key = std::string(dialect) + ".prefix";
      std::string prefix(
          cfg->GetExtra<String>(String(key), dialect == "relax" ? String("R") : String("T")));
      NeedHeader(dialect == "relax" ? kRelaxHeader : kTIRxHeader,
                 "# from tvm.script import " + std::string(dialect) + " as " + prefix);
      id.prefix = IdDoc(String(prefix));
    }
  }
  if (name.empty()) return id.prefix;
  // Callees are shared: nobody adds source paths to them.
  auto [it, inserted] = id.names.try_emplace(std::string(name));
  if (inserted) it->second = id.prefix.Attr(String(std::string(name)));
  return cfg->TracksPaths() ? id.prefix.Attr(String(std::string(name))) : it->second;
}

void IRDocsifier::DeclareTypeVar(const String& name) {
  ExprDoc value = IdDoc("TypeVar").Call({LiteralDoc::Str(name)});
  preamble_.try_emplace(std::string(name), AssignDoc(IdDoc(name), value));
}

ExprDoc IRDocsifier::AddMetadata(const ffi::Any& value) {
  std::string key(value.GetTypeKey());
  if (value.as<String>().has_value()) key = "ffi.String";
  std::vector<ffi::Any>& list = metadata_[key];
  size_t index = list.size();
  const auto* object = value.as<ffi::Object>();
  for (size_t i = 0; i < list.size() && object != nullptr; ++i) {
    if (list[i].as<ffi::Object>() == object) index = i;
  }
  if (index == list.size()) list.push_back(value);
  return IdDoc("metadata")[{LiteralDoc::Str(String(key))}][{LiteralDoc::Int(index)}];
}

String BindingName(const IRDocsifier& d, const String& fallback) {
  return d.frames().size() <= 1 && !d.cfg->binding_names.empty() ? d.cfg->binding_names[0]
                                                                 : fallback;
}

}  // namespace tvm::script::printer
