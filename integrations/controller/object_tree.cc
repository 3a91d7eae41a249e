#include "integrations/controller/object_tree.h"

#include <nlohmann/json.hpp>

#include "api/codec/json_text.h"
#include "api/codec/json_tree.h"

namespace berth::integrations {

Result<nlohmann::json> TreeOf(const api::JsonSource& object) {
  if (object.tree() != nullptr) return *object.tree();
  return api::ParseJson(object.node()->text);
}

}  // namespace berth::integrations
