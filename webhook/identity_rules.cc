#include "webhook/identity_rules.h"

#include <algorithm>
#include <set>

namespace berth::webhook {
namespace {

constexpr char kHostname[] = "kubernetes.io/hostname";

bool EndsWithHostname(const std::vector<std::string>& levels) {
  return !levels.empty() && levels.back() == kHostname;
}

}  // namespace

FieldErrors ValidateLocalQueue(const api::LocalQueue& queue, const api::LocalQueue* old) {
  FieldErrors errors;
  // The rule is on the field: an empty value may be set once.
  if (old != nullptr && !old->cluster_queue.empty() && queue.cluster_queue != old->cluster_queue) {
    errors.push_back(Invalid(Path("spec.clusterQueue"), Quoted(queue.cluster_queue), kImmutable));
  }
  return errors;
}

FieldErrors ValidateAdmissionCheck(const api::AdmissionCheck& check,
                                   const api::AdmissionCheck* old) {
  FieldErrors errors;
  if (old != nullptr && check.controller_name != old->controller_name) {
    errors.push_back(
        Invalid(Path("spec.controllerName"), Quoted(check.controller_name), kImmutable));
  }
  return errors;
}

FieldErrors ValidateTopology(const api::Topology& topology, const api::Topology* old) {
  FieldErrors errors;
  const Path path("spec.levels");
  const std::vector<std::string>& levels = topology.levels;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Path label = path.Index(i).Child("nodeLabel");
    if (!seen.insert(levels[i]).second) errors.push_back(Duplicate(label, Quoted(levels[i])));
    if (levels[i] == kHostname && i + 1 < levels.size()) {
      errors.push_back(Invalid(label, Quoted(levels[i]),
                               "the kubernetes.io/hostname label can only be used at the lowest "
                               "level of topology"));
    }
  }
  if (old != nullptr && levels != old->levels &&
      !(EndsWithHostname(levels) && EndsWithHostname(old->levels))) {
    errors.push_back(Invalid(path, Quoted(topology.meta.name),
                             "levels can only change when the lowest level is and stays "
                             "kubernetes.io/hostname"));
  }
  return errors;
}

}  // namespace berth::webhook
