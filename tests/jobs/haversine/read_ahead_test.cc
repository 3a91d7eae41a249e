// Goal: pieces come in order, their number is bounded, and stopping early does not hang.
#include "jobs/haversine/read_ahead.h"

#include <atomic>
#include <latch>

#include <gtest/gtest.h>

#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

std::string Letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

TEST(ReadAhead, GivesThePiecesInOrder) {
  const std::string text = Letters(1003);
  for (const int parallel : {1, 2, 7}) {
    ReadAhead input(std::make_unique<MemoryReader>(text), parallel, 10);
    EXPECT_EQ(input.piece_count(), 101U);
    std::string read;
    while (true) {
      const auto piece = input.Next();
      ASSERT_TRUE(piece);
      if (!*piece) break;
      EXPECT_LE((*piece)->size(), 10U);
      read += **piece;
    }
    EXPECT_EQ(read, text) << parallel;
    EXPECT_FALSE(input.Next()->has_value());
  }
}

// Counts the requested pieces, and blocks reads until Cancel.
class StuckReader : public RangeReader {
 public:
  StuckReader(std::atomic<int>& reads, std::latch& all_reading)
      : reads_(reads), all_reading_(all_reading) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return 1000; }
  Status ReadAt(std::uint64_t, std::span<char>) override {
    ++reads_;
    all_reading_.count_down();
    cancelled_.wait();
    return Error{ErrorCode::kUnavailable, "cancelled"};
  }
  void Cancel() override { cancelled_.count_down(); }

 private:
  std::string name_ = "stuck";
  std::atomic<int>& reads_;
  std::latch& all_reading_;
  std::latch cancelled_{1};
};

TEST(ReadAhead, StoppingCancelsTheReadsThatWait) {
  std::atomic<int> reads{0};
  std::latch all_reading(3);
  {
    const ReadAhead input(std::make_unique<StuckReader>(reads, all_reading), 3, 10);
    all_reading.wait();
  }
  EXPECT_EQ(reads, 3);
}

TEST(ReadAhead, ReturnsAReadErrorAtItsPieceAndEverAfter) {
  ReadAhead input(std::make_unique<MemoryReader>(Letters(100), 55), 2, 10);
  for (int piece = 0; piece < 5; ++piece) ASSERT_TRUE(input.Next()) << piece;
  EXPECT_EQ(input.Next().error().message, "memory: bad byte");
  EXPECT_EQ(input.Next().error().message, "memory: bad byte");
}

}  // namespace
}  // namespace berth::haversine
