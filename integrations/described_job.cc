#include "integrations/described_job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/multikueue.h"
#include "integrations/described_pod_sets.h"
#include "integrations/hooks/json_parts.h"
#include "integrations/pod_set_change.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using cel::Value;

Status ReadFinish(const KindDescription& kind, Evaluation& evaluation, JobView& view) {
  for (const FinishRule& rule : kind.finished) {
    BERTH_TRY(const bool over, evaluation.Bool("finished.when", rule.when, evaluation.base()));
    if (!over) continue;
    JobOutcome outcome;
    BERTH_TRY(outcome.succeeded,
              evaluation.Bool("finished.succeeded", rule.succeeded, evaluation.base()));
    BERTH_TRY(outcome.message,
              evaluation.Text("finished.message", rule.message, evaluation.base()));
    view.finished = std::move(outcome);
    break;
  }
  return OkStatus();
}

// Reads what can be read; returns the first error.
Status ReadState(const KindDescription& kind, Evaluation& evaluation, JobView& view) {
  Status status = ReadFinish(kind, evaluation, view);
  const auto read = [&](const char* field, const std::optional<cel::Program>& program, bool& out) {
    Result<bool> value = evaluation.Bool(field, program, false);
    if (value) {
      out = *value;
    } else if (status) {
      status = value.error();
    }
  };
  read("active", kind.active, view.active);
  read("ready", kind.ready, view.pods_ready);
  read("skip", kind.skip, view.skipped);
  read("onHold", kind.on_hold, view.on_hold);
  view.skipped = view.skipped || view.is_delegated;
  if (!status || !kind.priority_class) return status;
  BERTH_TRY(view.priority_class,
            evaluation.Text("priorityClass", *kind.priority_class, evaluation.base()));
  return OkStatus();
}

Status ReadReclaimable(const KindDescription& kind, const std::vector<PlacedPodSet>& pod_sets,
                       Evaluation& evaluation, JobView& view) {
  if (!kind.reclaimable) return OkStatus();
  for (const PlacedPodSet& placed : pod_sets) {
    cel::Activation activation = evaluation.ForItem(placed.item, placed.key);
    activation.Set("podSet", Value::Map({{Value::String("name"), Value::String(placed.pods.name)},
                                         {Value::String("count"), Value::Int(placed.pods.count)}}));
    BERTH_TRY(const std::int32_t free,
              evaluation.Count("reclaimable", *kind.reclaimable, activation));
    if (free > 0) {
      view.reclaimable_pods.push_back({placed.pods.name, std::min(free, placed.pods.count)});
    }
  }
  return OkStatus();
}

Status ReadParent(const PodsRule& rule, Evaluation& evaluation, JobView& view) {
  PodParent parent;
  if (rule.groups) {
    BERTH_TRY(parent.groups, evaluation.Count("pods.groups", *rule.groups, evaluation.base()));
  }
  if (rule.old_revision) {
    BERTH_TRY(parent.old_revision,
              evaluation.Text("pods.oldRevision", *rule.old_revision, evaluation.base()));
  }
  view.pod_parent = std::move(parent);
  return OkStatus();
}

// What the kind's hook makes of the object; the object itself where the kind has no hook.
class Expansion {
 public:
  static Result<Expansion> Of(const KindDescription& kind, const Json& object,
                              const ReadObjects& reads) {
    Expansion expansion(object);
    if (kind.hook == nullptr) return expansion;
    BERTH_TRY(Json made, kind.hook->expand(object, reads));
    expansion.made_ = std::make_shared<const Json>(std::move(made));
    return expansion;
  }

  const Json& tree() const { return made_ != nullptr ? *made_ : *object_; }
  void TellTo(Evaluation& evaluation) const {
    if (made_ != nullptr) evaluation.Expand(*made_);
  }

 private:
  explicit Expansion(const Json& object) : object_(&object) {}

  const Json* object_;
  std::shared_ptr<const Json> made_;
};

// A child of another kind that scales the job's pods counts in the names of its slices.
Status ReadVariant(const KindDescription& kind, Evaluation& evaluation, JobView& view) {
  view.slice_variant = std::to_string(view.meta.generation);
  if (!kind.slice_variant) return OkStatus();
  BERTH_TRY(const std::string child,
            evaluation.Text("sliceVariant", *kind.slice_variant, evaluation.base()));
  if (!child.empty()) view.slice_variant += "_" + child;
  return OkStatus();
}

Status ReadAll(const KindDescription& kind, const Json& object, const ReadObjects& reads,
               JobView& view) {
  if (kind.hook != nullptr && kind.hook->is_started != nullptr) {
    view.has_additions = kind.hook->is_started(object);
  }
  Evaluation evaluation(kind, object, reads);
  if (kind.pods) BERTH_CHECK_OK(ReadParent(*kind.pods, evaluation, view));
  const Result<Expansion> expansion = Expansion::Of(kind, object, reads);
  if (expansion) expansion->TellTo(evaluation);
  // The state of a job counts although its pod sets cannot be read: it may run, or be over.
  Status state = ReadState(kind, evaluation, view);
  if (!expansion) return expansion.error();
  BERTH_TRY(const std::vector<PlacedPodSet> pod_sets,
            ReadPodSets(kind, object, expansion->tree(), evaluation));
  view.state_unknown = !state;
  if (!state) return state;
  if (kind.problem) {
    BERTH_TRY(std::string problem, evaluation.Text("problem", *kind.problem, evaluation.base()));
    if (!problem.empty()) return Error{ErrorCode::kNotFound, std::move(problem)};
  }
  if (view.elastic) BERTH_CHECK_OK(ReadVariant(kind, evaluation, view));
  Status reclaimable = ReadReclaimable(kind, pod_sets, evaluation, view);
  view.state_unknown = !reclaimable;
  if (!reclaimable) return reclaimable;
  for (const PlacedPodSet& placed : pod_sets) view.pod_sets.push_back(placed.pods);
  return OkStatus();
}

// The labels of the template that its Workload lacks.
api::StringMap DroppedLabels(const PodSetRule& rule, const Json& pod_template) {
  api::StringMap labels;
  for (const std::string& label : rule.dropped_labels) {
    const Json* value = FindField(pod_template, {"metadata", "labels", label});
    if (value != nullptr && value->is_string()) labels[label] = value->get<std::string>();
  }
  return labels;
}

// Gives the template the change's labels, annotations, node selector, tolerations and gates.
void WriteTemplate(const PodSetRule& rule, const PodSetChange& change, Json& pod_template) {
  api::StringMap labels = DroppedLabels(rule, pod_template);
  labels.insert(change.labels.begin(), change.labels.end());
  const auto metadata = pod_template.find("metadata");
  if (metadata != pod_template.end() || !labels.empty() || !change.annotations.empty()) {
    SetOrErase(MakePart(pod_template, "metadata"), "labels", labels);
    SetOrErase(MakePart(pod_template, "metadata"), "annotations", change.annotations);
    if (pod_template["metadata"].empty()) pod_template.erase("metadata");
  }
  Json& spec = MakePart(pod_template, "spec");
  SetOrErase(spec, "nodeSelector", change.node_selector);
  Json tolerations = Json::array();
  for (const api::Toleration& each : change.tolerations) tolerations.push_back(api::Encode(each));
  SetOrErase(spec, "tolerations", std::move(tolerations));
  Json gates = Json::array();
  for (const std::string& gate : change.scheduling_gates) gates.push_back({{"name", gate}});
  SetOrErase(spec, "schedulingGates", std::move(gates));
}

// Partial admission: fewer pods than the owner wants, and that number again. Where `count` is a
// multiple of the number, no more pods than the change has.
void WriteNumber(const PlacedPodSet& placed, const PodSetChange& change, Json& object) {
  const std::int64_t count = placed.pods.count;
  if (placed.number.empty() || !change.count_is_partial || change.count == count) return;
  const Json::json_pointer at(placed.number);
  const bool known = object.contains(at) && object.at(at).is_number_integer();
  if (!known || count == 0) return;
  object[at] = object.at(at).get<std::int64_t>() * change.count / count;
}

enum class Missing { kLeave, kWrite };  // templates that the object lacks

// False where the object's pod sets are not those of the changes; nothing is written then.
bool WriteTemplates(const KindDescription& kind, const std::vector<PodSetChange>& changes,
                    Missing missing, Json& object) {
  const Json before = object;
  Evaluation evaluation(kind, before);
  const Result<std::vector<PlacedPodSet>> pod_sets = ReadPodSets(kind, before, before, evaluation);
  if (!pod_sets || pod_sets->size() != changes.size()) return false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const PlacedPodSet& placed = (*pod_sets)[i];
    const Json::json_pointer pointer(placed.pointer);
    WriteNumber(placed, changes[i], object);
    if (placed.made != nullptr && missing == Missing::kWrite) object[pointer] = *placed.made;
    // A template inside another template may have gone with the other's fields.
    if (!object.contains(pointer)) continue;
    WriteTemplate(*placed.rule, changes[i], object.at(pointer));
  }
  return true;
}

bool IsElastic(const KindDescription& kind, const api::ObjectMeta& meta) {
  const std::string* elastic = api::FindValue(meta.annotations, api::kElasticJobAnnotation);
  return kind.review.elastic && elastic != nullptr && *elastic == "true";
}

Error OtherPodSets() {
  return {ErrorCode::kInvalid, "the job's pod sets are not those of its Workload"};
}

// The object with the additions that its kind's hook writes, still held.
Result<Json> WithAdditions(const KindDescription& kind, const Json& object,
                           const std::vector<PodSetChange>& changes, const ReadObjects& reads) {
  Evaluation evaluation(kind, object, reads);
  BERTH_TRY(const Expansion expansion, Expansion::Of(kind, object, reads));
  expansion.TellTo(evaluation);
  BERTH_TRY(const std::vector<PlacedPodSet> placed,
            ReadPodSets(kind, object, expansion.tree(), evaluation));
  if (placed.size() != changes.size()) return OtherPodSets();
  std::vector<HookedPodSet> pod_sets;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    pod_sets.push_back({changes[i], OriginalPodSet(placed[i].pods)});
  }
  Json changed = object;
  BERTH_CHECK_OK(kind.hook->start(pod_sets, changed));
  return changed;
}

}  // namespace

bool IsDelegated(const KindDescription& kind, const Json& object) {
  if (kind.managed_by.empty()) return false;
  const Json* manager = FindField(object, kind.managed_by);
  return manager != nullptr && *manager == api::kMultiKueueController;
}

bool IsSuspended(const KindDescription& kind, const Json& object) {
  return kind.held_by->IsHeld(object);
}

void SetSuspended(const KindDescription& kind, bool suspended, Json& object) {
  if (suspended) {
    kind.held_by->Hold(object);
  } else {
    kind.held_by->Release(object);
  }
}

Result<std::vector<DescribedPodSet>> PodSetsOf(const KindDescription& kind, const Json& object,
                                               const ReadObjects& reads) {
  const WantedObject wanted(*kind.held_by, object);
  Evaluation evaluation(kind, *wanted, reads);
  BERTH_TRY(const Expansion expansion, Expansion::Of(kind, *wanted, reads));
  expansion.TellTo(evaluation);
  BERTH_TRY(std::vector<PlacedPodSet> placed,
            ReadPodSets(kind, *wanted, expansion.tree(), evaluation));
  std::vector<DescribedPodSet> pod_sets;
  for (PlacedPodSet& each : placed) {
    pod_sets.push_back({std::move(each.pods), std::move(each.field), std::move(each.pointer),
                        std::move(each.pod_labels)});
  }
  return pod_sets;
}

Result<DescribedPodSet> PodSetOfGroup(const KindDescription& kind, const Json& object,
                                      const Json& group) {
  Evaluation evaluation(kind, object);
  BERTH_TRY(PlacedPodSet placed, ReadGroupPodSet(*kind.hold->groups, group, evaluation));
  return DescribedPodSet{std::move(placed.pods), std::move(placed.field), "",
                         std::move(placed.pod_labels)};
}

bool CanRestart(const KindDescription& kind, const Json& object) {
  if (!kind.hold || !kind.hold->restart) return false;
  Evaluation evaluation(kind, object);
  const Result<bool> can =
      evaluation.Bool("restart.when", kind.hold->restart->when, evaluation.base());
  return can && *can;
}

Result<JobView> ViewOf(const KindPtr& kind, const Json& object, const ReadObjects& reads) {
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  JobView view;
  view.kind = &kind->kind;
  view.meta = std::move(meta);
  view.is_delegated = IsDelegated(*kind, object);
  view.elastic = IsElastic(*kind, view.meta);
  view.suspended = kind->held_by->IsHeld(object);
  Status read = kind->held_by->Check(object);
  if (read) read = ReadAll(*kind, *WantedObject(*kind->held_by, object), reads, view);
  if (!read) {
    view.problem = read.error().message;
    view.lacks_object = read.error().code == ErrorCode::kNotFound;
  }
  view.reads_objects = kind->hook != nullptr && !kind->reads.empty();
  return view;
}

std::vector<std::string> NamesToRead(const KindDescription& kind, const Json& object) {
  std::vector<std::string> names;
  Evaluation evaluation(kind, object);
  for (const ReadRule& rule : kind.reads) {
    const Result<std::string> name = evaluation.Text("reads.name", rule.name, evaluation.base());
    names.push_back(name ? *name : std::string());
  }
  return names;
}

Result<std::vector<Json>> Started(const KindDescription& kind, const Json& object,
                                  const std::vector<PodSetChange>& changes,
                                  const ReadObjects& reads) {
  std::vector<Json> states;
  if (kind.hook != nullptr) {
    BERTH_TRY(Json changed, WithAdditions(kind, object, changes, reads));
    states.push_back(std::move(changed));
    if (kind.hook->only_while_held) states.push_back(states.front());
  } else {
    states.push_back(object);
    SetSuspended(kind, false, states.front());
    if (!WriteTemplates(kind, changes, Missing::kWrite, states.front())) return OtherPodSets();
  }
  SetSuspended(kind, false, states.back());
  return states;
}

std::vector<Json> Stopped(const KindDescription& kind, const Json& object,
                          const std::vector<PodSetChange>& originals, bool active) {
  std::vector<Json> states;
  states.push_back(kind.hook == nullptr ? *WantedObject(*kind.held_by, object) : object);
  if (kind.hook == nullptr) {
    if (!originals.empty()) WriteTemplates(kind, originals, Missing::kLeave, states.front());
    SetSuspended(kind, true, states.front());
    return states;
  }
  SetSuspended(kind, true, states.front());
  if (kind.hook->only_while_held) {
    if (active) return states;
    states.push_back(states.front());
  }
  kind.hook->stop(originals, states.back());
  return states;
}

}  // namespace berth::integrations
