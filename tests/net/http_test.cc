// Goal: headers compare without case; the parsers take any split of the same bytes.
#include "net/http.h"

#include <algorithm>
#include <future>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/internal/input_buffer.h"
#include "net/internal/message_parser.h"
#include "net/io_pool.h"

namespace berth::net {
namespace {

using testing::ElementsAre;

TEST(Headers, NamesAreComparedWithoutCase) {
  Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}, {"Y", "3"}, {"X", "4"}};
  EXPECT_EQ(headers.Find("content-type"), "a");
  EXPECT_EQ(headers.Find("x"), "1");
  EXPECT_EQ(headers.Find("absent"), "");
  EXPECT_FALSE(headers.Has("absent"));
  headers.Set("x", "one");
  headers.Set("new", "n");
  EXPECT_THAT(std::vector<Header>(headers.begin(), headers.end()),
              ElementsAre(Header{"Content-Type", "a"}, Header{"X", "one"}, Header{"Y", "3"},
                          Header{"new", "n"}));
}

// Feeds a parser as a session does: unconsumed bytes are offered again with more appended.
class Feeder {
 public:
  explicit Feeder(RequestParser& parser) : parser_(parser) {}

  std::optional<ParseFailure> Feed(std::string_view piece) {
    const auto [data, room] = buffer_.Prepare(buffer_.view().size() + piece.size());
    std::copy(piece.begin(), piece.end(), data);
    buffer_.Commit(piece.size());
    for (std::size_t consumed = 1; consumed > 0 && !parser_.done() && !buffer_.empty();) {
      const ParseProgress progress = parser_.Feed(buffer_.view());
      if (progress.failure) return progress.failure;
      buffer_.Consume(progress.consumed);
      consumed = progress.consumed;
    }
    return std::nullopt;
  }

 private:
  RequestParser& parser_;
  InputBuffer buffer_;
};

std::optional<ParseFailure> FeedInPieces(RequestParser& parser, std::string_view text,
                                         std::size_t size) {
  Feeder feeder(parser);
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    if (auto failure = feeder.Feed(text.substr(0, size))) return failure;
  }
  return std::nullopt;
}

TEST(RequestParser, AcceptsARequestSplitAnywhere) {
  const std::string text =
      "POST /a?b=c%20d HTTP/1.1\r\nHost: h\r\nX-Long: " + std::string(300, 'l') +
      "\r\nFolded: one\r\n two\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "4;ext=\"quoted\"\r\nabcd\r\n00a\r\n0123456789\r\n0\r\nT: trailer\r\nHost: evil\r\n\r\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    RequestParser parser({1000, 1000});
    const auto failure = FeedInPieces(parser, text, size);
    ASSERT_FALSE(failure) << size << ": " << failure->reason;
    ASSERT_TRUE(parser.done()) << size;
    EXPECT_TRUE(parser.keep_alive());
    const Request request = parser.TakeRequest();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/a?b=c%20d");
    EXPECT_EQ(request.body, "abcd0123456789");
    EXPECT_EQ(request.headers.size(), 4U);
    EXPECT_EQ(request.headers.Find("folded"), "one two");
  }
}

// Beast 1.74 asserts that the last chunk, where it is the first, does not come in four bytes.
TEST(RequestParser, AcceptsAnEmptyChunkedBodySplitAnywhere) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    RequestParser parser({1000, 1000});
    ASSERT_FALSE(FeedInPieces(parser, text, size)) << size;
    EXPECT_TRUE(parser.done()) << size;
  }
}

TEST(RequestParser, LimitsHeadersThatArriveLineByLine) {
  RequestParser parser({1000, 1000});
  Feeder feeder(parser);
  ASSERT_FALSE(feeder.Feed("GET / HTTP/1.1\r\nHost: x\r\nX"));
  std::optional<ParseFailure> failure;
  int lines = 0;
  // One byte of the next line comes along: the rest is so short that Beast counts from zero again.
  for (; lines < 1000 && !failure; ++lines) failure = feeder.Feed(": y\r\nX");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ParseFailure::Kind::kHeaderTooLarge);
  EXPECT_LT(lines, 200);
}

TEST(RequestParser, LimitsTrailers) {
  RequestParser parser({1000, 1000});
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int count = 0; count < 1000; ++count) text += "X: y\r\n";
  const auto failure = FeedInPieces(parser, text + "\r\n", text.size() + 2);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ParseFailure::Kind::kHeaderTooLarge);
}

TEST(RequestParser, LimitsABodyThatArrivesWithItsHeader) {
  // Header and an oversized body in the same bytes: Beast 1.74 alone would read on.
  RequestParser parser({1000, 10});
  const auto failure = FeedInPieces(
      parser, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world", 4000);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ParseFailure::Kind::kBodyTooLarge);
}

TEST(IoPool, StrandsRunInOrderAndOneAtATime) {
  IoPool pool(4);
  const auto strand = pool.MakeStrand();
  std::vector<int> order;  // no lock: that is the point
  std::promise<void> done;
  for (int count = 0; count < 1000; ++count) {
    strand->Post([&order, count] { order.push_back(count); });
  }
  strand->PostAfter(std::chrono::milliseconds(20), [&] {
    order.push_back(-2);
    done.set_value();
  });
  strand->PostAfter(std::chrono::milliseconds(1), [&] { order.push_back(-1); });
  strand->PostAfter(std::chrono::milliseconds(-5), [&] { order.push_back(1000); });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 1003U);
  for (int count = 0; count <= 1000; ++count) {
    EXPECT_EQ(order[static_cast<std::size_t>(count)], count);
  }
  EXPECT_EQ(order[1001], -1);
  EXPECT_EQ(order[1002], -2);
}

TEST(IoPool, StopDropsTasksThatHaveNotBegun) {
  auto captured = std::make_shared<int>(0);
  {
    IoPool pool(1);
    const auto strand = pool.MakeStrand();
    EXPECT_FALSE(pool.RunsHere());
    std::promise<bool> here;
    strand->Post([&] { here.set_value(pool.RunsHere()); });
    EXPECT_TRUE(here.get_future().get());
    strand->PostAfter(std::chrono::hours(1000000), [captured] { ++*captured; });
    pool.Stop();
    EXPECT_TRUE(pool.stopped());
    strand->Post([captured] { ++*captured; });
    pool.Stop();
  }
  EXPECT_EQ(*captured, 0);
  EXPECT_EQ(captured.use_count(), 1);
}

}  // namespace
}  // namespace berth::net
