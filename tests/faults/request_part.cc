#include "tests/faults/request_part.h"

#include "local/cluster/objects/fields.h"

namespace berth::sim {

using local::cluster::ArrayAt;
using local::cluster::StringAt;

std::string PartOf(const local::Json& request) {
  const std::string name = StringAt(request, {"metadata", "name"});
  for (const local::Json& pods : ArrayAt(request, {"spec", "podSets"})) {
    const std::string text = StringAt(pods, {"podTemplateRef", "name"});
    const std::size_t at = text.find(name);
    return at == std::string::npos ? text : text.substr(at + name.size());
  }
  return "";
}

bool IsDivided(const local::Json& request) {
  return !local::cluster::AnnotationOf(request, "berth.dev/divided").empty();
}

}  // namespace berth::sim
