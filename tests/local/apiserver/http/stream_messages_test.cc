// Goal: the messages and frames of streaming sessions are those of Kubernetes' clients, within
// limits. Method: bytes as the clients send them; for SPDY a client's zlib stream with the
// dictionary of the protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/http/spdy_frames.h"
#include "local/apiserver/http/stream_sessions.h"

namespace berth::local {
namespace {

TEST(ChannelMessages, AreReadByTheirFirstByte) {
  const auto input = ParseChannelMessage(std::string_view("\0abc", 4));
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input->channel, Channel::kInput);
  EXPECT_EQ(input->bytes, "abc");
  EXPECT_EQ(ParseChannelMessage("\x04{}")->channel, Channel::kResize);
  EXPECT_EQ(ParseChannelMessage(std::string_view("\xff\0", 2))->channel, Channel::kClose);
  for (const std::string_view refused : {"", "\x01out",
                                         "\x02"
                                         "err",
                                         "\x03{}", "\x05x"}) {
    EXPECT_FALSE(ParseChannelMessage(refused).has_value());
  }
  EXPECT_EQ(MakeChannelMessage(Channel::kErrorOutput, "x"), "\x02x");
}

TEST(ChannelMessages, HaveSizesOfTerminals) {
  EXPECT_EQ(ParseTerminalSize(R"({"Width":80,"Height":24})"), (TerminalSize{80, 24}));
  for (const char* refused :
       {"", "{}", "[80,24]", R"({"Width":0,"Height":24})", R"({"Width":80,"Height":65536})",
        R"({"Width":"80","Height":24})", R"({"Width":80})", R"({"Width":1e9,"Height":24})"}) {
    EXPECT_FALSE(ParseTerminalSize(refused).has_value()) << refused;
  }
}

TEST(StatusOfEnd, HasTheExitCodeAsACause) {
  EXPECT_EQ(StatusOfEnd({}), Json::parse(R"({"metadata":{},"status":"Success"})"));
  EXPECT_EQ(StatusOfEnd({3, ""}), Json::parse(R"({"metadata":{},"status":"Failure",
    "reason":"NonZeroExitCode",
    "message":"command terminated with non-zero exit code: exit status 3",
    "details":{"causes":[{"reason":"ExitCode","message":"3"}]}})"));
  EXPECT_EQ(StatusOfEnd({0, "no such program"})["message"],
            "Internal error occurred: no such program");
}

TEST(ChooseProtocol, FollowsTheClient) {
  EXPECT_EQ(
      ChooseProtocol({"x", "v4.channel.k8s.io", "v5.channel.k8s.io"}, {kChannelsV5, kChannelsV4}),
      "v4.channel.k8s.io");
  EXPECT_EQ(ChooseProtocol({"v3.channel.k8s.io"}, {kChannelsV5}), "");
}

// Frames as github.com/moby/spdystream writes them.
class SpdyClient {
 public:
  SpdyClient() {
    deflateInit(&stream_, Z_BEST_COMPRESSION);
    const std::string& dictionary = SpdyDictionary();
    deflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(dictionary.data()),
                         static_cast<uInt>(dictionary.size()));
  }
  ~SpdyClient() { deflateEnd(&stream_); }

  static std::string Word(std::string_view text) { return Number(text.size(), 4).append(text); }
  static std::string Number(std::size_t number, int width) {
    std::string bytes;
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
      bytes += static_cast<char>(number >> shift & 0xff);
    }
    return bytes;
  }
  static std::string Frame(int type, int flags, const std::string& body) {
    return std::string("\x80\x03", 2) + Number(static_cast<std::size_t>(type), 2) +
           Number(static_cast<std::size_t>(flags), 1) + Number(body.size(), 3) + body;
  }
  std::string Stream(int id, const std::vector<std::pair<std::string, std::string>>& headers) {
    std::string block = Number(headers.size(), 4);
    for (const auto& [name, value] : headers) block += Word(name) + Word(value);
    return Frame(1, 0,
                 Number(static_cast<std::size_t>(id), 4) + std::string(6, '\0') + Deflate(block));
  }
  std::string Deflate(const std::string& text) {
    std::string out(text.size() + 1000, '\0');
    stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    deflate(&stream_, Z_SYNC_FLUSH);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

TEST(SpdyDictionary, IsThatOfTheProtocol) {
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
    auto some = reader.Feed({&c, 1});
    ASSERT_TRUE(some) << some.error().message;
    for (SpdyFrame& frame : *some) frames.push_back(std::move(frame));
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

TEST(SpdyReader, RefusesWhatIsTooLargeOrBroken) {
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
      {"reply", SpdyClient::Frame(2, 0, std::string(8, '\0'))},
  };
  for (const auto& [name, bytes] : rows) {
    SpdyReader reader;
    EXPECT_FALSE(reader.Feed(bytes)) << name;
  }
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

TEST(SpdyWriter, CutsDataIntoFrames) {
  EXPECT_EQ(SpdyWriter::Data(5, "ab", true), std::string("\0\0\0\x05\x01\0\0\x02"
                                                         "ab",
                                                         10));
  EXPECT_EQ(SpdyWriter::Data(5, "", true), std::string("\0\0\0\x05\x01\0\0\0", 8));
  const std::string large = SpdyWriter::Data(5, std::string(40'000, 'x'), true);
  EXPECT_EQ(large.size(), 40'000U + 16);
  EXPECT_EQ(large[4], 0) << "the last piece alone is the last";
}

class CutSession final : public StreamSession {
 public:
  void Cut() override { is_cut = true; }
  bool is_cut = false;
};

TEST(StreamSessions, AreLimitedAndCutWhenIdle) {
  StreamSessions sessions;
  std::vector<std::shared_ptr<CutSession>> all;
  constexpr std::size_t kOfOne = StreamSessions::kMostSessions / 4 * 3;
  for (std::size_t at = 0; at < kOfOne; ++at) {
    all.push_back(std::make_shared<CutSession>());
    ASSERT_TRUE(sessions.Add(all.back(), "team-a"));
  }
  const auto more = std::make_shared<CutSession>();
  EXPECT_FALSE(sessions.Add(more, "team-a"));
  const auto other = std::make_shared<CutSession>();
  EXPECT_TRUE(sessions.Add(other, "team-b")) << "one user leaves room for others";
  all.resize(1);
  EXPECT_TRUE(sessions.Add(more, "team-a"));
  all.push_back(other);
  EXPECT_EQ(sessions.count(), 3U);
  const SteadyTime start = SteadyTime{} + std::chrono::hours(100);
  sessions.CutIdle(start);
  all[0]->MarkUsed();
  sessions.CutIdle(start + std::chrono::hours(3));
  sessions.CutIdle(start + std::chrono::hours(5));
  EXPECT_FALSE(all[0]->is_cut);
  EXPECT_TRUE(all[1]->is_cut);
}

}  // namespace
}  // namespace berth::local
