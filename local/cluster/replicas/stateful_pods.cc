#include "local/cluster/replicas/stateful_pods.h"

#include <algorithm>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/replica_set_plan.h"
#include "local/cluster/replicas/revisions.h"

namespace berth::local::cluster {
namespace {

constexpr char kPodName[] = "statefulset.kubernetes.io/pod-name";
constexpr char kPodIndex[] = "apps.kubernetes.io/pod-index";

std::string PodNameOf(const Json& set, std::int64_t ordinal) {
  return NameOf(set) + "-" + std::to_string(ordinal);
}

std::string ClaimNameOf(const Json& set, const Json& claim_template, std::int64_t ordinal) {
  return NameOf(claim_template) + "-" + PodNameOf(set, ordinal);
}

// Volumes of the claims come first; they replace volumes of the template with equal names.
void AddClaimVolumes(Json& spec, const Json& set, std::int64_t ordinal) {
  Json volumes = Json::array();
  for (const Json& one : ArrayAt(set, {"spec", "volumeClaimTemplates"})) {
    volumes.push_back({{"name", NameOf(one)},
                       {"persistentVolumeClaim", {{"claimName", ClaimNameOf(set, one, ordinal)}}}});
  }
  if (volumes.empty()) return;
  const std::size_t claims = volumes.size();
  for (const Json& volume : ArrayAt(spec, {"volumes"})) {
    bool is_claimed = false;
    for (std::size_t at = 0; at < claims; ++at) {
      is_claimed = is_claimed || StringAt(volumes[at], {"name"}) == StringAt(volume, {"name"});
    }
    if (!is_claimed) volumes.push_back(volume);
  }
  spec["volumes"] = std::move(volumes);
}

bool Deletes(const Json& set, const char* when) {
  return StringAt(set, {"spec", "persistentVolumeClaimRetentionPolicy", when}) == "Delete";
}

void AddIdentity(Json& metadata, std::int64_t ordinal) {
  metadata["labels"][kPodName] = StringAt(metadata, {"name"});
  metadata["labels"][kPodIndex] = std::to_string(ordinal);
}

}  // namespace

std::optional<std::int64_t> OrdinalOf(std::string_view pod_name, std::string_view set_name) {
  if (pod_name.size() < set_name.size() + 2 || pod_name.substr(0, set_name.size()) != set_name ||
      pod_name[set_name.size()] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = pod_name.substr(set_name.size() + 1);
  const auto ordinal = ParseInt64(digits);
  if (!ordinal || *ordinal < 0 || std::to_string(*ordinal) != digits) return std::nullopt;
  return ordinal;
}

std::int64_t FirstOrdinal(const Json& set) { return IntAt(set, {"spec", "ordinals", "start"}); }

Json MakeStatefulPod(const Json& set, const Json& pod_template, std::int64_t ordinal,
                     const std::string& revision) {
  Json owner = set;
  owner["spec"]["template"] = pod_template;
  Json pod = MakeReplicaPod(owner);
  pod["metadata"].erase("generateName");
  pod["metadata"]["name"] = PodNameOf(set, ordinal);
  pod["metadata"]["namespace"] = NamespaceOf(set);
  AddIdentity(pod["metadata"], ordinal);
  pod["metadata"]["labels"][kRevisionLabel] = revision;
  pod["spec"]["hostname"] = NameOf(pod);
  const std::string service = StringAt(set, {"spec", "serviceName"});
  if (!service.empty()) pod["spec"]["subdomain"] = service;
  AddClaimVolumes(pod["spec"], set, ordinal);
  return pod;
}

std::optional<Json> WithIdentity(const Json& set, const Json& pod) {
  const auto ordinal = OrdinalOf(NameOf(pod), NameOf(set));
  if (!ordinal) return std::nullopt;
  Json next = pod;
  AddIdentity(next["metadata"], *ordinal);
  if (next == pod) return std::nullopt;
  return next;
}

bool HasClaims(const Json& set) { return !ArrayAt(set, {"spec", "volumeClaimTemplates"}).empty(); }

std::vector<Json> ClaimsOf(const Json& set, std::int64_t ordinal) {
  std::vector<Json> claims;
  for (const Json& one : ArrayAt(set, {"spec", "volumeClaimTemplates"})) {
    Json claim = {{"apiVersion", "v1"},
                  {"kind", "PersistentVolumeClaim"},
                  {"metadata", one.value("metadata", Json::object())},
                  {"spec", one.value("spec", Json::object())}};
    claim["metadata"]["name"] = ClaimNameOf(set, one, ordinal);
    claim["metadata"]["namespace"] = NamespaceOf(set);
    const Json* labels = Find(set, {"spec", "selector", "matchLabels"});
    if (labels != nullptr) claim["metadata"]["labels"].update(*labels);
    if (Deletes(set, "whenDeleted")) {
      claim["metadata"]["ownerReferences"] = Json::array({ControllerReferenceTo(set)});
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::optional<Json> ClaimOwners(const Json& set, const Json& claim, const Json* pod,
                                bool condemned) {
  Json owners = Json::array();
  const Json& known = ArrayAt(claim, {"metadata", "ownerReferences"});
  for (const Json& owner : known) {
    const std::string uid = StringAt(owner, {"uid"});
    if (uid != UidOf(set) && (pod == nullptr || uid != UidOf(*pod))) owners.push_back(owner);
  }
  // Two controllers are refused; the claim stays with the one that has it.
  const bool is_taken = std::any_of(owners.begin(), owners.end(), [](const Json& owner) {
    return BoolAt(owner, {"controller"});
  });
  if (is_taken) return owners == known ? std::nullopt : std::optional<Json>(owners);
  const bool with_pod = condemned && pod != nullptr && Deletes(set, "whenScaled");
  if (with_pod) {
    Json owner = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", pod->at("metadata")}};
    owners.push_back(ControllerReferenceTo(owner));
  } else if (Deletes(set, "whenDeleted")) {
    owners.push_back(ControllerReferenceTo(set));
  }
  if (owners == known) return std::nullopt;
  return owners;
}

}  // namespace berth::local::cluster
