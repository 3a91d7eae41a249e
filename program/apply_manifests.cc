#include "program/apply_manifests.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/api_version.h"
#include "api/yaml/yaml.h"

namespace berth::program {
namespace {

using local::Json;

Result<local::WholeApi::KindInfo> FindKind(local::WholeApi& api, const Json& object) {
  const std::string api_version = object.value("apiVersion", "");
  const std::string kind = object.value("kind", "");
  const std::string_view group = api::GroupOf(api_version);
  const auto kinds = api.Kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& candidate) {
    return candidate.kind == kind && candidate.id.group == group;
  });
  if (found == kinds.end()) {
    return Error{ErrorCode::kInternal, "the API does not know kind " + api_version + " " + kind};
  }
  local::WholeApi::KindInfo info = *found;
  info.id.version = api::VersionOf(api_version);
  return info;
}

}  // namespace

Status ApplyManifests(local::WholeApi& api, std::string_view yaml, const ManifestChange& change) {
  BERTH_TRY(auto documents, api::ParseYamlStream(yaml));
  for (api::YamlDocument& document : documents) {
    if (change) BERTH_CHECK_OK(change(document.value));
    BERTH_TRY(const local::WholeApi::KindInfo kind, FindKind(api, document.value));
    const Json& metadata = document.value.at("metadata");
    const std::string name = metadata.value("name", "");
    const auto applied =
        api.Patch(kind.id, metadata.value("namespace", ""), name, local::PatchType::kApply,
                  document.value, {.field_manager = "berth-up", .force = true});
    if (!applied) {
      return Error{ErrorCode::kInternal,
                   "applying " + kind.kind + " " + name + ": " + applied.error().message};
    }
  }
  return OkStatus();
}

}  // namespace berth::program
