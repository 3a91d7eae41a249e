#include "scenarios/lookup.h"

#include <algorithm>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "scenarios/short_forms.h"

namespace berth::scenarios {
namespace {

using local::Object;
using local::cluster::NameOf;
using local::cluster::NamespaceOf;
using local::cluster::StringAt;

// "job-x-3f2a1-dws-prov-2" → 2
std::int64_t AttemptOf(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos ? 0 : ParseInt64(name.substr(dash + 1)).value_or(0);
}

Object GetObject(sim::SimWorld& world, const local::WholeApi::KindInfo& kind,
                 const ObjectName& named) {
  const auto got =
      world.api().Get(kind.id, kind.namespaced ? named.namespace_name : "", named.name);
  return got ? *got : nullptr;
}

Found FromObject(const local::WholeApi::KindInfo& kind, const Object& object) {
  if (object == nullptr) return {kind, "", "", nullptr};
  return {kind, NamespaceOf(*object), NameOf(*object), object};
}

Object RequestOf(sim::SimWorld& world, const Step& step, const std::string& text) {
  const std::vector<Object> requests = RequestsOf(world, text);
  const auto attempt = step.Find("attempt");
  if (!attempt) return requests.empty() ? nullptr : requests.back();
  for (const Object& request : requests) {
    if (AttemptOf(NameOf(*request)) == ParseInt64(*attempt).value_or(-1)) return request;
  }
  return nullptr;
}

// The first template of a request for the Workload.
Object TemplateOf(sim::SimWorld& world, const std::string& text) {
  const Object workload = WorkloadOf(world, text);
  if (workload == nullptr) return nullptr;
  const std::string prefix = "ppt-" + NameOf(*workload);
  for (const Object& each : AllOf(world, "podtemplate")) {
    if (NamespaceOf(*each) == NamespaceOf(*workload) &&
        NameOf(*each).substr(0, prefix.size()) == prefix) {
      return each;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Object> AllOf(sim::SimWorld& world, std::string_view kind) {
  const auto info = world.FindKind(kind);
  if (!info) return {};
  const auto list = world.api().List(info->id, "", {});
  return list ? list->items : std::vector<Object>();
}

// Returns a slice that has not ended, where an elastic job has one.
Object WorkloadOf(sim::SimWorld& world, const std::string& text) {
  const ObjectName named = ObjectNameOf(text);
  const auto has_ended = [](const local::Json& workload) {
    const local::Json conditions =
        workload.value(local::Json::json_pointer("/status/conditions"), local::Json::array());
    return std::any_of(conditions.begin(), conditions.end(), [](const local::Json& each) {
      return each.value("type", "") == "Finished" && each.value("status", "") == "True";
    });
  };
  Object found;
  for (const Object& workload : AllOf(world, "workload")) {
    if (NamespaceOf(*workload) != named.namespace_name) continue;
    if (NameOf(*workload) == named.name) return workload;
    const local::Json* owner = local::cluster::ControllerRef(*workload);
    if (owner == nullptr || StringAt(*owner, {"name"}) != named.name) continue;
    if (found == nullptr || has_ended(*found)) found = workload;
  }
  return found;
}

std::vector<Object> RequestsOf(sim::SimWorld& world, const std::string& text) {
  const ObjectName named = ObjectNameOf(text);
  const Object workload = WorkloadOf(world, text);
  // If the Workload is gone, its name is derived from the job's.
  const std::string prefix =
      workload == nullptr ? "job-" + named.name + "-" : NameOf(*workload) + "-";
  std::vector<Object> requests;
  for (const Object& request : AllOf(world, "provisioningrequest")) {
    if (NamespaceOf(*request) != named.namespace_name) continue;
    bool owned = NameOf(*request).substr(0, prefix.size()) == prefix;
    if (const local::Json* owner = local::cluster::ControllerRef(*request); owner != nullptr) {
      owned = owned || (workload != nullptr && StringAt(*owner, {"name"}) == NameOf(*workload));
    }
    if (owned) requests.push_back(request);
  }
  std::stable_sort(requests.begin(), requests.end(), [](const Object& a, const Object& b) {
    return AttemptOf(NameOf(*a)) < AttemptOf(NameOf(*b));
  });
  return requests;
}

Result<Found> FindNamed(sim::SimWorld& world, const Step& step, std::size_t at, std::size_t& next) {
  const std::vector<std::string> words = step.plains();
  if (at + 1 >= words.size()) return Error{ErrorCode::kInvalid, "write a kind and a name"};
  std::string word = words[at] == "provreq" ? "provisioningrequest" : words[at];
  word.erase(std::remove(word.begin(), word.end(), '-'), word.end());
  const auto kind = world.FindKind(word);
  if (!kind) return Error{ErrorCode::kInvalid, "no kind is called \"" + words[at] + "\""};
  if (words[at + 1] == "of" && at + 2 < words.size()) {
    next = at + 3;
    const std::string& owner = words[at + 2];
    if (kind->kind == "Workload") return FromObject(*kind, WorkloadOf(world, owner));
    if (kind->kind == "ProvisioningRequest") {
      return FromObject(*kind, RequestOf(world, step, owner));
    }
    if (kind->kind == "PodTemplate") return FromObject(*kind, TemplateOf(world, owner));
    return Error{ErrorCode::kInvalid, "\"of\" goes with workload, provreq and podtemplate"};
  }
  next = at + 2;
  const ObjectName named = ObjectNameOf(words[at + 1]);
  return Found{*kind, kind->namespaced ? named.namespace_name : "", named.name,
               GetObject(world, *kind, named)};
}

const local::Json* At(const local::Json& object, const std::string& path) {
  if (path.empty()) return &object;
  if (path[0] == '/') {
    const local::Json::json_pointer pointer(path);
    return object.contains(pointer) ? &object.at(pointer) : nullptr;
  }
  const local::Json* at = &object;
  for (const std::string_view part : Split(path, '.')) {
    const std::string key(part);
    const auto index = ParseInt64(key);
    if (at->is_array() && index && *index >= 0 && static_cast<std::size_t>(*index) < at->size()) {
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else if (at->is_object() && at->contains(key)) {
      at = &(*at)[key];
    } else {
      return nullptr;
    }
  }
  return at;
}

}  // namespace berth::scenarios
