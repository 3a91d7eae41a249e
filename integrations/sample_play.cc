#include "integrations/sample_play.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "integrations/declared_kind.h"
#include "integrations/described_job.h"
#include "integrations/pod_set_change.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kPlayedSelector[] = "kinds.berth.dev/played";

Error Unplayed(const std::string& message) { return {ErrorCode::kInvalid, "sample: " + message}; }

// The pod sets of a sample that can be read.
Result<JobView> ViewOfSample(const KindPtr& kind, const Json& sample) {
  Result<JobView> view = ViewOf(kind, sample);
  if (!view) return Unplayed(view.error().message);
  if (!view->problem.empty()) return Unplayed(view->problem);
  return view;
}

std::vector<PodSetChange> ChangesOf(const JobView& view) {
  std::vector<PodSetChange> changes;
  for (const api::PodSet& pods : view.pod_sets) changes.push_back(OriginalPodSet(pods));
  return changes;
}

// The sample with the node selector of a start, one value for each pod set.
Status PlayStart(const KindPtr& kind, const JobView& held, Json& object) {
  std::vector<PodSetChange> changes = ChangesOf(held);
  for (PodSetChange& change : changes) change.node_selector[kPlayedSelector] = change.name;
  const Result<std::vector<Json>> states = Started(*kind, object, changes);
  if (!states) return Unplayed("a start fails: " + states.error().message);
  object = states->back();
  BERTH_TRY(const JobView started, ViewOfSample(kind, object));
  if (started.suspended) return Unplayed("after a start the object is still held");
  for (const api::PodSet& pods : started.pod_sets) {
    const auto& selector = pods.pod_template.spec.node_selector;
    const std::string* value = api::FindValue(selector, kPlayedSelector);
    if (value != nullptr && *value == pods.name) continue;
    return Unplayed("a start does not reach the template of the pod set " + pods.name +
                    ": each pod set needs a template of its own");
  }
  return OkStatus();
}

Status PlayStop(const KindPtr& kind, const JobView& held, Json& object) {
  object = Stopped(*kind, object, ChangesOf(held), false).back();
  BERTH_TRY(const JobView stopped, ViewOfSample(kind, object));
  if (!stopped.suspended) return Unplayed("after a stop the object is not held");
  if (ChangesOf(stopped) == ChangesOf(held)) return OkStatus();
  return Unplayed("a stop does not restore the pod sets");
}

}  // namespace

Status PlaySample(const KindPtr& kind, const Json& sample) {
  BERTH_CHECK_OK(CheckIsOf(*kind, sample));
  BERTH_TRY(const JobView view, ViewOfSample(kind, sample));
  if (kind->hook != nullptr || kind->hold || kind->pods) return OkStatus();
  Json object = sample;
  SetSuspended(*kind, true, object);
  BERTH_TRY(const JobView held, ViewOfSample(kind, object));
  if (!held.suspended)
    return Unplayed("the sample is not held although the field that holds a job is set");
  if (ChangesOf(held) != ChangesOf(view))
    return Unplayed("the pod sets of the held and of the running object differ");
  BERTH_CHECK_OK(PlayStart(kind, held, object));
  return PlayStop(kind, held, object);
}

}  // namespace berth::integrations
