#include "tests/jobs/haversine/memory_reader.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/assert.h"

namespace berth::haversine {

Status MemoryReader::ReadAt(std::uint64_t offset, std::span<char> bytes) {
  BERTH_ASSERT(offset + bytes.size() <= bytes_.size());
  if (bad_byte_ && offset + bytes.size() > *bad_byte_) {
    return Error{ErrorCode::kUnavailable, "memory: bad byte"};
  }
  std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
  return OkStatus();
}

AllTrips ReadAll(Source& source) {
  AllTrips all;
  while (true) {
    Batch batch;
    const auto taken = source.Take(batch);
    EXPECT_TRUE(taken);
    if (!taken || !*taken) return all;
    EXPECT_TRUE(source.Decode(batch));
    ++all.batches;
    all.counts.Add(batch.counts);
    if (batch.first_bad.line != 0) all.bad.push_back(batch.first_bad);
    const auto& values = batch.trips.values;
    for (std::size_t row = 0; row < batch.trips.size(); ++row) {
      all.trips.push_back({values[0][row], values[1][row], values[2][row], values[3][row]});
    }
  }
}

std::string CsvOf(const std::vector<std::string>& lines) {
  std::string text = "pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude\n";
  for (const auto& line : lines) text += line + "\n";
  return text;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "berth-haversine-XXXXXX";
  BERTH_ASSERT(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace berth::haversine
