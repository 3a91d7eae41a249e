#include "tests/faults/fault_maker.h"

#include <array>

namespace berth::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<Fault, 9> kWriteFaults{
    Fault::kConflict,    Fault::kUnavailable,   Fault::kLostAnswer,
    Fault::kSlow,        Fault::kOvertaken,     Fault::kTooMany,
    Fault::kServerError, Fault::kTimeoutBefore, Fault::kTimeoutAfter};
constexpr std::array<Fault, 5> kReadFaults{Fault::kUnavailable, Fault::kSlow, Fault::kTooMany,
                                           Fault::kServerError, Fault::kTimeoutBefore};
constexpr std::array<const char*, 9> kPaths{
    "",       "", "", "/status", "/workloads", "/jobs", "/provisioningrequests", "/podtemplates",
    "queues/"};

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(high - low + 1)));
}

Duration Moment(const Story& story, Random& random) {
  return milliseconds(
      Between(random, 0, std::chrono::duration_cast<milliseconds>(story.length).count()));
}

FaultSpan MakeSpan(const Story& story, Random& random) {
  FaultSpan span;
  span.at = Moment(story, random);
  span.length = seconds(Between(random, 2, 40));
  span.requests = random.Below(6) == 0 ? FaultSpan::Requests::kReads : FaultSpan::Requests::kWrites;
  if (span.requests == FaultSpan::Requests::kReads) {
    span.fault = kReadFaults[random.Below(kReadFaults.size())];
  } else {
    span.fault = kWriteFaults[random.Below(kWriteFaults.size())];
    span.path = kPaths[random.Below(kPaths.size())];
  }
  constexpr std::array<std::uint64_t, 4> kShares{50, 200, 500, 1000};
  span.per_mille = kShares[random.Below(kShares.size())];
  span.seed = random.Next();
  return span;
}

Blow MakeBlow(const Story& story, Random& random) {
  Blow blow;
  blow.at = Moment(story, random);
  if (story.replicas > 1 && random.Below(3) == 0) {
    blow.kind = Blow::Kind::kCutOff;
    blow.write_happens = random.Below(2) == 0;
    blow.span = seconds(Between(random, 3, 60));
    return blow;
  }
  switch (random.Below(8)) {
    case 0:
    case 1:
    case 2:
      blow.kind = Blow::Kind::kCrash;
      blow.count = Between(random, 1, 12);
      blow.write_happens = random.Below(2) == 0;
      blow.span =
          random.Below(2) == 0 ? Duration(milliseconds(1)) : seconds(Between(random, 1, 30));
      break;
    case 3: blow.kind = Blow::Kind::kBreakWatches; break;
    case 4: blow.kind = Blow::Kind::kExpireWatches; break;
    case 5:
      blow.kind = Blow::Kind::kStallWatches;
      blow.span = milliseconds(Between(random, 50, 20'000));
      break;
    case 6:
      blow.kind = Blow::Kind::kRepeatEvents;
      blow.count = Between(random, 1, 10);
      break;
    default:
      blow.kind = Blow::Kind::kJumpClock;
      blow.span = seconds(Between(random, 1, 300)) * (random.Below(2) == 0 ? 1 : -1);
      break;
  }
  return blow;
}

}  // namespace

void AddFaults(Story& story, Random& random) {
  if (random.Below(3) == 0) return;
  const std::int64_t spans = Between(random, 0, 4);
  for (std::int64_t i = 0; i < spans; ++i) story.faults.push_back(MakeSpan(story, random));
  const std::int64_t blows = Between(random, 0, 5);
  for (std::int64_t i = 0; i < blows; ++i) story.blows.push_back(MakeBlow(story, random));
}

void AddBlindness(Story& story, Random& random) {
  constexpr std::array kKinds{"workloads",    "jobs",          "provisioningrequests",
                              "podtemplates", "pods",          "nodes",
                              "localqueues",  "clusterqueues", "resourceflavors"};
  FaultSpan span;
  span.at = Moment(story, random);
  span.length = seconds(Between(random, 5, 45));
  span.requests = FaultSpan::Requests::kReads;
  span.fault = kReadFaults[random.Below(kReadFaults.size())];
  span.per_mille = 1000;
  span.path = std::string("/") + kKinds[random.Below(kKinds.size())] + "?";
  span.seed = random.Next();
  story.blows.push_back(
      {.kind = random.Below(2) == 0 ? Blow::Kind::kBreakWatches : Blow::Kind::kExpireWatches,
       .at = span.at + milliseconds(1)});
  story.faults.push_back(std::move(span));
}

}  // namespace berth::sim
