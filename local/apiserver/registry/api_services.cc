#include "local/apiserver/registry/api_services.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kApiServices = "apiservices.apiregistration.k8s.io";
constexpr const char* kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr const char* kBuiltin = "onstart";  // values of the label
constexpr const char* kCustom = "true";
constexpr int kCorePriority = 18000;
constexpr int kBuiltinPriority = 17000;
constexpr int kCustomPriority = 1000;
constexpr int kBuiltinVersionPriority = 15;
constexpr int kCustomVersionPriority = 100;

struct Registration {
  std::string group;
  std::string version;
  bool is_custom = false;
};

// Returns the wanted registrations, by the name of the APIService.
std::map<std::string, Registration> Wanted(const ResourceTable& table) {
  std::map<std::string, Registration> wanted;
  for (const ResourcePtr& resource : table.all()) {
    const ResourceId& id = resource->id;
    const auto [entry, is_new] =
        wanted.try_emplace(id.version + "." + id.group, Registration{id.group, id.version, true});
    if (resource->crd == nullptr) entry->second.is_custom = false;
  }
  return wanted;
}

Json ApiServiceOf(const std::string& name, const Registration& registration,
                  const std::string& now) {
  const bool is_custom = registration.is_custom;
  const bool is_core = registration.group.empty();
  Json spec{{"version", registration.version},
            {"groupPriorityMinimum", is_custom ? kCustomPriority
                                     : is_core ? kCorePriority
                                               : kBuiltinPriority},
            {"versionPriority", is_custom ? kCustomVersionPriority : kBuiltinVersionPriority}};
  if (!is_core) spec["group"] = registration.group;
  return {{"apiVersion", "apiregistration.k8s.io/v1"},
          {"kind", "APIService"},
          {"metadata",
           {{"name", name},
            {"labels", {{kAutomanaged, is_custom ? kCustom : kBuiltin}}},
            {"creationTimestamp", now}}},
          {"spec", std::move(spec)},
          {"status",
           {{"conditions", Json::array({{{"type", "Available"},
                                         {"status", "True"},
                                         {"reason", "Local"},
                                         {"message", "Local APIServices are always available"},
                                         {"lastTransitionTime", now}}})}}}};
}

}  // namespace

void ApiServices::Register() {
  const std::lock_guard lock(mutex_);
  if (!is_started_) return;
  std::map<std::string, Registration> missing = Wanted(*catalog_.Current());
  std::vector<Write> writes;
  for (const StoredPtr& stored : store_.cache().List(kApiServices, "").objects) {
    if (missing.erase(stored->key().name) > 0) continue;
    const Object known = stored->json();
    if (known == nullptr || TextAt(*known, {"metadata", "labels", kAutomanaged}) != kCustom) {
      continue;
    }
    writes.push_back({Write::Kind::kDelete, stored->key(), *known, stored->revision()});
  }
  const std::string now = FormatTime(clock_.Now());
  for (const auto& [name, registration] : missing) {
    Json object = ApiServiceOf(name, registration, now);
    object["metadata"]["uid"] = identifiers_.NewUid();
    writes.push_back({Write::Kind::kCreate, {kApiServices, "", name}, std::move(object), 0});
  }
  // A client may have written one of them in between: the next change of the kinds looks again.
  for (Write& write : writes) {
    if (auto done = store_.Submit({std::move(write)}); !done) continue;
  }
}

void ApiServices::Start() {
  {
    const std::lock_guard lock(mutex_);
    is_started_ = true;
  }
  Register();
}

}  // namespace berth::local
