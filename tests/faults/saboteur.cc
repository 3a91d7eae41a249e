#include "tests/faults/saboteur.h"

#include <algorithm>
#include <utility>

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kCrashAnyway = seconds(20);     // if the writes do not come
constexpr Duration kRequestTimeout = seconds(30);  // the timeout of the API client
constexpr Duration kAfterwards = seconds(5);

}  // namespace

const std::vector<std::string>& FaultKinds() {
  static const std::vector<std::string> kKinds{
      "conflict",         "unavailable",       "lost-answer",       "slow",
      "overtaken",        "too-many",          "server-error",      "timeout-before",
      "timeout-after",    "crash, write lost", "crash, write done", "leader cut off",
      "leader not heard", "watches broken",    "watches expired",   "watches stalled",
      "events repeated",  "clock jumps ahead", "clock jumps back",  "requests of the dead",
      "leader changes"};
  return kKinds;
}

Saboteur::Saboteur(const Story& story, SimWorld& world,
                   std::function<Fault(const kube::ApiRequest& request)> more)
    : story_(story), world_(world), more_(std::move(more)) {
  for (const FaultSpan& span : story.faults) dice_.emplace_back(span.seed);
  world.controllers().SetFault(
      [this](const kube::ApiRequest& request) { return FaultFor(request); });
}

void Saboteur::Trouble(Duration span) {
  trouble_until_ = std::max(trouble_until_, world_.clock().SteadyNow() + span + kAfterwards);
}

void Saboteur::Begin() {
  start_ = world_.clock().SteadyNow();
  for (const FaultSpan& span : story_.faults) {
    world_.executor().PostAfter(span.at, [this, &span, alive = std::weak_ptr(alive_)] {
      if (alive.expired() || over_) return;
      Trouble(span.length + kRequestTimeout);
    });
  }
  for (const Blow& blow : story_.blows) {
    world_.executor().PostAfter(blow.at, [this, &blow, alive = std::weak_ptr(alive_)] {
      if (!alive.expired() && !over_) Strike(blow);
    });
  }
}

void Saboteur::End() { over_ = true; }

void Saboteur::Strike(const Blow& blow) {
  if (blow.kind == Blow::Kind::kJumpClock) {
    world_.clock().JumpWall(blow.span);
    ++counts_[blow.span < Duration::zero() ? "clock jumps back" : "clock jumps ahead"];
    if (on_blow) on_blow("the clock has jumped");
    return;
  }
  if (!world_.controllers().launched() || dying_ != kNobody) return;
  if (blow.kind == Blow::Kind::kCutOff) return CutOff(blow);
  if (blow.kind != Blow::Kind::kCrash) return StrikeWatches(blow);
  if (crash_ != nullptr || !world_.controllers().running()) return;
  crash_ = &blow;
  writes_left_ = blow.count;
  Trouble(kCrashAnyway + blow.span);
  world_.executor().PostAfter(kCrashAnyway, [this, &blow, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && crash_ == &blow && dying_ == kNobody) Crash(blow.span);
  });
}

void Saboteur::StrikeWatches(const Blow& blow) {
  if (on_blow) on_blow("watches");
  if (blow.kind == Blow::Kind::kStallWatches) Trouble(blow.span);
  world_.controllers().ForEachTransport([&](SimTransport& transport) {
    switch (blow.kind) {
      case Blow::Kind::kBreakWatches:
        transport.BreakWatches();
        ++counts_["watches broken"];
        break;
      case Blow::Kind::kExpireWatches:
        transport.ExpireWatches();
        ++counts_["watches expired"];
        break;
      case Blow::Kind::kStallWatches:
        transport.StallWatches(blow.span);
        ++counts_["watches stalled"];
        break;
      case Blow::Kind::kRepeatEvents:
        counts_["events repeated"] +=
            static_cast<std::int64_t>(transport.RepeatEvents(static_cast<std::size_t>(blow.count)));
        break;
      default: break;
    }
  });
}

void Saboteur::CutOff(const Blow& blow) {
  const int leader = world_.controllers().leader();
  if (leader < 0 || cut_off_ != kNobody) return;
  if (on_blow) on_blow("replica " + std::to_string(leader) + " is cut off");
  ++counts_[blow.write_happens ? "leader not heard" : "leader cut off"];
  cut_off_ = leader;
  cut_off_until_ = world_.clock().SteadyNow() + blow.span;
  cut_off_writes_happen_ = blow.write_happens;
  world_.controllers().transport().StallWatches(blow.span);
  Trouble(blow.span + kRequestTimeout);
  world_.executor().PostAfter(blow.span, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) cut_off_ = kNobody;
  });
}

// How long overtaken writes of a controller without election are still under way. Nothing but the
// time of a restart keeps its successor's decisions apart from them
// (docs/reference/limits/controller.md).
Duration Saboteur::ArrivalOfLateWrites() const {
  if (story_.replicas > 1) return Duration::zero();
  return std::max(late_writes_until_ - world_.clock().SteadyNow(), Duration::zero());
}

// No later request of the dying replica reaches the API.
void Saboteur::Crash(Duration away) {
  const int dying = std::max(0, world_.controllers().leader());
  dying_ = dying;
  ++counts_[crash_->write_happens ? "crash, write done" : "crash, write lost"];
  world_.executor().Post([this, away, dying, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (on_blow) on_blow("replica " + std::to_string(dying) + " has crashed");
    if (on_crash) on_crash();
    world_.controllers().Kill(dying);
    const Duration back = std::max(away, ArrivalOfLateWrites());
    Trouble(back);
    world_.executor().PostAfter(back, [this, dying, alive] {
      if (alive.expired()) return;
      if (on_blow) on_blow("replica " + std::to_string(dying) + " is back");
      dying_ = kNobody;
      crash_ = nullptr;
      world_.controllers().Launch(dying);
    });
  });
}

Fault Saboteur::FaultFor(const kube::ApiRequest& request) {
  if (on_request && dying_ != world_.controllers().asking()) {
    on_request(request, world_.controllers().identity(world_.controllers().asking()));
  }
  const Fault fault = Judge(request);
  if (fault == Fault::kSwallow || fault == Fault::kDoneThenSwallow) {
    ++counts_["requests of the dead"];
  } else if (fault != Fault::kNone) {
    ++counts_[FaultName(fault)];
  }
  if (fault == Fault::kOvertaken) {
    late_writes_until_ = world_.clock().SteadyNow() + SimTransportOptions{}.slow;
  }
  return fault;
}

Fault Saboteur::Judge(const kube::ApiRequest& request) {
  if (dying_ == world_.controllers().asking()) return Fault::kSwallow;
  if (cut_off_ == world_.controllers().asking()) {
    return cut_off_writes_happen_ ? Fault::kTimeoutAfter : Fault::kTimeoutBefore;
  }
  const bool is_write = request.method != "GET";
  if (crash_ != nullptr && dying_ == kNobody && is_write &&
      world_.controllers().asking() == world_.controllers().leader() && --writes_left_ <= 0) {
    const Fault last = crash_->write_happens ? Fault::kDoneThenSwallow : Fault::kSwallow;
    Crash(crash_->span);
    return last;
  }
  if (more_) {
    if (const Fault fault = more_(request); fault != Fault::kNone) return fault;
  }
  if (over_) return Fault::kNone;
  const Duration now = world_.clock().SteadyNow() - start_;
  for (std::size_t i = 0; i < story_.faults.size(); ++i) {
    const FaultSpan& span = story_.faults[i];
    if (now < span.at || now >= span.at + span.length ||
        is_write != (span.requests == FaultSpan::Requests::kWrites) ||
        request.path.find(span.path) == std::string::npos) {
      continue;
    }
    if (dice_[i].Below(1000) < span.per_mille) return span.fault;
  }
  return Fault::kNone;
}

}  // namespace berth::sim
