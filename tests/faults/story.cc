#include "tests/faults/story.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenarios/script.h"

namespace berth::sim {
namespace {

std::string Describe(const FaultSpan& span) {
  std::string text = std::to_string(span.per_mille / 10) + "." +
                     std::to_string(span.per_mille % 10) + " % of " +
                     (span.requests == FaultSpan::Requests::kWrites ? "writes" : "reads");
  if (!span.path.empty()) text += " to *" + span.path + "*";
  return text + " meet " + FaultName(span.fault) + " for " + scenarios::FormatSpan(span.length);
}

std::string Describe(const Blow& blow) {
  const std::string span = scenarios::FormatSpan(blow.span);
  switch (blow.kind) {
    case Blow::Kind::kCrash:
      return "controllers crash at their write number " + std::to_string(blow.count) +
             (blow.write_happens ? ", which still happens" : ", which does not happen") +
             "; they are back after " + span;
    case Blow::Kind::kCutOff:
      return std::string("the leader ") +
             (blow.write_happens ? "does not hear the API for " : "does not reach the API for ") +
             span;
    case Blow::Kind::kBreakWatches: return "watches break";
    case Blow::Kind::kExpireWatches: return "watches expire";
    case Blow::Kind::kStallWatches: return "watches say nothing for " + span;
    case Blow::Kind::kRepeatEvents:
      return "watches repeat their newest " + std::to_string(blow.count) + " events";
    case Blow::Kind::kJumpClock:
      return blow.span < Duration::zero()
                 ? "the clock jumps back by " + scenarios::FormatSpan(-blow.span)
                 : "the clock jumps ahead by " + span;
  }
  return "";
}

constexpr char kFrameworks[] = "integrations: {frameworks: [batch/job";

}  // namespace

void AddFramework(Story& story, const std::string& framework) {
  const std::size_t at = story.config.find(kFrameworks);
  if (at == std::string::npos) {
    story.config += std::string(kFrameworks) + ", " + framework + "]}\n";
  } else {
    story.config.insert(at + std::string_view(kFrameworks).size(), ", " + framework);
  }
}

bool HasFramework(const Story& story, const std::string& framework) {
  const std::size_t at = story.config.find(kFrameworks);
  if (at == std::string::npos) return false;
  const std::string line = story.config.substr(at, story.config.find('\n', at) - at);
  return line.find(", " + framework + ",") != std::string::npos ||
         line.find(", " + framework + "]") != std::string::npos;
}

namespace {

bool IsRecordedIn(const Story& story, std::uint64_t first, std::uint64_t end) {
  return story.drawing == Drawing::kAsRecorded && story.seed >= first && story.seed < end;
}

}  // namespace

bool MayDrawEvictTraits(const Story& story) {
  return story.drawing == Drawing::kEveryTrait || IsRecordedIn(story, 160'000'000, 170'000'000);
}

bool MayDrawMoreTraits(const Story& story) {
  return MayDrawEvictTraits(story) || IsRecordedIn(story, 31'000'000, 90'000'000);
}

bool MayDrawEndTraits(const Story& story) {
  return MayDrawMoreTraits(story) && !IsRecordedIn(story, 33'000'000, 34'000'000);
}

bool MayDrawWaitTraits(const Story& story) {
  return MayDrawEvictTraits(story) || IsRecordedIn(story, 31'000'000, 33'000'000);
}

bool LosesRequest(const Story& story, const std::pair<std::string, std::string>& job) {
  const std::string line = "delete provreq of ";
  return std::any_of(story.events.begin(), story.events.end(), [&](const StoryEvent& event) {
    return event.line == line + job.second || event.line == line + job.first + "/" + job.second;
  });
}

// "local-queue NS/NAME -> CQ"
std::vector<QueuePlace> LocalQueuesOf(const Story& story) {
  std::vector<QueuePlace> queues;
  for (const std::string& line : story.setup) {
    if (line.rfind("local-queue ", 0) != 0) continue;
    const std::string path = line.substr(12, line.find(' ', 12) - 12);
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) {
      queues.push_back({"default", path});
    } else {
      queues.push_back({path.substr(0, slash), path.substr(slash + 1)});
    }
  }
  return queues;
}

std::string Tell(const Story& story) {
  std::vector<std::pair<Duration, std::string>> lines;
  for (const StoryEvent& event : story.events) lines.emplace_back(event.at, event.line);
  for (const FaultSpan& span : story.faults) lines.emplace_back(span.at, "! " + Describe(span));
  for (const Blow& blow : story.blows) lines.emplace_back(blow.at, "! " + Describe(blow));
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = "# seed " + std::to_string(story.seed) + "\n";
  if (!story.config.empty()) text += "config <<EOF\n" + story.config + "EOF\n";
  if (story.replicas > 1) text += "# " + std::to_string(story.replicas) + " replicas\n";
  for (const std::string& line : story.setup) text += line + "\n";
  for (const auto& [at, line] : lines) {
    text += "[" + scenarios::FormatSpan(at) + "] " + line + "\n";
  }
  return text + "[" + scenarios::FormatSpan(story.length) + "] nothing goes wrong any more\n";
}

}  // namespace berth::sim
