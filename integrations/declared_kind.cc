#include "integrations/declared_kind.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/api_version.h"
#include "api/codec/json_write.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kSample[] = "sample";
constexpr std::size_t kMaxSampleBytes = 65536;
constexpr char kJobKindVersion[] = "integrations.berth.dev/v1alpha1";

Error Refused(const std::string& field, const std::string& message) {
  return {ErrorCode::kInvalid, field + ": " + message};
}

// The reviews of pods and the rights to end them are installed with the built-in kinds that need
// them.
Status RefuseFields(const Json& spec) {
  constexpr char kPods[] =
      "the pods of built-in kinds alone are held: give the objects a boolean that their operator "
      "honours and name it in `suspend`, or name their numbers of pods in `podSets[].replicas`, or "
      "let "
      "users wrap the objects in an AppWrapper";
  constexpr char kMetadata[] =
      "is allowed for built-in kinds whose pods are held: a stop restores the template's metadata "
      "from the Workload, where the labels would be missing. Name single labels in `dropLabels`";
  constexpr char kHook[] = "hooks belong to built-in kinds: put the pod templates into the objects";
  if (!spec.is_object()) return OkStatus();
  for (const char* field : {"hold", "pods"}) {
    if (spec.contains(field)) return Refused(field, kPods);
  }
  for (const char* field : {"hook", "reads", "featureGate"}) {
    if (spec.contains(field)) return Refused(field, kHook);
  }
  const auto pod_sets = spec.find("podSets");
  if (pod_sets == spec.end() || !pod_sets->is_array()) return OkStatus();
  for (std::size_t i = 0; i < pod_sets->size(); ++i) {
    const std::string at = "podSets[" + std::to_string(i) + "].";
    if ((*pod_sets)[i].contains("hook")) return Refused(at + "hook", kHook);
    if ((*pod_sets)[i].contains("pods")) return Refused(at + "pods", kPods);
    for (const char* field : {"specOnly", "dropPrefix"}) {
      if ((*pod_sets)[i].contains(field)) return Refused(at + field, kMetadata);
    }
  }
  return OkStatus();
}

}  // namespace

const Json* SampleOf(const Json& spec) {
  if (!spec.is_object()) return nullptr;
  const auto sample = spec.find(kSample);
  return sample == spec.end() || sample->is_null() ? nullptr : &*sample;
}

Result<KindPtr> ParseDeclaredKind(const Json& spec) {
  BERTH_CHECK_OK(RefuseFields(spec));
  const Json* sample = SampleOf(spec);
  if (sample == nullptr) return ParseKind(spec);
  if (!sample->is_object()) return Refused(kSample, "expected an object of the kind");
  if (api::FormatJson(*sample).size() > kMaxSampleBytes) {
    return Refused(kSample, "larger than " + std::to_string(kMaxSampleBytes) + " bytes");
  }
  Json description = spec;
  description.erase(kSample);
  return ParseKind(description);
}

Result<KindPtr> ParseJobKind(const Json& object) {
  constexpr std::array<std::string_view, 5> kMembers{"apiVersion", "kind", "metadata", "spec",
                                                     "status"};
  if (!object.is_object()) return Refused("JobKind", "expected an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(kMembers.begin(), kMembers.end(), key) == kMembers.end()) {
      return Refused(key, "unknown field: the description is in `spec`");
    }
  }
  if (TextPart(object, {"apiVersion"}) != kJobKindVersion) {
    return Refused("apiVersion", std::string("expected ") + kJobKindVersion);
  }
  const auto spec = object.find("spec");
  if (spec == object.end()) return Refused("spec", "the description is missing");
  Result<KindPtr> kind = ParseDeclaredKind(*spec);
  if (!kind) return Error{kind.error().code, "spec." + kind.error().message};
  return kind;
}

Status CheckIsOf(const KindDescription& kind, const Json& object) {
  const std::string expected = kind.resource.api_version() + " " + std::string(kind.kind.kind);
  if (!object.is_object()) return Refused("sample", "expected an object of " + expected);
  const std::string api_version = TextPart(object, {"apiVersion"});
  const std::string name = TextPart(object, {"kind"});
  if (name == kind.kind.kind && api::GroupOf(api_version) == kind.kind.group) return OkStatus();
  const std::string found =
      api_version.empty() && name.empty() ? "no apiVersion and kind" : api_version + " " + name;
  return Refused("sample", "expected an object of " + expected + ", got " + found);
}

}  // namespace berth::integrations
