// Goal: after an upgrade to another protocol than WebSocket the bytes of both sides pass unchanged,
// hold limits, and end with either side. Method: raw bytes on a real socket.
#include "net/upgrade.h"

#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const Request kSpdyRequest{"POST",
                           "/late",
                           {{"Host", "x"},
                            {"Connection", "Upgrade"},
                            {"Upgrade", "SPDY/3.1"},
                            {"X-Stream-Protocol-Version", "v4.channel.k8s.io"},
                            {"X-Stream-Protocol-Version", "v3.channel.k8s.io"}},
                           ""};

class UpgradeTest : public ServerFixture {
 protected:
  // Opens a connection, with `behind` in the packet of the request; the answer's head is read.
  RawPeer Open(ServerOptions options = {}, const std::string& behind = "") {
    StartServer(std::move(options));
    RawPeer peer = Connect();
    std::string text = kSpdyRequest.method + " " + kSpdyRequest.target + " HTTP/1.1\r\n";
    for (const Header& header : kSpdyRequest.headers) {
      text += header.name + ": " + header.value + "\r\n";
    }
    peer.Send(text + "\r\n" + behind);
    duplex_ = WaitForResponders(1)[0]->StartUpgrade(kSpdyRequest, "SPDY/3.1",
                                                    {{"X-Stream-Protocol-Version", "v4"}});
    duplex_->OnGone([this] { waiter_.Notify([&] { ++gone_count_; }); });
    head_ = peer.ReadUntil("\r\n\r\n");
    return peer;
  }
  // The next bytes; "(end)" at the end of the connection.
  std::string Read() {
    std::optional<std::string> got;
    duplex_->Read([&](const std::optional<std::string>& bytes) {
      waiter_.Notify([&] { got = bytes.value_or("(end)"); });
    });
    EXPECT_TRUE(waiter_.WaitFor([&] { return got.has_value(); }));
    return got.value_or("(nothing)");
  }

  std::shared_ptr<Duplex> duplex_;
  std::string head_;
};

TEST_F(UpgradeTest, AnswersWithTheProtocol) {
  Open();
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(head_, HasSubstr("\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"));
  EXPECT_THAT(head_, HasSubstr("\r\nX-Stream-Protocol-Version: v4\r\n"));
}

TEST_F(UpgradeTest, PassesTheBytesOfBothSides) {
  RawPeer peer = Open({}, "behind the request");
  EXPECT_EQ(Read(), "behind the request");
  peer.Send(std::string("\0\x81\xff", 3));
  EXPECT_EQ(Read(), std::string("\0\x81\xff", 3));
  EXPECT_TRUE(duplex_->Write(""));
  EXPECT_TRUE(duplex_->Write("one,"));
  EXPECT_TRUE(duplex_->Write("two."));
  EXPECT_EQ(peer.ReadUntil("."), "one,two.");
}

TEST_F(UpgradeTest, CloseLeavesTheEndToThePeer) {
  RawPeer peer = Open();
  duplex_->Write("last.");
  duplex_->Close();
  EXPECT_FALSE(duplex_->Write("too late"));
  EXPECT_EQ(peer.ReadUntil("."), "last.");
  EXPECT_EQ(Read(), "(end)");
  peer.Send("dropped");
  peer.Reset();
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(UpgradeTest, DroppedHandleEndsTheConnection) {
  RawPeer peer = Open();
  duplex_.reset();
  EXPECT_TRUE(peer.IsEnded());
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(UpgradeTest, ReportsTheEndOfThePeer) {
  RawPeer peer = Open();
  peer.Reset();
  EXPECT_EQ(Read(), "(end)");
  EXPECT_TRUE(WaitForGone(1));
  EXPECT_FALSE(duplex_->Write("nobody reads"));
}

TEST_F(UpgradeTest, CutsAPeerThatDoesNotRead) {
  ServerOptions options;
  options.max_stream_backlog_bytes = 1'000'000;
  const RawPeer peer = Open(options);
  const std::string message(100'000, 'x');
  int written = 0;
  while (written < 1000 && duplex_->Write(message)) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(UpgradeTest, EndsWithTheServer) {
  RawPeer peer = Open();
  std::string got;
  duplex_->Read([&](const std::optional<std::string>& bytes) {
    waiter_.Notify([&] { got = bytes.value_or("(end)"); });
  });
  server_->Stop();
  EXPECT_TRUE(waiter_.WaitFor([&] { return got == "(end)"; }));
}

TEST(UpgradeRequest, IsRecognisedByItsHeaders) {
  EXPECT_TRUE(AsksForUpgrade(kSpdyRequest, "spdy/3.1"));
  EXPECT_FALSE(AsksForUpgrade(kSpdyRequest, "websocket"));
  EXPECT_FALSE(AsksForWebSocket(kSpdyRequest));
  EXPECT_THAT(ListedValues(kSpdyRequest, "x-stream-protocol-version"),
              ElementsAre("v4.channel.k8s.io", "v3.channel.k8s.io"));
  Request request = kSpdyRequest;
  request.headers.Set("Connection", "keep-alive");
  EXPECT_FALSE(AsksForUpgrade(request, "SPDY/3.1"));
}

}  // namespace
}  // namespace berth::net
