#include "program/component_reviews.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "program/embedded_manifests.h"
#include "program/job_kinds.h"

namespace berth::program {
namespace {

using nlohmann::json;

std::vector<ComponentReviews> Needed(const std::vector<std::string>& frameworks) {
  std::vector<ComponentReviews> needed;
  if (ManagesPodsOfParents(frameworks)) needed.push_back(PodReviews());
  const auto kinds = DescribedKinds(frameworks);
  const bool serves = std::any_of(kinds.begin(), kinds.end(),
                                  [](const auto& kind) { return kind->pods.has_value(); });
  if (serves) needed.push_back(ServingReviews());
  if (!PodLabelsOf(frameworks).empty()) needed.push_back(DaskReviews());
  return needed;
}

Status Append(std::string_view patches, json& webhooks) {
  BERTH_TRY(const api::YamlDocument document, api::ParseYaml(patches));
  for (const json& patch : document.value) {
    if (!patch.is_object() || patch.value("op", "") != "add" || !patch.contains("value")) {
      return Error{ErrorCode::kInternal,
                   "a component of manifests/components changes webhooks other than by additions"};
    }
    webhooks.push_back(patch.at("value"));
  }
  return OkStatus();
}

}  // namespace

Status AddComponentReviews(const std::vector<std::string>& frameworks, json& object) {
  const std::string kind = object.value("kind", "");
  const bool mutates = kind == "MutatingWebhookConfiguration";
  if (!mutates && kind != "ValidatingWebhookConfiguration") return OkStatus();
  const auto webhooks = object.find("webhooks");
  if (webhooks == object.end()) return OkStatus();  // that of declared kinds
  for (const ComponentReviews& component : Needed(frameworks)) {
    BERTH_CHECK_OK(Append(mutates ? component.mutating : component.validating, *webhooks));
  }
  return OkStatus();
}

}  // namespace berth::program
