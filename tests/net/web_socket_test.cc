// Goal: WebSockets of the server follow RFC 6455, hold limits, and end with either side. Method:
// raw bytes on a real socket; the keys and the answer of the handshake are those of the RFC.
#include "net/upgrade.h"
#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const Request kUpgrade{"GET",
                       "/late",
                       {{"Host", "x"},
                        {"Connection", "keep-alive, Upgrade"},
                        {"Upgrade", "websocket"},
                        {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                        {"Sec-WebSocket-Version", "13"},
                        {"Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io"}},
                       ""};

std::string OnTheWire(const Request& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  for (const Header& header : request.headers) text += header.name + ": " + header.value + "\r\n";
  return text + "\r\n";
}

// A client's frame: the last of its message, masked with zeros.
std::string Frame(int opcode, const std::string& bytes) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (bytes.size() < 126) {
    frame += static_cast<char>(0x80 | bytes.size());
  } else {
    frame += "\xfe";
    frame += static_cast<char>(bytes.size() >> 8);
    frame += static_cast<char>(bytes.size() & 0xff);
  }
  return frame + std::string(4, '\0') + bytes;
}

constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kCloseFrame = 8;
constexpr int kPing = 9;

class WebSocketTest : public ServerFixture {
 protected:
  // Opens a connection; the answer's head has been read.
  RawPeer Open(ServerOptions options = {}) {
    StartServer(std::move(options));
    RawPeer peer = Connect();
    peer.Send(OnTheWire(kUpgrade));
    Accept();
    EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    return peer;
  }
  void Accept() {
    socket_ = WaitForResponders(1)[0]->StartUpgrade(kUpgrade, "v4.channel.k8s.io", {});
    socket_->OnGone([this] { waiter_.Notify([&] { ++gone_count_; }); });
  }
  // The next message; "(end)" at the end of the connection.
  std::string Read() {
    std::optional<std::string> got;
    socket_->Read([&](const std::optional<std::string>& message) {
      waiter_.Notify([&] { got = message.value_or("(end)"); });
    });
    EXPECT_TRUE(waiter_.WaitFor([&] { return got.has_value(); }));
    return got.value_or("(nothing)");
  }

  std::shared_ptr<Duplex> socket_;
};

TEST_F(WebSocketTest, AnswersTheHandshakeOfTheRfc) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send(OnTheWire(kUpgrade));
  Accept();
  const std::string head = peer.ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n"));
}

TEST_F(WebSocketTest, ReadsMessagesInPiecesAndOneAtATime) {
  RawPeer peer = Open();
  peer.Send(Frame(kBinary, "first") + Frame(kText, "second"));
  EXPECT_EQ(Read(), "first");
  EXPECT_EQ(Read(), "second");
  const std::string large(20'000, 'x');
  for (const char c : Frame(kBinary, large)) peer.Send({&c, 1});
  EXPECT_EQ(Read(), large);
  peer.Send(std::string("\x02\x80\0\0\0\0", 6) + std::string("\x80\x81\0\0\0\0z", 7));
  EXPECT_EQ(Read(), "z") << "two fragments";
}

TEST_F(WebSocketTest, UnmasksMessages) {
  RawPeer peer = Open();
  peer.Send("\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");  // RFC 6455 §5.7
  EXPECT_EQ(Read(), "Hello");
}

TEST_F(WebSocketTest, WritesMessagesInOneFrameEach) {
  RawPeer peer = Open();
  EXPECT_TRUE(socket_->Write("Hello"));
  EXPECT_TRUE(socket_->Write(std::string(300, 'y')));
  EXPECT_EQ(peer.ReadUntil("Hello"), "\x82\x05Hello");
  EXPECT_EQ(peer.ReadUntil("yyy").substr(0, 4), std::string("\x82\x7e\x01\x2c", 4));
}

TEST_F(WebSocketTest, AnswersPings) {
  RawPeer peer = Open();
  std::optional<std::string> got;
  socket_->Read([&](const std::optional<std::string>& message) {
    waiter_.Notify([&] { got = message.value_or("(end)"); });
  });
  peer.Send(Frame(kPing, "are you there"));
  EXPECT_EQ(peer.ReadUntil("there"),
            "\x8a\x0d"
            "are you there");
  peer.Send(Frame(kBinary, "data"));
  EXPECT_TRUE(waiter_.WaitFor([&] { return got == "data"; }));
}

TEST_F(WebSocketTest, ClosesAfterTheQueuedMessages) {
  RawPeer peer = Open();
  socket_->Write("last");
  socket_->Close();
  EXPECT_FALSE(socket_->Write("too late"));
  EXPECT_EQ(peer.ReadUntil("\x03\xe8"), "\x82\x04last\x88\x02\x03\xe8");
  peer.Send(Frame(kCloseFrame, "\x03\xe8"));
  EXPECT_TRUE(peer.IsEnded());
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(WebSocketTest, ClosesWhenTheHandleIsDropped) {
  RawPeer peer = Open();
  socket_.reset();
  EXPECT_EQ(peer.ReadUntil("\x03\xe8"), "\x88\x02\x03\xe8");
}

TEST_F(WebSocketTest, ReportsTheCloseFrameOfThePeer) {
  RawPeer peer = Open();
  peer.Send(Frame(kCloseFrame, "\x03\xe8"));
  EXPECT_EQ(Read(), "(end)");
  EXPECT_TRUE(WaitForGone(1));
  EXPECT_FALSE(socket_->Write("nobody reads"));
  EXPECT_EQ(Read(), "(end)");
}

TEST_F(WebSocketTest, ReportsAConnectionThatIsReset) {
  RawPeer peer = Open();
  peer.Reset();
  EXPECT_EQ(Read(), "(end)");
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(WebSocketTest, RefusesLargeMessages) {
  ServerOptions options;
  options.max_web_socket_message_bytes = 100;
  RawPeer peer = Open(options);
  peer.Send(Frame(kBinary, std::string(101, 'x')));
  EXPECT_EQ(Read(), "(end)");
  EXPECT_THAT(peer.ReadToEnd(), HasSubstr("\x03\xf1")) << "status 1009";
}

TEST_F(WebSocketTest, CutsAPeerThatDoesNotRead) {
  ServerOptions options;
  options.max_stream_backlog_bytes = 1'000'000;
  const RawPeer peer = Open(options);
  const std::string message(100'000, 'x');
  int written = 0;
  while (written < 1000 && socket_->Write(message)) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(WebSocketTest, WhenBelowReportsThatThePeerHasRead) {
  RawPeer peer = Open();
  socket_->Write(std::string(6'000'000, 'x'));
  bool is_below = false;
  socket_->WhenBelow(10, [&] { waiter_.Notify([&] { is_below = true; }); });
  socket_->Close();
  peer.ReadUntil("\x03\xe8");
  EXPECT_TRUE(waiter_.WaitFor([&] { return is_below; }));
  EXPECT_EQ(socket_->Backlog(), 0U);
}

TEST_F(WebSocketTest, RefusesAMalformedUpgrade) {
  StartServer();
  RawPeer peer = Connect();
  Request request = kUpgrade;
  request.headers.Set("Sec-WebSocket-Version", "7");
  peer.Send(OnTheWire(request));
  socket_ = WaitForResponders(1)[0]->StartUpgrade(request, "", {});
  EXPECT_THAT(peer.ReadToEnd(), StartsWith("HTTP/1.1 426 "));
}

TEST_F(WebSocketTest, EndsWithTheServer) {
  RawPeer peer = Open();
  std::string got;
  socket_->Read([&](const std::optional<std::string>& message) {
    waiter_.Notify([&] { got = message.value_or("(end)"); });
  });
  server_->Stop();
  EXPECT_TRUE(waiter_.WaitFor([&] { return got == "(end)"; }));
  EXPECT_FALSE(socket_->Write("x"));
}

TEST(WebSocketRequest, IsRecognisedByItsMethodAndHeaders) {
  EXPECT_TRUE(AsksForWebSocket(kUpgrade));
  EXPECT_THAT(ListedValues(kUpgrade, "Sec-WebSocket-Protocol"),
              ElementsAre("v5.channel.k8s.io", "v4.channel.k8s.io"));
  Request request = kUpgrade;
  request.method = "POST";
  EXPECT_FALSE(AsksForWebSocket(request));
  request = kUpgrade;
  request.headers.Set("Upgrade", "SPDY/3.1");
  EXPECT_FALSE(AsksForWebSocket(request));
  request = kUpgrade;
  request.headers.Set("Connection", "keep-alive");
  EXPECT_FALSE(AsksForWebSocket(request));
}

}  // namespace
}  // namespace berth::net
