#include "tests/simulation/faults/saboteur.h"

#include <algorithm>
#include <utility>

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kCrashAnyway = seconds(20);     // where the writes do not come
constexpr Duration kRequestTimeout = seconds(30);  // of the API client
constexpr Duration kAfterwards = seconds(5);

}  // namespace

Saboteur::Saboteur(const Story& story, SimWorld& world,
                   std::function<Fault(const kube::ApiRequest& request)> more)
    : story_(story), world_(world), more_(std::move(more)) {
  for (const FaultSpan& span : story.faults) dice_.emplace_back(span.seed);
  world.SetFault([this](const kube::ApiRequest& request) { return FaultFor(request); });
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
    if (on_blow) on_blow("the clock has jumped");
    return;
  }
  if (!world_.controllers_running() || dying_) return;
  if (on_blow && blow.kind != Blow::Kind::kCrash) on_blow("watches");
  switch (blow.kind) {
    case Blow::Kind::kCrash:
      if (crash_ != nullptr) return;
      crash_ = &blow;
      writes_left_ = blow.count;
      Trouble(kCrashAnyway + blow.span);
      world_.executor().PostAfter(kCrashAnyway, [this, &blow, alive = std::weak_ptr(alive_)] {
        if (!alive.expired() && crash_ == &blow && !dying_) Crash(blow.span);
      });
      break;
    case Blow::Kind::kBreakWatches: world_.transport().BreakWatches(); break;
    case Blow::Kind::kExpireWatches: world_.transport().ExpireWatches(); break;
    case Blow::Kind::kStallWatches:
      Trouble(blow.span);
      world_.transport().StallWatches(blow.span);
      break;
    case Blow::Kind::kRepeatEvents:
      world_.transport().RepeatEvents(static_cast<std::size_t>(blow.count));
      break;
    case Blow::Kind::kJumpClock: break;
  }
}

// Nothing that the dying do from here on gets out.
void Saboteur::Crash(Duration away) {
  dying_ = true;
  world_.executor().Post([this, away, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (on_blow) on_blow("the controllers have crashed");
    if (on_crash) on_crash();
    world_.StopControllers();
    Trouble(away);
    world_.executor().PostAfter(away, [this, alive] {
      if (alive.expired()) return;
      if (on_blow) on_blow("the controllers are back");
      dying_ = false;
      crash_ = nullptr;
      world_.LaunchControllers();
    });
  });
}

Fault Saboteur::FaultFor(const kube::ApiRequest& request) {
  if (dying_) return Fault::kSwallow;
  const bool is_write = request.method != "GET";
  if (crash_ != nullptr && is_write && --writes_left_ <= 0) {
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
