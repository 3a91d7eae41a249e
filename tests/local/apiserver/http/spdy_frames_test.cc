// Goal: the frames of SPDY/3.1 are those of Kubernetes' clients, within limits. Method: bytes as
// the clients send them, of a zlib stream with the dictionary of the protocol.
#include "local/apiserver/http/spdy_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/local/apiserver/http/spdy_client.h"

namespace berth::local {
namespace {

TEST(SpdyDictionary, DictionaryHasTheChecksumOfTheProtocol) {
  const std::string& dictionary = SpdyDictionary();
  EXPECT_EQ(dictionary.size(), 1423U);
  EXPECT_EQ(adler32(1, reinterpret_cast<const Bytef*>(dictionary.data()),
                    static_cast<uInt>(dictionary.size())),
            0xe3c6a7c2U);
}

TEST(SpdyReader, ReadsStreamsAndDataInAnyPieces) {
  SpdyClient client;
  // One after the other: the blocks belong to one zlib stream.
  std::string sent =
      client.Stream(1, {{"Streamtype", "error"}, {"port", "80"}, {"requestid", "0"}});
  sent += client.Stream(3, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}});
  sent += std::string("\0\0\0\x03\x01\0\0\x05hello", 13) + SpdyClient::Frame(6, 0, {0, 0, 0, 9}) +
          SpdyClient::Frame(3, 0, std::string("\0\0\0\x03\0\0\0\x05", 8));
  SpdyReader reader;
  std::vector<SpdyFrame> frames;
  for (const char c : sent) {
    reader.Add({&c, 1});
    auto next = reader.Next();
    ASSERT_TRUE(next) << next.error().message;
    if (next->has_value()) frames.push_back(**std::move(next));
  }
  ASSERT_EQ(frames.size(), 5U);
  EXPECT_EQ(frames[0].kind, SpdyFrame::Kind::kStream);
  EXPECT_EQ(frames[0].stream, 1U);
  EXPECT_EQ(frames[0].headers.at("streamtype"), "error");
  EXPECT_EQ(frames[1].headers.at("streamtype"), "data");
  EXPECT_EQ(frames[2].kind, SpdyFrame::Kind::kData);
  EXPECT_EQ(frames[2].bytes, "hello");
  EXPECT_TRUE(frames[2].is_last);
  EXPECT_EQ(frames[3].kind, SpdyFrame::Kind::kPing);
  EXPECT_EQ(frames[3].stream, 9U);
  EXPECT_EQ(frames[4].kind, SpdyFrame::Kind::kReset);
}

TEST(SpdyReader, RefusesTooLargeAndMalformedFrames) {
  SpdyClient client;
  const std::vector<std::pair<std::string, std::string>> one{{"a", std::string(20'000, 'x')}};
  const std::vector<std::pair<std::string, std::string>> many(33, {"a", "b"});
  const std::vector<std::pair<const char*, std::string>> rows{
      {"header bytes", client.Stream(1, one)},
      {"headers", SpdyClient().Stream(1, many)},
      {"control frame", SpdyClient::Frame(1, 0, std::string(20'000, 'x'))},
      {"data frame", std::string("\0\0\0\x01\0\xff\0\0", 8)},
      {"version", std::string("\x80\x02\0\x01\0\0\0\0", 8)},
      {"zlib", SpdyClient::Frame(1, 0, std::string(10, '\0') + "no zlib")},
      {"cut", SpdyClient::Frame(1, 0, "abc")},
      {"even stream", SpdyClient().Stream(2, {})},
      {"stream 0", SpdyClient().Stream(0, {})},
      {"reply", SpdyClient::Frame(2, 0, std::string(8, '\0'))},
  };
  for (const auto& [name, bytes] : rows) {
    SpdyReader reader;
    reader.Add(bytes);
    EXPECT_FALSE(reader.Next()) << name;
  }
}

TEST(SpdyReader, RefusesStreamIdsThatDoNotIncrease) {
  SpdyClient client;
  SpdyReader reader;
  for (const int id : {3, 5, 5}) reader.Add(client.Stream(id, {}));
  EXPECT_TRUE(reader.Next());
  EXPECT_TRUE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.last_stream(), 5U);
}

// Each of a hundred blocks inflates to the limit; none is in memory beside another.
TEST(SpdyReader, InflatesOneBlockAtATime) {
  SpdyClient client;
  std::string sent;
  const std::string large(15'000, 'x');
  for (int id = 1; id < 200; id += 2) sent += client.Stream(id, {{"a", large}});
  ASSERT_LT(sent.size(), 20'000U);
  SpdyReader reader;
  reader.Add(sent);
  for (int count = 0; count < 100; ++count) {
    const auto frame = reader.Next();
    ASSERT_TRUE(frame && frame->has_value());
    ASSERT_EQ((*frame)->headers.at("a"), large);
  }
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST(SpdyWriter, AcceptsStreamsInOneZlibStream) {
  SpdyWriter writer;
  z_stream stream{};
  ASSERT_EQ(inflateInit(&stream), Z_OK);
  for (const char id : {'\1', '\3'}) {
    const std::string frame = writer.Accept(static_cast<std::uint32_t>(id));
    EXPECT_EQ(frame.substr(0, 4), std::string("\x80\x03\0\x02", 4));
    EXPECT_EQ(frame.substr(8, 4), (std::string{0, 0, 0, id}));
    std::string out(100, 'x');
    const std::string block = frame.substr(12);
    stream.next_in = reinterpret_cast<const Bytef*>(block.data());
    stream.avail_in = static_cast<uInt>(block.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_SYNC_FLUSH), Z_OK);
    EXPECT_EQ(out.substr(0, out.size() - stream.avail_out), std::string(4, '\0'));
  }
  inflateEnd(&stream);
}

TEST(SpdyWriter, EndsStreamsAndConnections) {
  using ResetReason = SpdyWriter::ResetReason;
  EXPECT_EQ(SpdyWriter::Reset(5, ResetReason::kRefusedStream),
            std::string("\x80\x03\0\x03\0\0\0\x08\0\0\0\x05\0\0\0\x03", 16));
  EXPECT_EQ(SpdyWriter::GoAway(7), std::string("\x80\x03\0\x07\0\0\0\x08\0\0\0\x07\0\0\0\x01", 16));
  EXPECT_EQ(SpdyWriter::Ping(9), std::string("\x80\x03\0\x06\0\0\0\x04\0\0\0\x09", 12));
}

TEST(SpdyWriter, CutsDataIntoFrames) {
  EXPECT_EQ(SpdyWriter::Data(5, "ab", true), std::string("\0\0\0\x05\x01\0\0\x02"
                                                         "ab",
                                                         10));
  EXPECT_EQ(SpdyWriter::Data(5, "", true), std::string("\0\0\0\x05\x01\0\0\0", 8));
  const std::string large = SpdyWriter::Data(5, std::string(40'000, 'x'), true);
  EXPECT_EQ(large.size(), 40'000U + 16);
  EXPECT_EQ(large[4], 0) << "the last piece alone is the last";
}

}  // namespace
}  // namespace berth::local
