#include "integrations/kind_catalogue.h"

#include <algorithm>

#include "api/yaml/yaml.h"
#include "base/assert.h"
#include "integrations/embedded_kinds.h"

namespace berth::integrations {
namespace {

// A test reads every description: a bad one is a bug of this program.
std::vector<KindPtr> ReadBuiltInKinds() {
  std::vector<KindPtr> kinds;
  const auto documents = api::ParseYamlStream(EmbeddedKinds());
  BERTH_ASSERT(documents);
  for (const api::YamlDocument& document : *documents) {
    Result<KindPtr> kind = ParseKind(document.value);
    BERTH_ASSERT(kind);
    kinds.push_back(*std::move(kind));
  }
  std::sort(kinds.begin(), kinds.end(), [](const KindPtr& a, const KindPtr& b) {
    return a->kind.framework < b->kind.framework;
  });
  return kinds;
}

}  // namespace

const std::vector<KindPtr>& BuiltInKinds() {
  static const std::vector<KindPtr> kKinds = ReadBuiltInKinds();
  return kKinds;
}

KindPtr FindBuiltInKind(std::string_view framework) {
  for (const KindPtr& kind : BuiltInKinds()) {
    if (kind->kind.framework == framework) return kind;
  }
  return nullptr;
}

}  // namespace berth::integrations
