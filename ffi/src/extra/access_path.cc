// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace reflection {

namespace {

std::string StepText(const AccessStepObj* step) {
  auto key_text = [step] {
    String text = ReprPrint(step->key);
    return std::string(text.data(), text.size());
  };
  auto name_text = [step, &key_text] {
    if (std::optional<String> name = step->key.try_cast<String>()) {
      return std::string(name->data(), name->size());
    }
    return key_text();
  };
  switch (step->kind) {
    case AccessKind::kAttr:
      return "." + name_text();
    case AccessKind::kArrayItem:
    case AccessKind::kMapItem:
      return "[" + key_text() + "]";
    case AccessKind::kAttrMissing:
    case AccessKind::kArrayItemMissing:
    case AccessKind::kMapItemMissing:
      return "[<missing:" + key_text() + ">]";
  }
  return "<unknown step>";
}

String PathText(const AccessPathObj* path, const Function&) {
  std::string text = "<root>";
  for (const AccessStep& step : path->ToSteps()) text += StepText(step.get());
  return String(std::move(text));
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<AccessStepObj>(refl::init(false))
      .def_ro("kind", &AccessStepObj::kind)
      .def_ro("key", &AccessStepObj::key)
      .def_type_attr(type_attr::kRepr, [](const AccessStepObj* step, const Function&) {
        return String(StepText(step));
      });
  refl::ObjectDef<AccessPathObj>(refl::init(false))
      .def_ro("parent", &AccessPathObj::parent)
      .def_ro("step", &AccessPathObj::step)
      .def_ro("depth", &AccessPathObj::depth)
      .def_static("_root", &AccessPath::Root)
      .def("_extend", &AccessPathObj::Extend)
      .def("_attr", &AccessPathObj::Attr)
      .def("_array_item", &AccessPathObj::ArrayItem)
      .def("_map_item", &AccessPathObj::MapItem)
      .def("_attr_missing", &AccessPathObj::AttrMissing)
      .def("_array_item_missing", &AccessPathObj::ArrayItemMissing)
      .def("_map_item_missing", &AccessPathObj::MapItemMissing)
      .def("_is_prefix_of", &AccessPathObj::IsPrefixOf)
      .def("_to_steps", &AccessPathObj::ToSteps)
      .def("_path_equal", &AccessPathObj::PathEqual)
      .def_type_attr(type_attr::kRepr, PathText);
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
