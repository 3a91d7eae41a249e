#include "provisioning/meter.h"

#include <algorithm>
#include <chrono>

#include "api/gpu_shares.h"
#include "api/quantity.h"
#include "base/sha1.h"
#include "base/strings.h"

namespace berth::provisioning {
namespace {

constexpr std::size_t kMostMeters = 3000;  // the most meters of a queue
constexpr std::size_t kMeterDigits = 10;   // digits of a node, and of a Workload
constexpr Duration kKeptFor = std::chrono::hours(7 * 24);

std::string DigitsOf(const std::string& uid) { return Sha1Hex(uid).substr(0, kMeterDigits); }
std::string PrefixOf(const std::string& node_uid) { return DigitsOf(node_uid) + "-"; }

std::int64_t SecondsOf(Duration span) {
  return std::chrono::floor<std::chrono::seconds>(span).count();
}

}  // namespace

std::int64_t WholeGpusOf(const api::Node& node,
                         const std::map<std::string, api::Amount>& shares_per_gpu) {
  constexpr api::Amount kWhole = 1'000'000;
  const std::string* label = api::FindValue(node.meta.labels, "nvidia.com/gpu.replicas");
  const std::int64_t replicas = label == nullptr ? 1 : ParseInt64(*label).value_or(1);
  api::Amount millionths = 0;
  for (const auto& [resource, amount] : node.allocatable) {
    const auto named = shares_per_gpu.find(resource);
    if (named == shares_per_gpu.end() && !api::IsGpuResource(resource)) continue;
    const bool has_replicas = resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared";
    const api::Amount shares = named != shares_per_gpu.end() ? named->second
                               : has_replicas
                                   ? std::clamp<std::int64_t>(replicas, 1, api::kMostSharesPerGpu)
                                   : 1;
    millionths = api::AddAmounts(millionths, api::GpusOf(amount, shares));
  }
  // A share that is not healthy, and a third that is rounded, still belong to a whole GPU.
  return api::AddAmounts(millionths, kWhole - 1) / kWhole;
}

std::int64_t CostFor(std::int64_t hourly_nano, std::int64_t seconds) {
  constexpr std::int64_t kSecondsPerHour = 3600;
  // Whole hours and the rest apart, so that months of dear nodes stay in range.
  return api::AddAmounts(
      api::MultiplyAmounts(hourly_nano, seconds / kSecondsPerHour),
      api::MultiplyAmounts(hourly_nano, seconds % kSecondsPerHour) / kSecondsPerHour);
}

void Metered::Add(const api::NodeMeter& meter, WallTime until) {
  const std::int64_t stood = SecondsOf(until - meter.from);
  seconds = api::AddAmounts(seconds, stood);
  if (meter.open) ++open;
  if (!meter.hourly_nano) {
    ++unpriced;
    return;
  }
  nano_dollars = api::AddAmounts(nano_dollars, CostFor(*meter.hourly_nano, stood));
  if (meter.open) hourly_nano = api::AddAmounts(hourly_nano, *meter.hourly_nano);
}

std::string MeterId(const std::string& node_uid, const std::string& workload_uid) {
  return PrefixOf(node_uid) + DigitsOf(workload_uid);
}

bool IsOf(const std::string& meter_id, const std::string& workload_uid) {
  return meter_id.ends_with("-" + DigitsOf(workload_uid));
}

bool IsOnNode(const std::string& meter_id, const std::string& node_uid) {
  return meter_id.starts_with(PrefixOf(node_uid));
}

std::vector<MeterPlace> MeterMemory::OpenNamed(const std::string& node) const {
  std::vector<MeterPlace> places;
  for (const auto& [queue, of_queue] : by_queue_) {
    for (const auto& [id, meter] : of_queue.meters) {
      if (meter.open && meter.node == node) places.push_back({queue, id});
    }
  }
  return places;
}

std::optional<MeterPlace> MeterMemory::OpenOf(const std::string& node_uid) const {
  const std::string prefix = PrefixOf(node_uid);
  for (const auto& [queue, of_queue] : by_queue_) {
    for (auto at = of_queue.meters.lower_bound(prefix);
         at != of_queue.meters.end() && at->first.starts_with(prefix); ++at) {
      if (at->second.open) return MeterPlace{queue, at->first};
    }
  }
  return std::nullopt;
}

bool MeterMemory::Knows(const std::string& node_uid) const {
  const std::string prefix = PrefixOf(node_uid);
  return std::any_of(by_queue_.begin(), by_queue_.end(), [&prefix](const auto& each) {
    const auto at = each.second.meters.lower_bound(prefix);
    return at != each.second.meters.end() && at->first.starts_with(prefix);
  });
}

MeterPlace MeterMemory::PlaceOf(const NodeUse& use) {
  return {use.queue, MeterId(use.node_uid, use.workload_uid)};
}

void MeterMemory::Begin(const NodeUse& use, WallTime now) {
  const bool is_known = Knows(use.node_uid);
  api::QueueMeters& queue = by_queue_[use.queue];
  Drop(queue, now);
  const std::string id = MeterId(use.node_uid, use.workload_uid);
  const auto earlier = queue.meters.find(id);
  if (earlier == queue.meters.end() && queue.meters.size() >= kMostMeters) return;
  const Duration counted = earlier == queue.meters.end()
                               ? Duration::zero()
                               : earlier->second.until - earlier->second.from;
  api::NodeMeter meter = use.meter;
  meter.until = CutToSeconds(now);
  meter.from = meter.until - counted;
  if (!is_known) meter.until = meter.from = std::min(CutToSeconds(use.created), meter.until);
  meter.open = true;
  queue.meters[id] = std::move(meter);
}

Metered MeterMemory::Extend(const MeterPlace& place, WallTime now) {
  const auto queue = by_queue_.find(place.queue);
  if (queue == by_queue_.end()) return {};
  const auto found = queue->second.meters.find(place.id);
  if (found == queue->second.meters.end() || !found->second.open) return {};
  api::NodeMeter& meter = found->second;
  Metered before;
  before.Add(meter, meter.until);
  meter.until = std::max(meter.until, CutToSeconds(now));
  Metered after;
  after.Add(meter, meter.until);
  return {.seconds = after.seconds - before.seconds,
          .nano_dollars = after.nano_dollars - before.nano_dollars};
}

void MeterMemory::End(const MeterPlace& place) {
  const auto queue = by_queue_.find(place.queue);
  if (queue == by_queue_.end()) return;
  const auto found = queue->second.meters.find(place.id);
  if (found != queue->second.meters.end()) found->second.open = false;
}

const api::QueueMeters& MeterMemory::Of(const std::string& queue) const {
  static const api::QueueMeters kNone;
  const auto found = by_queue_.find(queue);
  return found == by_queue_.end() ? kNone : found->second;
}

std::map<std::string, Metered> MeterMemory::ByCharge(const std::string& queue) const {
  std::map<std::string, Metered> by_charge;
  for (const auto& [id, meter] : Of(queue).meters) {
    if (!meter.charge.empty()) by_charge[meter.charge].Add(meter, meter.until);
  }
  return by_charge;
}

void MeterMemory::Merge(const std::string& queue, const api::QueueMeters& other) {
  api::QueueMeters& mine = by_queue_[queue];
  mine.folded_seconds = std::max(mine.folded_seconds, other.folded_seconds);
  mine.folded_nano = std::max(mine.folded_nano, other.folded_nano);
  for (const auto& [id, meter] : other.meters) {
    const auto [known, is_new] = mine.meters.try_emplace(id, meter);
    if (is_new) continue;
    api::NodeMeter& ours = known->second;
    if (meter.until > ours.until) ours.open = meter.open;
    ours.from = std::min(ours.from, meter.from);
    ours.until = std::max(ours.until, meter.until);
  }
}

// Adds up the meters of a week ago and, where there are too many, the oldest ones that have ended.
void MeterMemory::Drop(api::QueueMeters& queue, WallTime now) {
  const auto fold = [&queue](std::map<std::string, api::NodeMeter>::iterator at) {
    Metered sum;
    sum.Add(at->second, at->second.until);
    queue.folded_seconds = api::AddAmounts(queue.folded_seconds, sum.seconds);
    queue.folded_nano = api::AddAmounts(queue.folded_nano, sum.nano_dollars);
    return queue.meters.erase(at);
  };
  for (auto at = queue.meters.begin(); at != queue.meters.end();) {
    const bool is_old = !at->second.open && at->second.until + kKeptFor < now;
    at = is_old ? fold(at) : std::next(at);
  }
  while (queue.meters.size() >= kMostMeters) {
    auto oldest = queue.meters.end();
    for (auto at = queue.meters.begin(); at != queue.meters.end(); ++at) {
      if (at->second.open) continue;
      if (oldest == queue.meters.end() || at->second.until < oldest->second.until) oldest = at;
    }
    if (oldest == queue.meters.end()) return;
    fold(oldest);
  }
}

}  // namespace berth::provisioning
