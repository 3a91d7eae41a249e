#include "simulation/job_book.h"

#include <algorithm>
#include <utility>

namespace berth::simulation {

JobBook::JobBook(const std::vector<Job>& jobs, Listener on_event)
    : on_event_(std::move(on_event)), outcomes_(jobs.size()) {
  const auto first =
      std::find_if(jobs.begin(), jobs.end(), [](const Job& job) { return !job.after.empty(); });
  independent_count_ = static_cast<std::size_t>(first - jobs.begin());
  if (first == jobs.end()) return;
  awaits_.resize(jobs.size());
  followers_.resize(jobs.size());
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (const std::int32_t before : jobs[job].after) {
      ++awaits_[job];
      followers_[static_cast<std::size_t>(before)].push_back(job);
    }
  }
}

std::vector<std::size_t> JobBook::Free(std::size_t job) {
  std::vector<std::size_t> free;
  if (followers_.empty()) return free;
  for (const std::size_t follower : followers_[job]) {
    if (--awaits_[follower] == 0) free.push_back(follower);
  }
  followers_[job].clear();
  return free;
}

void JobBook::Tell(const WorldEvent& event) {
  end_ = event.at;
  if (on_event_) on_event_(event);
}

void JobBook::Submit(std::size_t job, Duration at) {
  outcomes_[job].submitted = at;
  Tell({WorldEvent::Kind::kSubmitted, at, job});
}

void JobBook::Start(std::size_t job, Duration since, Duration at, const api::Admission* admission,
                    const Nodes::Placement* nodes) {
  std::optional<Duration>& first = outcomes_[job].started;
  if (!first) first = since;
  Tell({WorldEvent::Kind::kStarted, at, job, admission, nodes});
}

void JobBook::Lose(std::size_t job, WorldEvent::Kind kind, Duration ran, Duration at,
                   std::optional<std::size_t> preemptor) {
  JobOutcome& outcome = outcomes_[job];
  outcome.lost += ran;
  ++(kind == WorldEvent::Kind::kPreempted ? outcome.preemptions : outcome.evictions);
  Tell({.kind = kind, .at = at, .job = job, .preemptor = preemptor});
}

void JobBook::Finish(std::size_t job, Duration at) {
  outcomes_[job].finished = at;
  Tell({WorldEvent::Kind::kFinished, at, job});
}

}  // namespace berth::simulation
