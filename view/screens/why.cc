#include "view/screens/why.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/checkpoint.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/capacity_story.h"
#include "view/screens/deadline_line.h"
#include "view/screens/levers.h"
#include "view/screens/place_in_queue.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

const api::Condition* Find(const api::Workload& workload, const char* type) {
  return api::FindCondition(workload.status.conditions, type);
}
bool Has(const api::Workload& workload, const char* type) {
  return api::IsTrue(workload.status.conditions, type);
}

std::string FlavorsLine(const api::Workload& workload) {
  std::vector<std::string> parts;
  for (const auto& assignment : workload.status.admission->pod_set_assignments) {
    std::map<std::string, std::vector<std::string>> amounts_by_flavor;
    for (const auto& [resource, flavor] : assignment.flavors) {
      const auto used = assignment.resource_usage.find(resource);
      const api::Amount amount = used == assignment.resource_usage.end() ? 0 : used->second;
      amounts_by_flavor[flavor].push_back(resource + " " + ShowFinite(resource, amount));
    }
    for (const auto& [flavor, amounts] : amounts_by_flavor) {
      parts.push_back(flavor + ": " + Join(amounts, ", "));
    }
  }
  return Join(parts, "; ");
}

bool IsDeactivated(const api::Workload& workload) {
  return !workload.spec.active && !IsFinished(workload);
}

Step QueuedStep(const ClusterView& view, const api::Workload& workload) {
  Step step{.name = "queued", .state = StepState::kDone, .since = workload.meta.creation_timestamp};
  const std::string queue = ClusterQueueOf(view, workload);
  step.lines.push_back("LocalQueue " + workload.spec.queue_name + " → ClusterQueue " +
                       (queue.empty() ? "(none)" : queue));
  if (std::string deadline = DeadlineLine(view, workload); !deadline.empty()) {
    step.lines.push_back(std::move(deadline));
  }
  return step;
}

// "behind team-a/train-6 (same request), 4th of 9 in LocalQueue team-a/main"; empty: the workload
// was tried itself.
std::string BehindEqual(const ClusterView& view, const api::Workload& workload) {
  if (!WasBypassed(workload)) return "";
  const auto places = PlacesInQueues(view);
  const auto place = places.find(&workload);
  if (place == places.end() || place->second.equal == nullptr) return "";
  return BehindText(*place->second.equal) + ", " + PositionText(place->second) + " in LocalQueue " +
         workload.meta.namespace_name + "/" + workload.spec.queue_name;
}

// What stops cost, where this is more than the job claims in its annotation.
void AddStops(const api::Workload& workload, const Reason& reason, Step& step) {
  const auto every = api::CheckpointEvery(workload.meta.annotations);
  if (!reason.stops || !every || !*every || reason.stops->lost <= **every) return;
  step.lines.push_back("checkpoints: each " + HumanDuration(**every) + ", says its annotation " +
                       api::kCheckpointEveryAnnotation + "; but each of " +
                       std::to_string(reason.stops->count) + " stops of jobs like it cost " +
                       HumanDuration(reason.stops->lost) +
                       " of work (median), so rules on victims count this time");
}

void AddEviction(const ClusterView& view, const api::Workload& workload, Step& step) {
  const api::Condition* evicted = Find(workload, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue) return;
  step.lines.push_back("was stopped " + FormatTime(evicted->last_transition_time) + " (" +
                       evicted->reason + ")" + (evicted->message.empty() ? "" : ": ") +
                       evicted->message);
  if (evicted->reason != api::kPreempted) return;
  // The condition has the preemptor's UID alone.
  for (const api::Workload& other : view.workloads) {
    if (other.meta.uid.empty() || &other == &workload) continue;
    if (evicted->message.find("UID: " + other.meta.uid) == std::string::npos) continue;
    step.lines.push_back("made room for " + DisplayName(other) + " (priority " +
                         std::to_string(PriorityOf(other)) + ")");
    return;
  }
}

// Adds the number of occurrences, and earlier reasons.
void AddHistory(const api::Workload& workload, const Reason& reason, Step& step) {
  constexpr std::size_t kMostEarlier = 3;
  const api::Condition* now = Find(workload, api::kQuotaReserved);
  std::size_t earlier = 0;
  for (auto past = reason.history.rbegin(); past != reason.history.rend(); ++past) {
    const std::string times = past->count == 1 ? "once" : std::to_string(past->count) + " times";
    if (past == reason.history.rbegin() && now != nullptr && past->reason == now->reason) {
      if (past->count > 1 && past->first) {
        step.lines.push_back("found " + times + " since " + FormatTime(*past->first));
      }
      continue;
    }
    if (++earlier > kMostEarlier || !past->last) break;
    step.lines.push_back("earlier: " + past->reason + " " + times + ", last " +
                         FormatTime(*past->last) + ": " + past->message);
  }
}

Step QuotaStep(const ClusterView& view, const api::Workload& workload, const TextStyle& style) {
  Step step{.name = "quota reserved"};
  if (Has(workload, api::kQuotaReserved) && workload.status.admission) {
    step.state = StepState::kDone;
    step.since = Find(workload, api::kQuotaReserved)->last_transition_time;
    step.lines.push_back(FlavorsLine(workload));
    for (const auto& assignment : workload.status.admission->pod_set_assignments) {
      for (const auto& [resource, flavor] : assignment.flavors) {
        const auto used = assignment.resource_usage.find(resource);
        if (used == assignment.resource_usage.end()) continue;
        step.assigned.push_back({assignment.name, flavor, resource, used->second});
      }
    }
    AddEviction(view, workload, step);
    return step;
  }
  step.state = workload.spec.active ? StepState::kNow : StepState::kFailed;
  step.since = WaitingSince(workload);
  const Reason reason = WaitingReason(view, workload, style);
  step.reason = reason;
  step.lines.push_back(reason.Line());
  if (const std::string behind = BehindEqual(view, workload); !behind.empty()) {
    step.lines.push_back(behind);
  }
  for (const QueueTrouble& trouble : QueueTroubles(view, workload)) {
    step.lines.push_back(trouble.fact);
  }
  for (const TriedFlavor& tried : reason.tried) {
    if (tried.message.empty() || reason.summary.find(tried.message) != std::string::npos) continue;
    step.lines.push_back((tried.flavor.empty() ? "" : "flavor " + tried.flavor + ": ") +
                         tried.message);
  }
  for (const ConsideredVictim& victim : reason.victims) {
    step.lines.push_back("not preempted: " + victim.workload + ", " + victim.why_not);
  }
  if (!reason.may_preempt.empty()) {
    step.lines.push_back("the queue may preempt " + reason.may_preempt);
  }
  AddStops(workload, reason, step);
  AddHistory(workload, reason, step);
  const std::string queue = ClusterQueueOf(view, workload);
  if (StrictHead(view, workload) != nullptr) {
    step.lines.push_back("ClusterQueue " + queue +
                         " is StrictFIFO: no workload passes its first one");
  }
  if (const auto place = view.kept_places.find(workload.meta.key());
      place != view.kept_places.end()) {
    step.lines.push_back("the queue keeps a place for it at " + FormatTime(place->second.from) +
                         ": it has waited longer than " + HumanDuration(place->second.after) +
                         ", and no other workload may start that would delay it");
  }
  if (view.waiting_before) {
    const std::string count = std::to_string(*view.waiting_before);
    step.lines.push_back("workloads before it in ClusterQueue " + queue + ": " + count);
  }
  for (const api::Workload* other : InQueueOrder(view)) {
    if (other == &workload) break;
    if (ClusterQueueOf(view, *other) != queue) continue;
    if (Has(*other, api::kQuotaReserved)) continue;
    step.lines.push_back("stands before it: " + DisplayName(*other));
    if (step.lines.size() > 8) {
      step.lines.push_back("… and more");
      break;
    }
  }
  AddEviction(view, workload, step);
  return step;
}

std::vector<Step> CheckSteps(const ClusterView& view, const api::Workload& workload) {
  std::vector<Step> steps;
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    const api::ProvisioningRequest* request = FindProvisioningRequest(view, workload, check);
    const bool is_capacity = request != nullptr;
    Step step{.name = is_capacity ? "capacity" : "check " + check.name,
              .since = check.last_transition_time};
    const bool has_quota = Has(workload, api::kQuotaReserved);
    if (check.state == api::CheckState::kReady) {
      step.state = StepState::kDone;
    } else if (check.state == api::CheckState::kRejected) {
      step.state = StepState::kFailed;
    } else {
      step.state = has_quota ? StepState::kNow : StepState::kAhead;
    }
    if (is_capacity) {
      step.lines = RequestLines(view, workload, *request);
      step.capacity = CapacityOf(view, workload, *request);
    }
    if (!is_capacity && !check.message.empty()) step.lines.push_back(check.message);
    AddPolicy(workload, check, request, step);
    steps.push_back(std::move(step));
  }
  return steps;
}

// Nodes are chosen once capacity exists: the second pass of scheduling.
std::vector<Step> TopologySteps(const api::Workload& workload) {
  if (!workload.status.admission) return {};
  Step step{.name = "topology"};
  bool is_delayed = false;
  bool is_open = false;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    is_delayed = is_delayed || !assigned.delayed_topology_request.empty();
    is_open = is_open || assigned.delayed_topology_request == "Pending";
  }
  if (!is_delayed) return {};
  const auto& checks = workload.status.admission_checks;
  const bool is_next = std::all_of(checks.begin(), checks.end(), [](const auto& check) {
    return check.state == api::CheckState::kReady;
  });
  step.state = !is_open ? StepState::kDone : is_next ? StepState::kNow : StepState::kAhead;
  if (is_open && is_next) step.lines.push_back("nodes are being chosen for its pods");
  return {step};
}

Step AdmittedStep(const api::Workload& workload) {
  Step step{.name = "admitted"};
  if (!Has(workload, api::kAdmitted)) return step;
  step.state = StepState::kDone;
  step.since = Find(workload, api::kAdmitted)->last_transition_time;
  return step;
}

std::vector<Step> RunSteps(const ClusterView& view, const api::Workload& workload) {
  Step running{.name = "running"};
  if (IsFinished(workload)) {
    const api::Condition* finished = Find(workload, api::kFinished);
    running.state = StepState::kDone;
    return {running,
            {.name = "finished",
             .state = finished->reason == api::kSucceeded ? StepState::kDone : StepState::kFailed,
             .since = finished->last_transition_time,
             .lines = {FinishedResult(view, workload)}}};
  }
  if (IsRunning(workload)) {
    running.state = StepState::kNow;
    const std::string location = RunningPlace(view, workload);
    if (!location.empty()) running.lines.push_back(location);
  }
  return {running};
}

std::string Headline(const ClusterView& view, const api::Workload& workload, const Story& story) {
  if (IsFinished(workload)) return "is over: " + FinishedResult(view, workload);
  if (!workload.spec.active) return "is deactivated and does not queue";
  if (IsRunning(workload)) {
    const std::string since =
        HumanDuration(view.now - Find(workload, api::kAdmitted)->last_transition_time);
    const std::string lack = LackOfPods(view, workload);
    if (IsWithoutPods(view, workload)) return "is admitted since " + since + "; " + lack;
    return "runs since " + since + (lack.empty() ? "" : "; " + lack);
  }
  std::string what = "its turn";
  for (const Step& step : story.steps) {
    if (step.state != StepState::kNow) continue;
    what = step.name == "quota reserved" ? "quota" : step.name;
    if (step.name == "quota reserved") {
      const std::string kind = WaitingReason(view, workload, {}).kind;
      if (kind == "too large") {
        what = "more quota than its queue can ever get";
      } else if (kind != "quota" && kind != "queued") {
        what = "its queue (" + kind + ")";
      }
    }
    break;
  }
  return "has waited " + HumanDuration(view.now - WaitingSince(workload)) + ": for " + what;
}

Story StoryOf(const ClusterView& view, const api::Workload& workload, const TextStyle& style) {
  Story story{.subject = DisplayName(workload)};
  story.steps.push_back(QueuedStep(view, workload));
  story.steps.push_back(QuotaStep(view, workload, style));
  for (Step& step : CheckSteps(view, workload)) story.steps.push_back(std::move(step));
  for (Step& step : TopologySteps(workload)) story.steps.push_back(std::move(step));
  story.steps.push_back(AdmittedStep(workload));
  for (Step& step : RunSteps(view, workload)) story.steps.push_back(std::move(step));
  if (IsWaiting(workload) || IsDeactivated(workload)) {
    story.would_start_if = Levers(view, workload, style);
  }
  story.gives_up = GivesUp(view, workload);
  story.headline = Headline(view, workload, story);
  story.not_seen = NotSeen(view);
  return story;
}

std::string Mark(StepState state, const TextStyle& style) {
  switch (state) {
    case StepState::kDone: return Paint(style.ascii ? "+" : "✓", Color::kGreen, style);
    case StepState::kNow: return Paint(style.ascii ? "*" : "◷", Color::kYellow, style);
    case StepState::kAhead: return style.ascii ? "-" : "·";
    case StepState::kFailed: return Paint(style.ascii ? "x" : "✗", Color::kRed, style);
  }
  return "";
}

}  // namespace

Result<Story> TellStory(const ClusterView& view, const std::string& namespace_name,
                        const std::string& reference, const TextStyle& style) {
  BERTH_TRY(const api::Workload* told, FindToldWorkload(view, namespace_name, reference));
  return StoryOf(view, *told, style);
}

std::string RenderStory(const ClusterView& view, const Story& story, const TextStyle& style) {
  std::string out = Paint(story.subject, Color::kBold, style) + " " + story.headline + ".\n\n";
  std::size_t name_width = 0;
  for (const Step& step : story.steps) name_width = std::max(name_width, step.name.size());
  for (const Step& step : story.steps) {
    std::string when;
    if (step.since && step.state == StepState::kNow) {
      when = HumanDuration(view.now - *step.since);
    } else if (step.since) {
      when = FormatTime(*step.since);
    }
    constexpr std::size_t kWhenWidth = 20;
    std::string head = "  " + Mark(step.state, style) + " " + step.name;
    head.append(name_width - step.name.size() + 2, ' ');
    head += when;
    const std::size_t begins_at = 4 + name_width + 2 + kWhenWidth + 2;
    for (const std::string& line : step.lines) {
      const std::size_t width = DisplayWidth(head);
      head.append(width < begins_at ? begins_at - width : 1, ' ');
      out += head + line + "\n";
      head.clear();
    }
    if (step.lines.empty()) out += head.substr(0, head.find_last_not_of(' ') + 1) + "\n";
  }
  if (!story.would_start_if.empty()) {
    out += "\nIt would start if\n";
    for (const std::string& lever : story.would_start_if) {
      out += (style.ascii ? "  - " : "  · ") + lever + "\n";
    }
  }
  if (!story.gives_up.empty()) out += "It gives up: " + story.gives_up + ".\n";
  for (const std::string& line : story.not_seen) out += "\n" + line;
  if (!story.not_seen.empty()) out += "\n";
  return out;
}

nlohmann::json StoryJson(const Story& story) {
  using Json = nlohmann::json;
  constexpr std::array<const char*, 4> kStates{"done", "now", "ahead", "failed"};
  Json steps = Json::array();
  for (const Step& step : story.steps) {
    Json out = {{"name", step.name},
                {"state", kStates.at(static_cast<std::size_t>(step.state))},
                {"since", step.since ? Json(FormatTime(*step.since)) : Json()},
                {"lines", step.lines}};
    if (step.capacity) out["capacity"] = CapacityJson(*step.capacity);
    if (!step.tried.empty()) out["tried"] = TriedJson(step.tried);
    if (step.reason) out["reason"] = ReasonJson(*step.reason);
    for (const AssignedAmount& each : step.assigned) {
      out["assigned"].push_back({{"podSet", each.pod_set},
                                 {"flavor", each.flavor},
                                 {"resource", each.resource},
                                 {"unit", UnitOf(each.resource)},
                                 {"amount", each.amount}});
    }
    steps.push_back(std::move(out));
  }
  return {{"subject", story.subject},  {"headline", story.headline},
          {"steps", std::move(steps)}, {"wouldStartIf", story.would_start_if},
          {"notSeen", story.not_seen}, {"givesUp", story.gives_up}};
}

}  // namespace berth::view
