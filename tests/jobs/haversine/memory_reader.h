// tests/jobs/haversine/memory_reader.h — a RangeReader over a string, and small helpers on trips.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/haversine/pipeline.h"
#include "jobs/haversine/range_reader.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {

class MemoryReader : public RangeReader {
 public:
  explicit MemoryReader(std::string bytes) : bytes_(std::move(bytes)) {}
  // Reads that reach this byte fail.
  MemoryReader(std::string bytes, std::uint64_t bad_byte)
      : bytes_(std::move(bytes)), bad_byte_(bad_byte) {}

  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(std::uint64_t offset, std::span<char> bytes) override;

 private:
  std::string name_ = "memory";
  std::string bytes_;
  std::optional<std::uint64_t> bad_byte_;
};

// Every trip of a source, in input order, with the counters of its batches.
struct AllTrips {
  std::vector<std::array<double, 4>> trips;
  RowCounts counts;
  std::vector<BadRow> bad;  // the bad row of each batch that has one
  std::uint64_t batches = 0;
};
AllTrips ReadAll(Source& source);

// CSV of the four columns alone.
std::string CsvOf(const std::vector<std::string>& lines);

// A folder that goes with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

}  // namespace berth::haversine
