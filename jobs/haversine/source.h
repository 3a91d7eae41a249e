// jobs/haversine/source.h — sources of trips, in batches that several threads can decode.
//
//     Take (one thread at a time: which piece of the input) --> Decode (any thread: its trips)
//
// Memory is bounded by the batches in flight, whatever the length of the input.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>

#include "base/result.h"
#include "jobs/haversine/trip.h"

namespace berth::haversine {

class RangeReader;

// Rows of a batch of raw or generated trips: 2 MiB a column.
inline constexpr std::size_t kBatchRows = 262144;

struct Batch {
  // `memory` is the memory of the trips.
  explicit Batch(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : trips(memory) {}

  // Take fills the first part.
  std::uint64_t first_row = 0;  // raw and generated: its number in the input
  std::size_t row_count = 0;
  std::string carried;  // CSV: the start of the first line, whose rest begins `text`
  std::string text;     // CSV: whole lines otherwise

  // Decode fills the second part.
  Columns trips;  // possible ones only
  RowCounts counts;
  std::uint64_t lines = 0;  // CSV: in `text`
  BadRow first_bad;         // its line counts from 1 at the start of `text`
};

class Source {
 public:
  virtual ~Source() = default;

  // Fills the first part of `batch`; false at the end of the input. One caller at a time.
  virtual Result<bool> Take(Batch& batch) = 0;
  // Fills the second part of a batch that Take has filled. Any thread.
  virtual Status Decode(Batch& batch) const = 0;

  virtual std::string description() const = 0;
  // An estimate, exact for raw and generated input.
  virtual std::uint64_t batch_count() const = 0;
  // The share of `batch_count` that `taken` batches are, for progress: 0 to 1.
  double Fraction(std::uint64_t taken) const;
  // Lines before the first batch: 1 if there is a header.
  virtual std::uint64_t header_lines() const { return 0; }
};

// Hands out rows that can be decoded by number: kBatchRows at a time.
class RowCounter {
 public:
  explicit RowCounter(std::uint64_t rows) : rows_(rows) {}
  std::uint64_t rows() const { return rows_; }
  std::uint64_t batch_count() const { return (rows_ + kBatchRows - 1) / kBatchRows; }
  bool Take(Batch& batch) {
    if (next_row_ >= rows_) return false;
    batch.first_row = next_row_;
    batch.row_count =
        static_cast<std::size_t>(rows_ - next_row_ < kBatchRows ? rows_ - next_row_ : kBatchRows);
    next_row_ += batch.row_count;
    return true;
  }

 private:
  std::uint64_t rows_;
  std::uint64_t next_row_ = 0;
};

// Generates `rows` trips in and around Manhattan, equal for equal `seed` on every machine.
// Coordinates are whole millionths of a degree, which a CSV file stores exactly.
std::unique_ptr<Source> MakeGenerator(std::uint64_t rows, std::uint64_t seed);

// Reads CSV with a header line that names the columns (any order, any case, others ignored). Errors
// name input and column. Reads ahead with `parallel` reads of `piece_bytes` at a time.
struct ReadOptions {
  int parallel = 2;
  std::size_t piece_bytes = std::size_t{4} << 20;
};
Result<std::unique_ptr<Source>> OpenCsv(std::unique_ptr<RangeReader> reader,
                                        const ReadOptions& options);

// Four columns of little-endian float64, one after the other, in the order of kColumnNames.
Result<std::unique_ptr<Source>> OpenRaw(std::unique_ptr<RangeReader> reader);

}  // namespace berth::haversine
