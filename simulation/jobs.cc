#include "simulation/jobs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace berth::simulation {
namespace {

constexpr std::size_t kMaxListed = 8;  // queues in a message

class Binder {
 public:
  Binder(const Cluster& cluster, const std::string& default_queue, TraceUnit unit)
      : cluster_(cluster), default_queue_(default_queue), unit_(unit) {
    for (std::size_t i = 0; i < cluster.local_queues.size(); ++i) {
      const api::ObjectMeta& meta = cluster.local_queues[i].meta;
      by_name_[meta.name].push_back(i);
      by_name_[meta.key().ToString()].push_back(i);
    }
  }

  Result<Job> Bind(const TraceJob& row) {
    Job job;
    job.line = row.line;
    job.submit = row.submit;
    job.run = row.run;
    job.result = row.result;
    job.failed = row.failed;
    job.walltime = row.walltime;
    job.user = row.user;
    BERTH_TRY(job.local_queue, QueueOf(row));
    BERTH_CHECK_OK(SetPriority(row, job));
    BERTH_TRY(job.shape, ShapeOf(row));
    return job;
  }

 private:
  // "line 3: …", or "job 3: …".
  Error At(const TraceJob& row, const std::string& problem) const {
    return {ErrorCode::kInvalid,
            std::string(ToString(unit_)) + " " + std::to_string(row.line) + ": " + problem};
  }

  std::string Listed() const {
    std::vector<std::string> names;
    for (const api::LocalQueue& queue : cluster_.local_queues) {
      if (names.size() == kMaxListed) {
        names.emplace_back("…");
        break;
      }
      names.push_back(queue.meta.key().ToString());
    }
    return Join(names, ", ");
  }

  Result<std::size_t> QueueOf(const TraceJob& row) const {
    const std::string& name = row.queue.empty() ? default_queue_ : row.queue;
    if (name.empty()) {
      if (cluster_.local_queues.size() == 1) return std::size_t{0};
      return At(row, "the " + std::string(unit_ == TraceUnit::kJob ? "job" : "row") +
                         " names no queue, and there are several LocalQueues: choose one with "
                         "--queue (" +
                         Listed() + ")");
    }
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      return At(row, "queue \"" + name + "\" is no LocalQueue of the manifests: " + Listed());
    }
    if (found->second.size() > 1) {
      return At(row,
                "queue \"" + name + "\" exists in several namespaces: write NAMESPACE/" + name);
    }
    return found->second.front();
  }

  Status SetPriority(const TraceJob& row, Job& job) const {
    job.priority_class = row.priority;
    if (row.priority.empty()) return OkStatus();
    const auto& classes = cluster_.priority_classes;
    const auto found = std::find_if(
        classes.begin(), classes.end(),
        [&row](const api::PriorityClass& each) { return each.meta.name == row.priority; });
    if (found != classes.end()) {
      job.priority = found->value;
      return OkStatus();
    }
    const std::optional<std::int64_t> number = ParseInt64(row.priority);
    if (!number || *number < INT32_MIN || *number > INT32_MAX) {
      return At(row, "priority \"" + row.priority +
                         "\" is no number and no WorkloadPriorityClass of the manifests");
    }
    job.priority = static_cast<std::int32_t>(*number);
    return OkStatus();
  }

  Result<std::shared_ptr<const JobShape>> ShapeOf(const TraceJob& row) {
    std::shared_ptr<const JobShape>& known = shapes_[{row.pods, row.requests}];
    if (known != nullptr) return known;
    auto shape = std::make_shared<JobShape>();
    for (const auto& [resource, amount] : row.requests) {
      if (amount > INT64_MAX / row.pods) {
        return At(row, resource + ": " + std::to_string(row.pods) + " pods of " +
                           api::FormatAmount(resource, amount) + " are out of range");
      }
      shape->requests[resource] = amount * row.pods;
    }
    api::PodSet pods;
    pods.count = row.pods;
    api::Container& container = pods.pod_template.spec.containers.emplace_back();
    container.name = "main";
    container.requests = row.requests;
    shape->pod_sets = std::vector<api::PodSet>{std::move(pods)};
    known = std::move(shape);
    return known;
  }

  const Cluster& cluster_;
  const std::string& default_queue_;
  TraceUnit unit_;
  std::map<std::string, std::vector<std::size_t>> by_name_;  // indices of LocalQueues
  std::map<std::pair<std::int32_t, api::ResourceAmounts>, std::shared_ptr<const JobShape>> shapes_;
};

// `jobs` has the rows of the trace, in its order.
std::vector<Job> InOrder(const Trace& trace, std::vector<Job> jobs) {
  std::vector<std::int32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const TraceJob& first = trace.jobs[static_cast<std::size_t>(a)];
    const TraceJob& second = trace.jobs[static_cast<std::size_t>(b)];
    if (first.after.empty() != second.after.empty()) return first.after.empty();
    return first.after.empty() && first.submit < second.submit;
  });
  std::vector<std::int32_t> places(jobs.size());
  std::vector<Job> sorted;
  sorted.reserve(jobs.size());
  for (const std::int32_t row : order) {
    places[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(std::move(jobs[static_cast<std::size_t>(row)]));
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (const std::int32_t row : trace.jobs[static_cast<std::size_t>(order[i])].after) {
      sorted[i].after.push_back(places[static_cast<std::size_t>(row)]);
    }
  }
  return sorted;
}

}  // namespace

Result<std::vector<Job>> BindJobs(const Trace& trace, const Cluster& cluster,
                                  const std::string& default_queue) {
  if (cluster.local_queues.empty()) {
    return Error{ErrorCode::kInvalid, "the manifests have no LocalQueue: no job can be queued"};
  }
  Binder binder(cluster, default_queue, trace.unit);
  std::vector<Job> jobs;
  jobs.reserve(trace.jobs.size());
  for (const TraceJob& row : trace.jobs) {
    BERTH_TRY(Job job, binder.Bind(row));
    jobs.push_back(std::move(job));
  }
  return InOrder(trace, std::move(jobs));
}

}  // namespace berth::simulation
