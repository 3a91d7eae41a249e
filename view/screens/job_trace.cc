#include "view/screens/job_trace.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "view/screens/told_workload.h"

namespace berth::view {
namespace {

constexpr std::size_t kBarWidth = 32;

std::optional<WallTime> TrueSince(const api::Workload& workload, const char* type) {
  const api::Condition* condition = api::FindCondition(workload.status.conditions, type);
  if (condition == nullptr || condition->status != api::ConditionStatus::kTrue) return std::nullopt;
  return condition->last_transition_time;
}

// When `wanted` of the pods had reached the instant; nullopt: so many have not. Later pods replace
// failed ones, or follow pods that are complete.
std::optional<WallTime> WhenReached(const std::vector<const PodView*>& pods, std::size_t wanted,
                                    std::optional<WallTime> PodView::*instant) {
  std::vector<WallTime> reached;
  for (const PodView* pod : pods) {
    if (pod->*instant) reached.push_back(*(pod->*instant));
  }
  if (wanted == 0 || reached.size() < wanted) return std::nullopt;
  std::sort(reached.begin(), reached.end());
  return reached[wanted - 1];
}

// The number of pods that the Workload was admitted with.
std::size_t WantedPods(const api::Workload& workload) {
  std::int64_t wanted = 0;
  if (workload.status.admission) {
    for (const auto& each : workload.status.admission->pod_set_assignments) wanted += each.count;
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0));
}

std::int64_t EvictionsOf(const api::Workload& workload) {
  std::int64_t evictions = 0;
  for (const api::EvictionCount& each : workload.status.evictions) evictions += each.count;
  return evictions;
}

const api::Job* JobOf(const ClusterView& view, const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr) return nullptr;
  for (const api::Job& job : view.jobs) {
    if (job.meta.uid == owner->uid) return &job;
  }
  return nullptr;
}

std::string QueueDetail(const ClusterView& view, const api::Workload& workload) {
  const std::string queue = ClusterQueueOf(view, workload);
  std::string detail = "LocalQueue " + workload.spec.queue_name + " → ClusterQueue " +
                       (queue.empty() ? "(none)" : queue);
  if (!workload.spec.active && !IsFinished(workload)) detail += "; it is deactivated";
  if (const std::int64_t evictions = EvictionsOf(workload); evictions > 0) {
    detail += fmt::format("; stopped {} meanwhile: berth history tells of each attempt",
                          evictions == 1 ? "once" : fmt::format("{} times", evictions));
  }
  return detail;
}

// "ProvisioningRequest x, Accepted after 3s, Provisioned after 4m10s"
std::string RequestDetail(const api::ProvisioningRequest& request) {
  std::string detail = "ProvisioningRequest " + request.meta.name;
  for (const char* type : {"Accepted", "Provisioned", "Failed", "CapacityRevoked"}) {
    const api::Condition* condition = api::FindCondition(request.conditions, type);
    if (condition == nullptr || condition->status != api::ConditionStatus::kTrue) continue;
    detail += fmt::format(
        ", {} after {}", type,
        HumanDuration(condition->last_transition_time - request.meta.creation_timestamp));
  }
  return detail;
}

class Tracer {
 public:
  // The Workload of a slice that replaces another one is younger than its job.
  Tracer(const ClusterView& view, const api::Workload& workload)
      : view_(view),
        workload_(workload),
        job_(workload.meta.annotations.contains(api::kSliceReplacementForAnnotation)
                 ? nullptr
                 : JobOf(view, workload)),
        wanted_(WantedPods(workload)) {
    const std::optional<WallTime> admitted = AdmittedAt();
    for (const PodView& pod : view.pods) {
      if (pod.namespace_name != workload.meta.namespace_name) continue;
      if (admitted && pod.created && *pod.created < *admitted && job_ != nullptr) continue;
      pods_.push_back(&pod);
    }
    // Pods of a job that has ended are deleted sooner or later.
    if (IsFinished(workload) && pods_.size() < wanted_) pods_.clear();
  }

  Trace Run() {
    trace_.subject = DisplayName(workload_);
    trace_.created =
        job_ == nullptr ? workload_.meta.creation_timestamp : job_->meta.creation_timestamp;
    trace_.not_seen = NotSeen(view_);
    trace_.ended = TrueSince(workload_, api::kFinished);
    at_ = trace_.created;
    if (job_ != nullptr) Add("seen", workload_.meta.creation_timestamp, "Berth makes its Workload");
    Add(EvictionsOf(workload_) > 0 ? "quota, attempts" : "quota", ReservedAt(),
        QueueDetail(view_, workload_));
    if (at_) AddChecks();
    Add("admission", AdmittedAt(),
        workload_.status.admission_checks.empty() ? "the queue admits the Workload"
                                                  : "all checks are ready");
    if (at_) AddRun();
    return std::move(trace_);
  }

 private:
  // A finished Workload was admitted: the conditions stay.
  std::optional<WallTime> ReservedAt() const { return TrueSince(workload_, api::kQuotaReserved); }
  std::optional<WallTime> AdmittedAt() const { return TrueSince(workload_, api::kAdmitted); }

  // A step from the end of the last one. The steps after a step that lasts, or in which the
  // Workload ended, are not begun.
  void Add(const std::string& name, std::optional<WallTime> end, std::string detail) {
    if (!at_) return;
    const WallTime begin = *at_;
    at_ = end ? std::optional<WallTime>(std::max(*end, begin)) : std::nullopt;
    trace_.spans.push_back({name, begin, at_ ? at_ : trace_.ended, std::move(detail)});
  }

  void AddChecks() {
    const WallTime begin = *at_;
    std::optional<WallTime> last = begin;
    for (const api::AdmissionCheckState& check : workload_.status.admission_checks) {
      const api::ProvisioningRequest* request = FindProvisioningRequest(view_, workload_, check);
      const bool is_capacity = request != nullptr;
      TraceSpan span{is_capacity ? "capacity" : "check " + check.name, begin, std::nullopt,
                     is_capacity ? RequestDetail(*request) : check.message};
      if (check.state == api::CheckState::kReady) {
        span.end = std::max(begin, check.last_transition_time);
        if (last) last = std::max(*last, *span.end);
      } else {
        last = std::nullopt;
        span.end = trace_.ended;
      }
      trace_.spans.push_back(std::move(span));
    }
    at_ = last;
  }

  // From the admission until the containers run, and until they end.
  void AddRun() {
    if (job_ != nullptr) Add("start", job_->start_time, "the job's controller starts it");
    const auto count = fmt::format("{} pod{}", wanted_, wanted_ == 1 ? "" : "s");
    const bool has_pods = !pods_.empty() && wanted_ > 0;
    if (has_pods) {
      Add("pods", WhenReached(pods_, wanted_, &PodView::created), count + " made");
      Add("nodes", WhenReached(pods_, wanted_, &PodView::scheduled), "the scheduler finds nodes");
      Add("containers", WhenReached(pods_, wanted_, &PodView::started),
          "images, volumes, processes");
      trace_.running = at_;
    }
    Add("run", trace_.ended, has_pods ? count : "no pods are seen");
  }

  const ClusterView& view_;
  const api::Workload& workload_;
  const api::Job* const job_;
  const std::size_t wanted_;
  std::vector<const PodView*> pods_;
  Trace trace_;
  std::optional<WallTime> at_;  // the end of the last step; nullopt: the step lasts
};

WallTime EndOf(const ClusterView& view, const Trace& trace) {
  return std::max(trace.ended.value_or(view.now), trace.created);
}

std::string SpanBar(const TraceSpan& span, WallTime begin, WallTime end, const TextStyle& style) {
  const double whole = std::max<double>(1, static_cast<double>((end - begin).count()));
  const auto column = [&](WallTime at) {
    const double part = static_cast<double>((at - begin).count()) / whole;
    return static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kBarWidth);
  };
  const std::size_t first = std::min(column(span.begin), kBarWidth - 1);
  const std::size_t last = std::max(first + 1, column(span.end.value_or(end)));
  std::string bar(first, ' ');
  for (std::size_t at = first; at < last; ++at) bar += style.ascii ? "#" : "█";
  bar.append(kBarWidth - std::min(kBarWidth, last), ' ');
  return bar;
}

// The step that took most of the time until the containers ran; nullptr: no step took any time.
const TraceSpan* Longest(const ClusterView& view, const Trace& trace) {
  const TraceSpan* longest = nullptr;
  Duration most{};
  for (const TraceSpan& span : trace.spans) {
    const Duration length = span.end.value_or(view.now) - span.begin;
    if (span.name == "run" || length <= most) continue;
    most = length;
    longest = &span;
  }
  return longest;
}

std::string Headline(const ClusterView& view, const Trace& trace) {
  const auto lasts = std::find_if(trace.spans.begin(), trace.spans.end(),
                                  [](const TraceSpan& span) { return !span.end; });
  std::string line = trace.subject;
  if (trace.running) {
    line += " ran " + HumanDuration(*trace.running - trace.created) + " after its creation";
  } else if (trace.ended) {
    line += " ended " + HumanDuration(*trace.ended - trace.created) + " after its creation";
  } else {
    line += " was created " + HumanDuration(view.now - trace.created) + " ago";
  }
  if (trace.ended && trace.running) {
    line += ", and ended " + HumanDuration(*trace.ended - *trace.running) + " later";
  }
  if (lasts != trace.spans.end() && lasts->name != "run") {
    line += "; the step lasts: " + lasts->name;
  }
  if (const TraceSpan* longest = Longest(view, trace)) {
    const Duration length = longest->end.value_or(view.now) - longest->begin;
    line += fmt::format(".\nMost of the wait: {}, {}", longest->name, HumanDuration(length));
  }
  return line + ".\n\n";
}

}  // namespace

Result<Trace> TraceJob(const ClusterView& view, const std::string& namespace_name,
                       const std::string& reference) {
  BERTH_TRY(const api::Workload* told, FindToldWorkload(view, namespace_name, reference));
  return Tracer(view, *told).Run();
}

std::string RenderTrace(const ClusterView& view, const Trace& trace, const TextStyle& style) {
  TextTable table({{"STEP"}, {"AFTER", Align::kRight}, {"TOOK", Align::kRight}, {""}, {"WHAT"}});
  const WallTime end = EndOf(view, trace);
  for (const TraceSpan& span : trace.spans) {
    const std::string took = HumanDuration(span.end.value_or(view.now) - span.begin);
    table.AddRow({span.name, HumanDuration(span.begin - trace.created),
                  span.end ? took : took + (style.ascii ? "..." : "…"),
                  SpanBar(span, trace.created, end, style), span.detail});
  }
  std::string out = Headline(view, trace) + table.Render(style);
  for (const std::string& line : trace.not_seen) out += "\n" + line;
  if (!trace.not_seen.empty()) out += "\n";
  return out;
}

nlohmann::json TraceJson(const ClusterView& view, const Trace& trace) {
  using Json = nlohmann::json;
  const auto seconds = [](Duration span) {
    return std::chrono::duration_cast<std::chrono::seconds>(span).count();
  };
  const auto time = [](const std::optional<WallTime>& at) {
    return at ? Json(FormatTime(*at)) : Json();
  };
  Json spans = Json::array();
  for (const TraceSpan& span : trace.spans) {
    spans.push_back({{"name", span.name},
                     {"begin", FormatTime(span.begin)},
                     {"end", time(span.end)},
                     {"seconds", seconds(span.end.value_or(view.now) - span.begin)},
                     {"detail", span.detail}});
  }
  return {{"subject", trace.subject},       {"created", FormatTime(trace.created)},
          {"running", time(trace.running)}, {"ended", time(trace.ended)},
          {"steps", std::move(spans)},      {"notSeen", trace.not_seen}};
}

}  // namespace berth::view
