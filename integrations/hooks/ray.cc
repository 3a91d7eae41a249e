// What KubeRay adds to the head's pod, so that quota holds it; and the pod that submits a RayJob.
// Source: Kueue pkg/controller/jobs/raycluster, rayjob; KubeRay's operator.
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "integrations/hooks/hooks.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kFaultTolerance[] = "ray.io/ft-enabled";
constexpr char kSubmitter[] = "ray-job-submitter";

Json RequestsAndLimits(const char* cpu, const char* memory, const char* cpu_limit,
                       const char* memory_limit) {
  return {{"requests", {{"cpu", cpu}, {"memory", memory}}},
          {"limits", {{"cpu", cpu_limit}, {"memory", memory_limit}}}};
}

Json SubmitterContainer() {
  return {{"name", kSubmitter}, {"resources", RequestsAndLimits("500m", "200Mi", "1", "1Gi")}};
}

// Requests less than `least` become `least`; a limit counts where there is no request.
void RaiseRequest(Json& container, const char* resource, const char* least) {
  const auto amount_of = [&](const char* member) -> api::Amount {
    const Json* value = PartOf(container, {"resources", member, resource});
    if (value == nullptr) return 0;
    const auto amount = api::ParseAmount(
        resource, value->is_string() ? value->get<std::string>() : api::FormatJson(*value));
    return amount ? *amount : 0;
  };
  const bool requested = PartOf(container, {"resources", "requests", resource}) != nullptr;
  const auto wanted = api::ParseAmount(resource, least);
  if (wanted && amount_of(requested ? "requests" : "limits") >= *wanted) return;
  MakePart(MakePart(container, "resources"), "requests")[resource] = least;
}

Result<Json> HeadOf(const Json& object, const char* cluster, const Json* pod_template) {
  const std::string at = (*cluster == '\0' ? std::string("spec") : "spec." + std::string(cluster)) +
                         ".headGroupSpec.template";
  if (pod_template == nullptr) {
    return Error{ErrorCode::kInvalid, at + ": the pod template is missing"};
  }
  const Json& spec =
      *cluster == '\0' ? MapPart(object, {"spec"}) : MapPart(object, {"spec", cluster});
  Json head = *pod_template;
  if (!head.is_object()) return head;
  Json& containers = MakePart(head, "spec")["containers"];
  if (containers.is_null()) containers = Json::array();
  if (!containers.is_array()) return head;  // the codec refuses it
  const bool fault_tolerant =
      PartOf(spec, {"gcsFaultToleranceOptions"}) != nullptr ||
      TextPart(object, {"metadata", "annotations", kFaultTolerance}) == "true";
  if (fault_tolerant) {
    if (containers.empty() || !containers.front().is_object()) {
      return Error{ErrorCode::kInvalid,
                   at + ".spec.containers: fault tolerance of the GCS needs a container"};
    }
    RaiseRequest(containers.front(), "cpu", "200m");
    RaiseRequest(containers.front(), "memory", "256Mi");
  }
  if (FlagPart(spec, {"enableInTreeAutoscaling"})) {
    const Json* given = PartOf(spec, {"autoscalerOptions", "resources"});
    containers.push_back(
        {{"name", "autoscaler"},
         {"resources",
          given != nullptr ? *given : RequestsAndLimits("500m", "512Mi", "500m", "512Mi")}});
  }
  return head;
}

}  // namespace

Result<Json> RayClusterHead(const Json& object, const Json* pod_template) {
  return HeadOf(object, "", pod_template);
}

Result<Json> RayServiceHead(const Json& object, const Json* pod_template) {
  return HeadOf(object, "rayClusterConfig", pod_template);
}

Result<Json> RayJobHead(const Json& object, const Json* pod_template) {
  BERTH_TRY(Json head, HeadOf(object, "rayClusterSpec", pod_template));
  if (TextPart(object, {"spec", "submissionMode"}) != "SidecarMode") return head;
  const Json* containers = PartOf(head, {"spec", "containers"});
  if (containers != nullptr && containers->is_array()) {
    head["spec"]["containers"].push_back(SubmitterContainer());
  }
  return head;
}

// The pod that KubeRay makes: it has the image of the head's first container.
Result<Json> RayJobSubmitter(const Json& object, const Json* pod_template) {
  if (pod_template != nullptr) return *pod_template;
  Json container = SubmitterContainer();
  const Json& containers = ListPart(
      object, {"spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers"});
  if (!containers.empty()) SetOrErase(container, "image", TextPart(containers.front(), {"image"}));
  return Json{{"spec", {{"containers", Json::array({container})}, {"restartPolicy", "Never"}}}};
}

}  // namespace berth::integrations
