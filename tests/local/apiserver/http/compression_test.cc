// Goal: large answers to clients that accept gzip are compressed, all others are sent as they are.
// Method: tables of headers and answers; zlib reads what was compressed.
#include "local/apiserver/http/compression.h"

#include <optional>

#include <gtest/gtest.h>
#include <zlib.h>

namespace berth::local {
namespace {

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

class Recorder : public net::Responder {
 public:
  bool HasPeerLeft() const override { return false; }
  void Send(net::Response response) override { sent = std::move(response); }
  std::shared_ptr<net::Stream> StartStream(int, net::Headers) override { return nullptr; }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request&, std::string,
                                            net::Headers) override {
    return nullptr;
  }
  net::Response sent;
};

TEST(AcceptsGzip, ReadsTheAcceptEncodingHeader) {
  for (const char* accepted : {"gzip", "deflate, gzip", "gzip;q=0.5", "br;q=1.0, gzip ; q=1"}) {
    EXPECT_TRUE(AcceptsGzip(accepted)) << accepted;
  }
  for (const char* refused : {"", "identity", "gzip;q=0", "gzip; q=0.000", "xgzip", "br,", ",;"}) {
    EXPECT_FALSE(AcceptsGzip(refused)) << refused;
  }
}

// A program that a request was passed on to may have packed its answer.
TEST(CompressedAnswer, CompressedAnswerIsNotCompressedAgain) {
  net::Request request;
  request.method = "GET";
  request.headers.Set("Accept-Encoding", "gzip");
  const auto recorder = std::make_shared<Recorder>();
  const std::string body(kMinCompressedBytes, 'x');
  CompressLargeAnswers(request, recorder)->Send({200, {{"Content-Encoding", "gzip"}}, body});
  EXPECT_EQ(recorder->sent.body, body);
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
  net::Request request;
  request.method = row.method;
  request.headers.Set("Accept-Encoding", row.accepted);
  const auto recorder = std::make_shared<Recorder>();
  std::string body(row.size, 'a');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  CompressLargeAnswers(request, recorder)->Send({row.status, {}, body});
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
    ::testing::Values(AnswerRow{"Large", "GET", "gzip", 200, kMinCompressedBytes, true},
                      AnswerRow{"Small", "GET", "gzip", 200, kMinCompressedBytes - 1, false},
                      AnswerRow{"NotAccepted", "GET", "", 200, kMinCompressedBytes, false},
                      AnswerRow{"Write", "POST", "gzip", 200, kMinCompressedBytes, false},
                      AnswerRow{"Error", "GET", "gzip", 500, kMinCompressedBytes, false}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace berth::local
