// Goal: the messages of streaming sessions are those of Kubernetes' clients, within limits. Method:
// messages as the clients send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/http/stream_sessions.h"

namespace berth::local {
namespace {

TEST(ChannelMessages, FirstByteOfAMessageIsItsChannel) {
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

TEST(ChannelMessages, ResizeMessagesHaveTheSizeOfTheTerminal) {
  EXPECT_EQ(ParseTerminalSize(R"({"Width":80,"Height":24})"), (TerminalSize{80, 24}));
  for (const char* refused :
       {"", "{}", "[80,24]", R"({"Width":0,"Height":24})", R"({"Width":80,"Height":65536})",
        R"({"Width":"80","Height":24})", R"({"Width":80})", R"({"Width":1e9,"Height":24})"}) {
    EXPECT_FALSE(ParseTerminalSize(refused).has_value()) << refused;
  }
}

TEST(StatusOfEnd, NonZeroExitCodeIsACauseOfTheStatus) {
  EXPECT_EQ(StatusOfEnd({}), Json::parse(R"({"metadata":{},"status":"Success"})"));
  EXPECT_EQ(StatusOfEnd({3, ""}), Json::parse(R"({"metadata":{},"status":"Failure",
    "reason":"NonZeroExitCode",
    "message":"command terminated with non-zero exit code: exit status 3",
    "details":{"causes":[{"reason":"ExitCode","message":"3"}]}})"));
  EXPECT_EQ(StatusOfEnd({0, "no such program"})["message"],
            "Internal error occurred: no such program");
}

TEST(ChooseProtocol, TakesTheFirstKnownProtocolOfTheClient) {
  EXPECT_EQ(
      ChooseProtocol({"x", "v4.channel.k8s.io", "v5.channel.k8s.io"}, {kChannelsV5, kChannelsV4}),
      "v4.channel.k8s.io");
  EXPECT_EQ(ChooseProtocol({"v3.channel.k8s.io"}, {kChannelsV5}), "");
}

class CutSession final : public StreamSession {
 public:
  void Cut() override { is_cut = true; }
  bool is_cut = false;
};

TEST(StreamSessions, SessionsAreLimitedAndIdleOnesAreCut) {
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
