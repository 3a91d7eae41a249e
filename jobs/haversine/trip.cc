#include "jobs/haversine/trip.h"

namespace berth::haversine {

void RowCounts::Add(const RowCounts& other) {
  read += other.read;
  used += other.used;
  zero += other.zero;
  impossible += other.impossible;
  malformed += other.malformed;
}

Verdict JudgeTrip(const std::array<double, 4>& trip) {
  const Verdict pickup = JudgePoint(trip[0], trip[1]);
  const Verdict dropoff = JudgePoint(trip[2], trip[3]);
  if (pickup == Verdict::kZero || dropoff == Verdict::kZero) return Verdict::kZero;
  return pickup == Verdict::kGood ? dropoff : pickup;
}

namespace {

// Without a branch for each row: bad trips are few.
bool AllGood(const Columns& columns) {
  const auto& values = columns.values;
  bool good = true;
  for (std::size_t row = 0; row < columns.size(); ++row) {
    const bool pickup = JudgePoint(values[0][row], values[1][row]) == Verdict::kGood;
    const bool dropoff = JudgePoint(values[2][row], values[3][row]) == Verdict::kGood;
    good &= pickup & dropoff;
  }
  return good;
}

}  // namespace

void DropBadTrips(Columns& columns, RowCounts& counts) {
  if (AllGood(columns)) {
    counts.read += columns.size();
    counts.used += columns.size();
    return;
  }
  auto& values = columns.values;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < columns.size(); ++row) {
    const std::array<double, 4> trip = {values[0][row], values[1][row], values[2][row],
                                        values[3][row]};
    const Verdict verdict = JudgeTrip(trip);
    counts.zero += verdict == Verdict::kZero ? 1 : 0;
    counts.impossible += verdict == Verdict::kImpossible ? 1 : 0;
    if (verdict != Verdict::kGood) continue;
    for (std::size_t column = 0; column < trip.size(); ++column)
      values[column][kept] = trip[column];
    ++kept;
  }
  counts.read += columns.size();
  counts.used += kept;
  columns.Resize(kept);
}

}  // namespace berth::haversine
