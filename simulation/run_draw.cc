#include "simulation/run_draw.h"

#include <algorithm>
#include <cmath>

namespace berth::simulation {
namespace {

// A run of so much of the declared maximum reached it.
constexpr double kReached = 0.99;

// A number of about the standard normal distribution.
double Normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.Unit();
  return sum;
}

}  // namespace

RunDraw::RunDraw(const RunModel& model) : model_(model), drawn_(model.urn_count()) {}

void RunDraw::Restart() {
  for (const std::uint32_t urn : touched_) drawn_[urn] = {};
  touched_.clear();
}

double RunDraw::WeightOf(std::uint32_t urn) const {
  return model_.urn(urn).Weight() + static_cast<double>(drawn_[urn].runs.size());
}

double RunDraw::WeightAbove(std::uint32_t urn, double elapsed) const {
  const RunUrn& known = model_.urn(urn);
  const Drawn& drawn = drawn_[urn];
  const auto all = static_cast<double>(drawn.runs.size());
  if (elapsed <= 0) return known.Weight() + all;
  const double above = known.Weight() - known.WeightUntil(elapsed);
  // Nearly always: what runs is drawn in the order in which it began.
  if (drawn.least > elapsed) return above + all;
  const auto longer = std::count_if(drawn.runs.begin(), drawn.runs.end(),
                                    [elapsed](double each) { return each > elapsed; });
  return above + static_cast<double>(longer);
}

double RunDraw::RunAbove(std::uint32_t urn, double elapsed, double share) const {
  const RunUrn& known = model_.urn(urn);
  const double below = elapsed <= 0 ? 0 : known.WeightUntil(elapsed);
  double target = share * WeightAbove(urn, elapsed);
  if (target < known.Weight() - below) {
    const auto at = std::upper_bound(known.weights.begin(), known.weights.end(), below + target);
    const auto place = static_cast<std::size_t>(at - known.weights.begin());
    return known.seconds[std::min(place, known.seconds.size() - 1)];
  }
  target -= known.Weight() - below;
  const Drawn& drawn = drawn_[urn];
  if (drawn.least > elapsed) {
    return drawn.runs[std::min(static_cast<std::size_t>(target), drawn.runs.size() - 1)];
  }
  double last = elapsed;
  for (const double each : drawn.runs) {
    if (each <= elapsed) continue;
    last = each;
    if (target < 1) break;
    target -= 1;
  }
  return last;
}

double RunDraw::Take(std::size_t member, double share, Random& random) {
  const RunMember& job = model_.members()[member];
  const double elapsed = model_.FloorOf(member);
  const std::vector<std::uint32_t>& chain = model_.urns_of(member);
  const PriorRun prior(job.key.declared);
  above_.assign(chain.size() + 1, prior.ShareAbove(elapsed));
  for (std::size_t i = chain.size(); i-- > 0;) {
    const double reserve = model_.urn(chain[i]).reserve;
    above_[i] =
        (WeightAbove(chain[i], elapsed) + reserve * above_[i + 1]) / (WeightOf(chain[i]) + reserve);
  }
  std::size_t source = 0;
  double run = 0;
  for (; source < chain.size(); ++source) {
    const double own = WeightAbove(chain[source], elapsed);
    const double all = own + model_.urn(chain[source]).reserve * above_[source + 1];
    const double chance = all > 0 ? own / all : 0;
    if (share < chance) {
      run = RunAbove(chain[source], elapsed, share / chance);
      break;
    }
    share = std::min((share - chance) / std::max(1 - chance, 1e-12), 1 - 1e-12);
  }
  if (source == chain.size()) run = prior.At(share, elapsed);
  const double repeated = run;
  if (source < chain.size()) {
    const double spread = model_.urn(chain[source]).spread;
    run *= std::exp(spread * Normal(random) - spread * spread / 2);  // the mean stays
  }
  if (run <= elapsed) run = repeated;
  if (job.key.declared) {
    const auto most = static_cast<double>(*job.key.declared);
    if (run > most || (repeated >= kReached * most && elapsed < most)) run = most;
  }
  run = std::clamp(run, elapsed, std::max(elapsed, static_cast<double>(RunModel::kLongest)));
  // Long runs are too many among those that began before the known past.
  const RunLevel last = model_.EntryOf(member) > 0 ? RunLevel::kBatch : RunLevel::kSubmitter;
  for (std::size_t i = 0; i <= std::min(source, chain.size() - 1); ++i) {
    if (model_.urn(chain[i]).level > last) break;
    Drawn& drawn = drawn_[chain[i]];
    if (drawn.runs.empty()) touched_.push_back(chain[i]);
    drawn.least = drawn.runs.empty() ? run : std::min(drawn.least, run);
    drawn.runs.push_back(run);
  }
  return run;
}

}  // namespace berth::simulation
