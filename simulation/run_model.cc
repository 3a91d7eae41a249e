#include "simulation/run_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>  // lookup only
#include <utility>

namespace berth::simulation {
namespace {

constexpr std::array<double, 5> kPriorSeconds{60, 600, 1800, 7200, 43200};
// A run longer than any known one goes on for this part of what it has lasted, in the median.
constexpr double kLasting = 0.5;
constexpr std::array<double, 5> kPriorShares{0.02, 0.1, 0.3, 0.7, 1};

// The weight of the next urn, by level; that of a batch follows from the history.
constexpr std::array<double, 7> kReserves{1, 2, 3, 4, 4, 4, 4};
// The time in which the weight of a run halves, in days; none in a batch.
constexpr std::array<double, 7> kHalfLives{0, 7, 7, 14, 14, 14, 14};
// The largest standard deviation of the logarithm of a run about the known run that it repeats.
constexpr std::array<double, 7> kSpreads{0.15, 0.25, 0.4, 0.4, 0.5, 0.5, 0.5};
constexpr std::size_t kMostRuns = 1000;  // the last of an urn that ended, and that did not
constexpr double kLikenessWeight = 10;   // batches that the first guess of the likeness is worth
constexpr double kFirstLikeness = 0.4;
constexpr double kSameRuns = 1e-6;  // a smaller variance of the logarithm is rounding
constexpr double kUnseen = 0.5;     // the weight of unknown runs at ages that few reach
constexpr double kDay = 86400;

std::string RequestsText(const api::ResourceAmounts& requests) {
  std::string text;
  for (const auto& [resource, amount] : requests) {
    text += resource + "=" + std::to_string(amount) + ",";
  }
  return text;
}

double LogRun(const RunMember& member) {
  return std::log(static_cast<double>(std::max<std::int64_t>(member.seconds, 1)));
}

// A run, or a time after which a run was stopped.
struct Sample {
  double seconds = 0;
  double weight = 0;
  bool ended = false;
  std::int64_t until = 0;
  double entry = 0;  // the age from which the run is known
};

// Runs weigh less the longer before the last one of them they ended.
void Age(double half_life, std::vector<Sample>& samples) {
  std::int64_t last = 0;
  for (const Sample& each : samples) last = std::max(last, each.until);
  for (Sample& each : samples) {
    each.weight *= std::exp2(-static_cast<double>(last - each.until) / kDay / half_life);
  }
}

// How far runs are spread about known ones: the bandwidth of a kernel, by Silverman's rule.
double SpreadOf(RunLevel level, const std::vector<Sample>& samples) {
  const double most = kSpreads.at(static_cast<std::size_t>(level));
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (const Sample& each : samples) {
    if (!each.ended) continue;
    const double value = std::log(std::max(each.seconds, 1.0));
    count += 1;
    sum += value;
    squares += value * value;
  }
  if (count < 2) return most;
  const double variance = std::max(squares / count - sum * sum / count / count, 0.0);
  if (variance < kSameRuns) return 0;
  return std::min(most, std::sqrt(variance) * std::pow(count, -0.2));
}

// Keeps the last kMostRuns of those that ended, and of the others: neither displace the other.
void KeepLast(std::vector<Sample>& samples) {
  if (samples.size() <= kMostRuns) return;
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.ended, a.until, a.seconds, a.weight) >
           std::tie(b.ended, b.until, b.seconds, b.weight);
  });
  const auto open =
      std::find_if(samples.begin(), samples.end(), [](const Sample& each) { return !each.ended; });
  const auto last = [&](auto from, auto to) {
    return from + std::min<std::ptrdiff_t>(to - from, static_cast<std::ptrdiff_t>(kMostRuns));
  };
  samples.erase(last(open, samples.end()), samples.end());
  samples.erase(last(samples.begin(), open), open);
}

RunUrn MakeUrn(RunLevel level, double reserve, std::vector<Sample> samples) {
  RunUrn urn{.level = level, .reserve = reserve, .spread = SpreadOf(level, samples)};
  KeepLast(samples);
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::make_tuple(a.seconds, !a.ended, a.weight, a.until) <
           std::make_tuple(b.seconds, !b.ended, b.weight, b.until);
  });
  std::vector<std::pair<double, double>> entries;  // age, weight
  double all = 0;
  for (const Sample& each : samples) {
    entries.emplace_back(std::min(each.entry, each.seconds), each.weight);
    all += each.weight;
  }
  std::sort(entries.begin(), entries.end());
  auto entry = entries.begin();
  double at_risk = 0;
  double survival = 1;
  double sum = 0;
  for (const Sample& each : samples) {
    for (; entry != entries.end() && entry->first <= each.seconds; ++entry)
      at_risk += entry->second;
    if (each.ended && each.weight > 0) {
      // Where few runs are known at an age, less than all of them end there.
      const bool is_full = entry == entries.end() && entries.back().first == 0;
      const double share = each.weight / std::max(at_risk + (is_full ? 0 : kUnseen), each.weight);
      sum += all * survival * share;
      survival *= 1 - share;
      urn.seconds.push_back(each.seconds);
      urn.weights.push_back(sum);
      ++urn.ended;
    }
    at_risk -= each.weight;
  }
  return urn;
}

}  // namespace

double RunUrn::WeightUntil(double bound) const {
  const auto above = std::upper_bound(seconds.begin(), seconds.end(), bound);
  return above == seconds.begin() ? 0
                                  : weights[static_cast<std::size_t>(above - seconds.begin()) - 1];
}

PriorRun::PriorRun(std::optional<std::int64_t> declared) {
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    seconds_.at(i) =
        declared ? kPriorShares.at(i) * static_cast<double>(*declared) : kPriorSeconds.at(i);
  }
}

double PriorRun::ShareAbove(double elapsed) const {
  const auto above = std::count_if(seconds_.begin(), seconds_.end(),
                                   [elapsed](double each) { return each > elapsed; });
  return static_cast<double>(above) / static_cast<double>(seconds_.size());
}

double PriorRun::At(double share, double elapsed) const {
  const auto first = std::upper_bound(seconds_.begin(), seconds_.end(), elapsed);
  const auto above = seconds_.end() - first;
  if (above == 0) return elapsed * (1 - std::log2(1 - std::clamp(share, 0.0, 0.999)) * kLasting);
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(above));
  return *(first + std::min(place, above - 1));
}

struct RunModel::Builder {
  explicit Builder(RunModel& made) : model(made) {}

  // Jobs that are alike but for the time of their submission.
  struct Kind {
    std::vector<std::size_t> members;  // by submission
    bool has_submitter = false;
    std::vector<std::size_t> batches;
    std::vector<std::uint32_t> chain;  // from kKind on
  };
  struct Batch {
    std::size_t kind = 0;
    std::vector<std::size_t> members;
    std::int64_t ended = 0;
    std::int64_t known = 0;  // ended, stopped or running
  };

  void FindKinds();
  void FindBatches();
  void MeasureLikeness();
  void MakeChains();
  std::uint32_t UrnOf(RunLevel level, const std::string& text);
  void Fill();
  // What the run of the member tells of other batches, beside one of a batch of its own.
  double WeightOf(std::size_t member) const;
  Sample SampleOf(std::size_t member, double weight) const;

  RunModel& model;
  std::vector<Kind> kinds;
  std::vector<Batch> batches;
  std::vector<std::string> submitters;  // by kind
  std::unordered_map<std::string, std::uint32_t> urns;
  std::vector<std::vector<std::size_t>> kinds_of_urn;
};

void RunModel::Builder::FindKinds() {
  std::unordered_map<std::string, int> stems;
  std::unordered_map<std::string, int> names;
  std::vector<std::string> stem_of;
  for (const RunMember& each : model.members_) {
    stem_of.push_back(each.key.queue + "\n" + StemOf(each.key.name));
    // What comes at this moment tells nothing of the others: it may be of a change that is tried.
    if (each.submitted < model.now_) ++stems[stem_of.back()];
    const bool is_past = each.state == RunState::kEnded || each.state == RunState::kStopped;
    if (is_past) ++names[each.key.queue + "\n" + each.key.name];
  }
  std::unordered_map<std::string, std::size_t> found;
  for (std::size_t i = 0; i < model.members_.size(); ++i) {
    const RunKey& key = model.members_[i].key;
    const std::string stem = stems[stem_of[i]] > 1 ? stem_of[i] : "";
    const std::string submitter = key.user.empty() ? stem : key.queue + "\n@" + key.user;
    const bool recurs = names[key.queue + "\n" + key.name] > 1;
    const std::string text = key.queue + "\n" + submitter + "\n" + (recurs ? key.name : stem) +
                             "\n" + key.kind + "\n" + key.image + "\n" +
                             RequestsText(key.requests) + "\n" +
                             std::to_string(key.declared.value_or(-1));
    const auto [at, is_new] = found.try_emplace(text, kinds.size());
    if (is_new) {
      kinds.push_back({.has_submitter = !submitter.empty()});
      submitters.push_back(submitter);
    }
    kinds[at->second].members.push_back(i);
  }
}

void RunModel::Builder::FindBatches() {
  const auto& members = model.members_;
  model.batch_of_.assign(members.size(), 0);
  for (std::size_t number = 0; number < kinds.size(); ++number) {
    Kind& kind = kinds[number];
    std::sort(kind.members.begin(), kind.members.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(members[a].submitted, members[a].uid) <
             std::tie(members[b].submitted, members[b].uid);
    });
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (const std::size_t member : kind.members) {
      const std::int64_t submitted = members[member].submitted;
      if (kind.batches.empty() || submitted - last > kBatchGap || submitted - first > kBatchSpan) {
        first = submitted;
        kind.batches.push_back(batches.size());
        batches.push_back({.kind = number});
      }
      last = submitted;
      Batch& batch = batches.back();
      batch.members.push_back(member);
      batch.ended += members[member].state == RunState::kEnded ? 1 : 0;
      batch.known += members[member].state == RunState::kWaits ? 0 : 1;
      model.batch_of_[member] = batches.size() - 1;
    }
  }
}

// One-way analysis of variance of the logarithms of runs by batch, within kinds.
void RunModel::Builder::MeasureLikeness() {
  double within = 0;
  double between = 0;
  double free_within = 0;
  double free_between = 0;
  double size = 0;  // the mean size of a batch, as the analysis counts it
  for (const Kind& kind : kinds) {
    double count = 0;
    double sum = 0;
    double squares = 0;  // squares of the numbers of ended members
    double groups = 0;
    double inner = 0;
    double outer = 0;
    for (const std::size_t number : kind.batches) {
      double batch_sum = 0;
      double batch_squares = 0;
      const auto ended = static_cast<double>(batches[number].ended);
      if (ended == 0) continue;
      for (const std::size_t member : batches[number].members) {
        if (model.members_[member].state != RunState::kEnded) continue;
        const double value = LogRun(model.members_[member]);
        batch_sum += value;
        batch_squares += value * value;
      }
      inner += batch_squares - batch_sum * batch_sum / ended;
      outer += batch_sum * batch_sum / ended;
      sum += batch_sum;
      count += ended;
      squares += ended * ended;
      groups += 1;
    }
    if (count == 0) continue;
    within += inner;
    free_within += count - groups;
    if (groups < 2) continue;
    between += outer - sum * sum / count;
    free_between += groups - 1;
    size += count - squares / count;
  }
  double likeness = kFirstLikeness;
  if (free_within > 0 && free_between > 0 && size > 0) {
    const double inner = within / free_within;
    const double outer = (between / free_between - inner) / (size / free_between);
    const bool differ = inner >= 0 && outer > 0 && inner + outer > kSameRuns;
    const double found = differ ? std::min(outer / (outer + inner), 1.0) : 0;
    likeness =
        (kLikenessWeight * likeness + free_between * found) / (kLikenessWeight + free_between);
  }
  model.likeness_ = std::clamp(likeness, 0.2, 0.8);
}

std::uint32_t RunModel::Builder::UrnOf(RunLevel level, const std::string& text) {
  const auto [at, is_new] = urns.try_emplace(ToString(level) + ("\n" + text),
                                             static_cast<std::uint32_t>(model.urns_.size()));
  if (is_new) {
    model.urns_.push_back(
        {.level = level, .reserve = kReserves.at(static_cast<std::size_t>(level))});
    kinds_of_urn.emplace_back();
  }
  return at->second;
}

void RunModel::Builder::MakeChains() {
  for (std::size_t number = 0; number < kinds.size(); ++number) {
    Kind& kind = kinds[number];
    const RunKey& key = model.members_[kind.members.front()].key;
    const auto add = [&](RunLevel level, const std::string& text) {
      kind.chain.push_back(UrnOf(level, text));
      kinds_of_urn[kind.chain.back()].push_back(number);
    };
    add(RunLevel::kKind, std::to_string(number));
    if (kind.has_submitter) add(RunLevel::kSubmitter, submitters[number]);
    add(RunLevel::kRequests, key.queue + "\n" + key.image + "\n" + RequestsText(key.requests));
    if (key.declared) {
      const auto place =
          std::lround(std::log2(static_cast<double>(std::max<std::int64_t>(*key.declared, 1))));
      add(RunLevel::kDeclared, key.queue + "\n" + std::to_string(place));
    }
    add(RunLevel::kQueue, key.queue);
    add(RunLevel::kCluster, "");
  }
}

double RunModel::Builder::WeightOf(std::size_t member) const {
  const auto known = static_cast<double>(batches[model.batch_of_[member]].known);
  return 1 / (1 + (std::max(known, 1.0) - 1) * model.likeness_);
}

Sample RunModel::Builder::SampleOf(std::size_t member, double weight) const {
  const RunMember& each = model.members_[member];
  return {.seconds = static_cast<double>(std::min(each.seconds, kLongest)),
          .weight = weight,
          .ended = each.state == RunState::kEnded,
          .until = each.until,
          .entry = static_cast<double>(model.EntryOf(member))};
}

void RunModel::Builder::Fill() {
  for (std::size_t number = 0; number < model.urns_.size(); ++number) {
    RunUrn& urn = model.urns_[number];
    // What runs is drawn, and learned of, before others of its kind and submitter.
    const bool learns = urn.level <= RunLevel::kSubmitter;
    std::vector<Sample> samples;
    for (const std::size_t kind : kinds_of_urn[number]) {
      for (const std::size_t member : kinds[kind].members) {
        const RunState state = model.members_[member].state;
        if (state == RunState::kWaits || (learns && state == RunState::kRuns)) continue;
        samples.push_back(SampleOf(member, WeightOf(member)));
      }
    }
    Age(kHalfLives.at(static_cast<std::size_t>(urn.level)), samples);
    urn = MakeUrn(urn.level, urn.reserve, std::move(samples));
  }
  const double reserve = (1 - model.likeness_) / model.likeness_;
  model.chains_.resize(batches.size());
  for (std::size_t number = 0; number < batches.size(); ++number) {
    const Batch& batch = batches[number];
    std::vector<std::uint32_t>& chain = model.chains_[number];
    std::vector<Sample> samples;
    bool is_open = false;
    for (const std::size_t member : batch.members) {
      const RunState state = model.members_[member].state;
      is_open = is_open || state == RunState::kRuns || state == RunState::kWaits;
      if (state != RunState::kEnded && state != RunState::kStopped) continue;
      samples.push_back(SampleOf(member, 1));
    }
    if (!is_open) continue;
    chain.push_back(static_cast<std::uint32_t>(model.urns_.size()));
    model.urns_.push_back(MakeUrn(RunLevel::kBatch, reserve, std::move(samples)));
    const std::vector<std::uint32_t>& rest = kinds[batch.kind].chain;
    chain.insert(chain.end(), rest.begin(), rest.end());
  }
}

std::int64_t RunModel::EntryOf(std::size_t member) const {
  const RunMember& each = members_[member];
  if (each.state == RunState::kWaits) return 0;
  return std::max<std::int64_t>(since_ - (each.until - each.seconds), 0);
}

RunModel::RunModel(std::vector<RunMember> members, std::int64_t now, std::int64_t since)
    : now_(now), since_(since), members_(std::move(members)) {
  Builder builder(*this);
  builder.FindKinds();
  builder.FindBatches();
  builder.MeasureLikeness();
  builder.MakeChains();
  builder.Fill();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const RunState state = members_[i].state;
    if (state == RunState::kRuns || state == RunState::kWaits) open_.push_back(i);
  }
  std::sort(open_.begin(), open_.end(), [this](std::size_t a, std::size_t b) {
    const auto key = [this](std::size_t i) {
      const RunMember& each = members_[i];
      const bool runs = each.state == RunState::kRuns;
      return std::make_tuple(!runs, runs ? -each.seconds : 0, each.submitted, std::cref(each.uid));
    };
    return key(a) < key(b);
  });
}

RunForecast RunModel::Make(std::size_t member, double floor, double elapsed) const {
  const RunKey& key = members_[member].key;
  const std::vector<std::uint32_t>& chain = urns_of(member);
  RunForecast made;
  made.declared = key.declared;
  const PriorRun prior(key.declared);
  // The weights of the levels among runs longer than `floor`, from the last to the first.
  std::vector<double> above(chain.size() + 1, prior.ShareAbove(floor));
  for (std::size_t i = chain.size(); i-- > 0;) {
    const RunUrn& urn = urns_[chain[i]];
    above[i] = (urn.Weight() - urn.WeightUntil(floor) + urn.reserve * above[i + 1]) /
               (urn.Weight() + urn.reserve);
  }
  // The share of runs longer than `floor` and at most `bound`, of all runs.
  const auto until = [&](double bound) {
    double share = above.back() - prior.ShareAbove(bound);
    for (std::size_t i = chain.size(); i-- > 0;) {
      const RunUrn& urn = urns_[chain[i]];
      share = (urn.WeightUntil(bound) - urn.WeightUntil(floor) + urn.reserve * share) /
              (urn.Weight() + urn.reserve);
    }
    return share;
  };
  for (const std::uint32_t number : chain) {
    if (urns_[number].ended == 0) continue;
    made.level = urns_[number].level;
    made.runs = urns_[number].ended;
    break;
  }
  const auto most = static_cast<double>(std::min(key.declared.value_or(kLongest), kLongest));
  constexpr double kLastShare = 0.995;
  double low = floor;
  for (std::size_t i = 0; i < RunForecast::kPoints; ++i) {
    const double share =
        std::clamp(static_cast<double>(i) / (RunForecast::kPoints - 1), 1 - kLastShare, kLastShare);
    double high = most;
    if (above.front() <= 0) {
      high = prior.At(share, floor);
    } else {
      double from = low;
      constexpr double kPrecision = 0.25;  // seconds
      while (high - from > kPrecision) {
        const double middle = from > 1 ? std::sqrt(from * high) : (from + high) / 2;
        if (middle <= from || middle >= high) break;
        (until(middle) >= share * above.front() ? high : from) = middle;
      }
      low = std::max(low, std::floor(from));
    }
    made.seconds.at(i) = std::max(std::round(std::min(high, std::max(most, floor)) - elapsed), 0.0);
  }
  return made;
}

double RunModel::FloorOf(std::size_t member) const {
  const RunMember& each = members_[member];
  return static_cast<double>(std::max(each.seconds, each.at_least));
}

RunForecast RunModel::Whole(std::size_t member) const {
  return Make(member, static_cast<double>(members_[member].at_least), 0);
}

RunForecast RunModel::Left(std::size_t member) const {
  return Make(member, FloorOf(member), static_cast<double>(members_[member].seconds));
}

}  // namespace berth::simulation
