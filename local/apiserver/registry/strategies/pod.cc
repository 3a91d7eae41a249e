// v1 Pod. Source: Kubernetes 1.36 pod strategy and validation, restated.
#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/pod_spec.h"
#include "local/apiserver/registry/strategies/strategies.h"

namespace berth::local {
namespace {

constexpr std::int64_t kDefaultGraceSeconds = 30;

constexpr std::string_view kImmutable =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions "
    "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)";

bool IsGated(const Json& pod) { return !ArrayAt(pod, {"spec", "schedulingGates"}).empty(); }

void CopyImages(Json& spec, const Json& from, const char* field) {
  const Json& images = ArrayAt(from, {field});
  if (images.size() != ArrayAt(spec, {field}).size()) return;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (const Json* image = Member(images[i], "image")) spec[field][i]["image"] = *image;
  }
}

bool OnlyAdds(const Json& items, const Json& old_items) {
  for (const Json& old : old_items) {
    bool kept = false;
    for (const Json& item : items) kept = kept || item == old;
    if (!kept) return false;
  }
  return true;
}

void CheckGates(const Json& pod, const Json& old_pod, std::vector<Cause>& causes) {
  const Json& gates = ArrayAt(pod, {"spec", "schedulingGates"});
  const Json& old_gates = ArrayAt(old_pod, {"spec", "schedulingGates"});
  std::string added;
  for (const Json& gate : gates) {
    bool known = false;
    for (const Json& old : old_gates) known = known || old == gate;
    if (!known) added += (added.empty() ? "" : ",") + TextAt(gate, {"name"});
  }
  if (!added.empty()) {
    causes.push_back(ForbiddenError("spec.schedulingGates",
                                    "only deletion is allowed, but found "
                                    "new scheduling gates '" +
                                        added + "'"));
  }
}

// Whether the update of a gated pod only adds labels to its node selector.
bool NarrowsSelector(const Json& pod, const Json& old_pod) {
  const Json* old_selector = At(old_pod, {"spec", "nodeSelector"});
  if (old_selector == nullptr) return true;
  for (const auto& [key, value] : old_selector->items()) {
    const Json* kept = At(pod, {"spec", "nodeSelector", key});
    if (kept == nullptr || *kept != value) return false;
  }
  return true;
}

void CheckSpecUpdate(const Json& pod, const Json& old_pod, std::vector<Cause>& causes) {
  CheckGates(pod, old_pod, causes);
  if (!OnlyAdds(ArrayAt(pod, {"spec", "tolerations"}), ArrayAt(old_pod, {"spec", "tolerations"}))) {
    causes.push_back(ForbiddenError("spec.tolerations",
                                    "existing toleration can not be modified except its "
                                    "tolerationSeconds"));
  }
  // Mutable fields are copied; the rest must be equal.
  Json allowed = old_pod.at("spec");
  const Json& spec = pod.at("spec");
  CopyImages(allowed, spec, "containers");
  CopyImages(allowed, spec, "initContainers");
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) {
    CopyOrErase(allowed, spec, field);
  }
  if (IsGated(old_pod)) {
    if (!NarrowsSelector(pod, old_pod)) {
      causes.push_back(InvalidError("spec.nodeSelector", spec.value("nodeSelector", Json()),
                                    "may only add keys while the pod is gated"));
    }
    for (const char* field : {"nodeSelector", "affinity"}) CopyOrErase(allowed, spec, field);
  }
  if (allowed != spec) causes.push_back(ForbiddenError("spec", kImmutable));
}

class PodStrategy final : public Strategy {
 public:
  bool AnswersDeletionWithObject() const override { return true; }

  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    Json& status = object["status"];
    status["phase"] = "Pending";
    status["qosClass"] = QosClass(object.value("spec", Json::object()));
    if (!IsGated(object)) return;
    status["conditions"] =
        Json::array({{{"type", "PodScheduled"},
                      {"status", "False"},
                      {"reason", "SchedulingGated"},
                      {"message", "Scheduling is blocked due to non-empty scheduling gates"},
                      {"observedGeneration", 1},
                      {"lastProbeTime", nullptr},
                      {"lastTransitionTime", FormatTime(now)}}});
  }

  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidatePodSpec(object.value("spec", Json::object()), "spec"));
    if (IsGated(object) && !TextAt(object, {"spec", "nodeName"}).empty()) {
      causes.push_back(ForbiddenError("spec.nodeName",
                                      "cannot be set until all schedulingGates have been "
                                      "cleared"));
    }
    return causes;
  }

  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    if (subresource == "binding") return;  // the registry sets the fields of a binding
    Strategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    if (subresource != "status") return;
    CopyOrErase(object["metadata"], old_object.at("metadata"), "ownerReferences");
    if (Member(object["status"], "qosClass") == nullptr) {
      object["status"]["qosClass"] = TextAt(old_object, {"status", "qosClass"});
    }
  }

  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource.empty() && !SameAt(object, old_object, {"spec"})) {
      CheckSpecUpdate(object, old_object, causes);
    }
    return causes;
  }

  std::int64_t GraceSeconds(const Json& object, std::int64_t requested) const override {
    if (TextAt(object, {"spec", "nodeName"}).empty()) return 0;
    const std::string phase = TextAt(object, {"status", "phase"});
    if (phase == "Succeeded" || phase == "Failed") return 0;
    if (requested >= 0) return requested;
    const std::int64_t own =
        IntAt(object, {"spec", "terminationGracePeriodSeconds"}, kDefaultGraceSeconds);
    return own < 0 ? 1 : own;  // Kubernetes' rule
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakePodStrategy() { return std::make_unique<PodStrategy>(); }

}  // namespace berth::local
