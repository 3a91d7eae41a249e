#include "integrations/controller/pod_writes.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace berth::integrations {

using Json = nlohmann::json;

PodWrite WriteTo(const QueuedPod& pod, Json patch) {
  return {.pod = pod.meta.key(),
          .uid = pod.meta.uid,
          .patch = std::make_shared<const Json>(std::move(patch))};
}

std::vector<PodWrite> StopWrites(const QueuedPod& pod, const StopJob& stop) {
  PodWrite why = WriteTo(
      pod,
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata",
        {{"name", pod.meta.name}, {"namespace", pod.meta.namespace_name}, {"uid", pod.meta.uid}}},
       {"status",
        {{"conditions", Json::array({{{"type", "TerminationTarget"},
                                      {"status", "True"},
                                      {"lastTransitionTime", FormatTime(stop.at)},
                                      {"reason", stop.reason},
                                      {"message", stop.message}}})}}}});
  why.type = kube::PatchType::kApply;
  why.subresource = "status";
  return {std::move(why), {.pod = pod.meta.key(), .uid = pod.meta.uid}};
}

}  // namespace berth::integrations
