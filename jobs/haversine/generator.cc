#include <algorithm>

#include "jobs/haversine/source.h"

namespace berth::haversine {
namespace {

// SplitMix64 of a counter, so that each row can be generated alone.
std::uint64_t Mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// Many short trips, few long ones: a product of two uniform numbers, with a random sign. Millionths
// of a degree, at most 131,071 either way (about 14 km).
std::int64_t Offset(std::uint64_t bits) {
  const std::uint64_t product = (bits & 0xFFFFU) * ((bits >> 16U) & 0xFFFFU);
  const auto size = static_cast<std::int64_t>(product >> 15U);
  return (bits >> 32U & 1U) != 0 ? size : -size;
}

class Generator : public Source {
 public:
  Generator(std::uint64_t rows, std::uint64_t seed) : rows_(rows), seed_(seed) {}

  Result<bool> Take(Batch& batch) override { return rows_.Take(batch); }

  Status Decode(Batch& batch) const override {
    batch.trips.Resize(batch.row_count);
    auto& values = batch.trips.values;
    const std::uint64_t stream = Mix(seed_);
    for (std::size_t row = 0; row < batch.row_count; ++row) {
      const std::uint64_t where = Mix(stream ^ (batch.first_row + row));
      const std::uint64_t whither = Mix(where);
      // 16 km by 36 km around Manhattan.
      const auto longitude =
          -74'050'000 + static_cast<std::int64_t>((where & 0xFFFFFFFFU) % 300'000);
      const auto latitude = 40'580'000 + static_cast<std::int64_t>((where >> 32U) % 320'000);
      values[0][row] = static_cast<double>(longitude) / 1e6;
      values[1][row] = static_cast<double>(latitude) / 1e6;
      values[2][row] = static_cast<double>(longitude + Offset(whither)) / 1e6;
      values[3][row] = static_cast<double>(latitude + Offset(Mix(whither))) / 1e6;
    }
    batch.counts.read = batch.counts.used = batch.row_count;
    return OkStatus();
  }

  std::string description() const override {
    return std::to_string(rows_.rows()) + " generated trips, seed " + std::to_string(seed_);
  }

  std::uint64_t batch_count() const override { return rows_.batch_count(); }

 private:
  RowCounter rows_;
  std::uint64_t seed_;
};

}  // namespace

double Source::Fraction(std::uint64_t taken) const {
  const std::uint64_t batches = batch_count();
  if (batches == 0) return 1.0;
  return std::min(1.0, static_cast<double>(taken) / static_cast<double>(batches));
}

std::unique_ptr<Source> MakeGenerator(std::uint64_t rows, std::uint64_t seed) {
  return std::make_unique<Generator>(rows, seed);
}

}  // namespace berth::haversine
