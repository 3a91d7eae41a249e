// Goal: large answers to clients that accept gzip are compressed, all others are sent as they are.
// Method: tables of headers and answers; zlib reads what was compressed.
#include "net/compression.h"

#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace berth::net {
namespace {

constexpr std::size_t kMinBytes = 128 * 1024;

// nullopt: `bytes` is no complete gzip member.
std::optional<std::string> Inflated(const std::string& bytes, std::size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return std::nullopt;
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return status == Z_STREAM_END ? std::optional(out) : std::nullopt;
}

class Recorder : public Responder {
 public:
  bool HasPeerLeft() const override { return false; }
  void Send(Response response) override { sent = std::move(response); }
  std::shared_ptr<Stream> StartStream(int, Headers) override { return nullptr; }
  std::shared_ptr<Duplex> StartUpgrade(const Request&, std::string, Headers) override {
    return nullptr;
  }
  Response sent;
};

TEST(AcceptsGzip, ReadsTheAcceptEncodingHeader) {
  for (const char* accepted :
       {"gzip", "br, GZIP", "deflate, gzip", "gzip;q=0.5", "br;q=1.0, gzip ; q=1"}) {
    EXPECT_TRUE(AcceptsGzip(accepted)) << accepted;
  }
  for (const char* refused : {"", "identity", "gzip;q=0", "gzip; q=0.000", "xgzip", "br,", ",;"}) {
    EXPECT_FALSE(AcceptsGzip(refused)) << refused;
  }
}

// A program that a request was passed on to may have packed its answer.
TEST(CompressedAnswer, CompressedAnswerIsNotCompressedAgain) {
  Request request;
  request.method = "GET";
  request.headers.Set("Accept-Encoding", "gzip");
  const auto recorder = std::make_shared<Recorder>();
  const std::string body(kMinBytes, 'x');
  CompressLargeAnswers(request, recorder, {.min_bytes = kMinBytes})
      ->Send({200, {{"Content-Encoding", "gzip"}}, body});
  EXPECT_EQ(recorder->sent.body, body);
}

// Runs its tasks when it is told to.
class HeldExecutor final : public Executor {
 public:
  void PostAfter(Duration /*delay*/, std::function<void()> task) override {
    tasks.push_back(std::move(task));
  }
  std::vector<std::function<void()>> tasks;
};

TEST(CompressedAnswer, ExecutorCompressesLargeAnswersAlone) {
  Request request;
  request.method = "GET";
  request.headers.Set("Accept-Encoding", "gzip");
  const auto executor = std::make_shared<HeldExecutor>();
  const auto recorder = std::make_shared<Recorder>();
  const CompressionOptions options{.min_bytes = kMinBytes, .executor = executor};
  CompressLargeAnswers(request, recorder, options)->Send({200, {}, "small"});
  EXPECT_EQ(recorder->sent.body, "small");
  EXPECT_TRUE(executor->tasks.empty());
  const std::string large(kMinBytes, 'x');
  CompressLargeAnswers(request, recorder, options)->Send({200, {}, large});
  EXPECT_EQ(recorder->sent.body, "small");
  ASSERT_EQ(executor->tasks.size(), 1U);
  executor->tasks[0]();
  EXPECT_EQ(recorder->sent.headers.Find("Content-Encoding"), "gzip");
  EXPECT_EQ(Inflated(recorder->sent.body, large.size()), large);
}

struct AnswerRow {
  const char* name;
  const char* method;
  const char* accepted;
  int status;
  std::size_t size;
  bool compressed;
};

class CompressedAnswerTest : public ::testing::TestWithParam<AnswerRow> {};

TEST_P(CompressedAnswerTest, LargeAnswersAreCompressedForClientsThatAcceptGzip) {
  const AnswerRow& row = GetParam();
  Request request;
  request.method = row.method;
  request.headers.Set("Accept-Encoding", row.accepted);
  const auto recorder = std::make_shared<Recorder>();
  std::string body(row.size, 'a');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  CompressLargeAnswers(request, recorder, {.min_bytes = kMinBytes})->Send({row.status, {}, body});
  EXPECT_EQ(recorder->sent.status, row.status);
  EXPECT_EQ(recorder->sent.headers.Find("Content-Encoding"), row.compressed ? "gzip" : "");
  if (!row.compressed) {
    EXPECT_EQ(recorder->sent.body, body);
    return;
  }
  EXPECT_EQ(recorder->sent.headers.Find("Vary"), "Accept-Encoding");
  EXPECT_LT(recorder->sent.body.size(), body.size() / 4);
  EXPECT_EQ(Inflated(recorder->sent.body, body.size()), body);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CompressedAnswerTest,
    ::testing::Values(AnswerRow{"Large", "GET", "gzip", 200, kMinBytes, true},
                      AnswerRow{"Small", "GET", "gzip", 200, kMinBytes - 1, false},
                      AnswerRow{"NotAccepted", "GET", "", 200, kMinBytes, false},
                      AnswerRow{"Write", "POST", "gzip", 200, kMinBytes, false},
                      AnswerRow{"Error", "GET", "gzip", 500, kMinBytes, false}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace berth::net
