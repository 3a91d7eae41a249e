// Goal: no client makes the server crash, hang, grow without bound or misread the end of a request.
// Method: raw bytes on a real socket; the server must answer other requests afterwards.
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/server.h"
#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kChunkedHead =
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view kStream = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr auto kShort = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::seconds(20);

// Takes out the first of `peers` that the server answers or closes.
RawPeer TakeFirstToEnd(std::vector<RawPeer>& peers) {
  std::vector<pollfd> sockets;
  for (const RawPeer& each : peers) sockets.push_back({each.socket(), POLLIN, 0});
  EXPECT_GT(poll(sockets.data(), sockets.size(), 20'000), 0);
  std::vector<RawPeer> others;
  std::optional<RawPeer> first;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!first && sockets[i].revents != 0) {
      first.emplace(std::move(peers[i]));
    } else {
      others.push_back(std::move(peers[i]));
    }
  }
  peers.swap(others);
  return std::move(first).value();
}

class ServerFault : public ServerFixture {
 protected:
  void TearDown() override {
    if (!server_) return;
    EXPECT_THAT(FirstAnswer("/alive"), EndsWith("GET /alive "));
  }

  // The answer to a new connection, which is refused while the server counts too many. Empty: it
  // was refused for ten seconds.
  std::string FirstAnswer(const std::string& path) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::string answer;
    while (answer.empty() && std::chrono::steady_clock::now() < deadline) {
      RawPeer peer = Connect();
      peer.Send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
      answer = peer.ReadResponse();
    }
    return answer;
  }

  // The server answers `request` with `status`, closes, and never calls the handler.
  void ExpectRefused(const std::string& request, std::string_view status) {
    const int before = request_count();
    RawPeer peer = Connect();
    peer.Send(request);
    const std::string answer = peer.ReadToEnd();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::string(status) + " ")) << request;
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n")) << request;
    EXPECT_EQ(request_count(), before) << request;
  }
};

TEST_F(ServerFault, BadChunksAreRefused) {
  StartServer();
  for (const char* size : {"-1", "-2", "xyz", "", " 5", "0x5", "fffffffffffffffff", "5 x"}) {
    ExpectRefused(std::string(kChunkedHead) + size + "\r\nhello\r\n0\r\n\r\n", "400");
  }
  ExpectRefused(std::string(kChunkedHead) + "5\r\nhelloXX0\r\n\r\n", "400");
  ExpectRefused(std::string(kChunkedHead) + "7fffffff\r\nhello", "413");
}

TEST_F(ServerFault, AmbiguousLengthsAreRefused) {
  StartServer();
  for (const char* field :
       {"Content-Length: -1", "Content-Length: abc", "Content-Length: +5", "Content-Length: 0x5",
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6", "Content-Length:",
        "Content-Length: 99999999999999999999", "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length : 5",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"}) {
    ExpectRefused(std::string("POST /echo HTTP/1.1\r\nHost: x\r\n") + field + "\r\n\r\nhello",
                  "400");
  }
  for (const char* value : {"gzip", "gzip, chunked", "chunked, gzip", "identity", "xchunked"}) {
    ExpectRefused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + std::string(value) +
                      "\r\n\r\n0\r\n\r\n",
                  "501");
  }
  ExpectRefused("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400");
}

TEST_F(ServerFault, MalformedRequestsAreRefused) {
  StartServer();
  for (const std::string& request :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET /\r\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        std::string("GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n"),
        std::string(5000, '\xff') + "\r\n\r\n", std::string(100, '\0')}) {
    ExpectRefused(request, "400");
  }
}

TEST_F(ServerFault, HeadersHaveALimit) {
  StartServer();
  ExpectRefused("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", "431");
  ExpectRefused("GET /" + std::string(70'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", "431");
  for (const std::string_view piece : {"X: y\r\n", "x"}) {
    RawPeer peer = Connect();
    peer.Send("GET / HTTP/1.1\r\nHost: x\r\n");
    std::size_t sent = 0;
    while (sent < 20'000'000 && peer.Send(piece)) sent += piece.size();
    EXPECT_LT(sent, 20'000'000U);
  }
  ExpectRefused(std::string(kChunkedHead) + "5;" + std::string(200'000, 'x'), "431");
}

TEST_F(ServerFault, BodiesHaveALimit) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  StartServer(options);
  // Answered before the body has arrived, although the body arrives later.
  ExpectRefused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", "413");
  ExpectRefused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" +
                    std::string(500'000, 'x'),
                "413");
  ExpectRefused(std::string(kChunkedHead) + "3e9\r\n" + std::string(1001, 'x'), "413");
  std::string dripping(kChunkedHead);
  for (int count = 0; count < 1001; ++count) dripping += "1\r\nx\r\n";
  ExpectRefused(dripping, "413");
  ExpectRefused(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n", "413");
}

TEST_F(ServerFault, SlowRequestsTimeOut) {
  ServerOptions options;
  options.request_timeout = kShort;
  StartServer(options);
  ExpectRefused("GET / HT", "408");
  ExpectRefused("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf", "408");
}

TEST_F(ServerFault, IdleConnectionsAreClosed) {
  ServerOptions options;
  options.idle_timeout = kShort;
  StartServer(options);
  RawPeer silent = Connect();
  EXPECT_EQ(silent.ReadToEnd(), "");
  RawPeer peer = Connect();
  peer.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadToEnd(), EndsWith("GET /1 "));
}

TEST_F(ServerFault, PeerThatDoesNotReadTheAnswerIsCut) {
  ServerOptions options;
  options.write_timeout = kShort;
  StartServer(options);
  RawPeer peer = Connect();
  peer.Send(kStream);
  const auto stream = WaitForStreams(1)[0];
  // More than the kernel buffers, in one message: the backlog limit does not apply.
  // NOLINTNEXTLINE(bugprone-string-constructor): so much is the point
  EXPECT_TRUE(stream->Write(std::string(100'000'000, 'x')));
  EXPECT_TRUE(WaitForGone(1));
  EXPECT_LT(peer.ReadToEnd().size(), 100'000'000U);
}

TEST_F(ServerFault, ASlowReaderOfAStreamIsCutAtTheLimit) {
  ServerOptions options;
  options.max_stream_backlog_bytes = 1'000'000;
  StartServer(options);
  RawPeer slow = Connect();
  slow.Send(kStream);
  RawPeer quick = Connect();
  quick.Send(kStream);
  const auto streams = WaitForStreams(2);
  // The order of `streams` is unknown: the quick one gets all events.
  std::size_t written[2] = {0, 0};
  const std::string event(10'000, 'e');
  for (int round = 0; round < 5000; ++round) {
    for (const std::size_t index : {0U, 1U}) {
      if (streams[index]->Write(event)) written[index] += event.size();
    }
    quick.ReadUntil("e\r\n");
  }
  const auto [fewer, more] = std::minmax(written[0], written[1]);
  EXPECT_EQ(more, 50'000'000U);
  EXPECT_LT(fewer, 20'000'000U);  // the limit and the kernel's buffers
  EXPECT_TRUE(WaitForGone(1));
}

// Without a limit on the whole, many streams below their own limit could fill the memory.
TEST_F(ServerFault, AllStreamsTogetherHaveALimit) {
  constexpr std::size_t kStreams = 8;
  ServerOptions options;
  options.max_stream_backlog_bytes = 50'000'000;
  options.max_total_stream_backlog_bytes = 20'000'000;
  StartServer(options);
  std::vector<RawPeer> slow;
  for (std::size_t i = 0; i < kStreams; ++i) {
    slow.push_back(Connect());
    slow.back().Send(kStream);
  }
  const auto streams = WaitForStreams(kStreams);
  const std::string event(100'000, 'e');
  std::size_t backlog = 0;
  for (int round = 0; round < 400; ++round) {
    for (const auto& stream : streams) stream->Write(event);
    backlog = 0;
    for (const auto& stream : streams) backlog += stream->Backlog();
    EXPECT_LT(backlog, 22'000'000U);
  }
  // The closed connections have made room for a new one.
  ASSERT_TRUE(WaitForGone(1));
  RawPeer quick = Connect();
  quick.Send(kStream);
  const auto all = WaitForStreams(kStreams + 1);
  EXPECT_TRUE(all.back()->Write("hello"));
  quick.ReadUntil("hello");
}

TEST_F(ServerFault, UnreadAnswersHaveALimitTogether) {
  ServerOptions options;
  options.max_total_stream_backlog_bytes = 50'000'000;
  StartServer(options);
  // Each is more than the kernel buffers, so that all but the last one wait.
  std::vector<RawPeer> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(Connect());
    slow.back().Send("GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    slow.back().ReadUntil("\r\n\r\n");
  }
  RawPeer third = Connect();
  third.Send("GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(third.ReadUntil("try again later\n"), HasSubstr("HTTP/1.1 503 "));
  third.Send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(third.ReadUntil("GET /small "), HasSubstr("HTTP/1.1 200 "));
  // An answer that was read makes room.
  slow[0].Send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  slow[0].ReadUntil("GET /small ");
  third.Send("GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(third.ReadUntil("\r\n\r\n"), HasSubstr("HTTP/1.1 200 "));
}

TEST_F(ServerFault, WriterThatWaitsForTheBacklogIsNotCut) {
  ServerOptions options;
  options.max_stream_backlog_bytes = 1'000'000;
  StartServer(options);
  RawPeer peer = Connect();
  peer.Send(kStream);
  const auto stream = WaitForStreams(1).front();
  const std::string event(100'000, 'e');
  int written = 0;
  int read = 0;
  for (int pause = 0; pause < 50; ++pause) {
    while (stream->Backlog() < 500'000) {
      ASSERT_TRUE(stream->Write(event));
      ++written;
    }
    bool is_low = false;
    stream->WhenBelow(100'000, [&] { waiter_.Notify([&] { is_low = true; }); });
    for (; read < written; ++read) peer.ReadUntil("e\r\n");
    ASSERT_TRUE(waiter_.WaitFor([&] { return is_low; }));
    EXPECT_LE(stream->Backlog(), 100'000U);
  }
  EXPECT_GT(written, 100);
  // A callback that would never run is destroyed with the connection.
  const auto alive = std::make_shared<int>(0);
  while (stream->Backlog() < 900'000) ASSERT_TRUE(stream->Write(event));
  stream->WhenBelow(0, [alive] {});
  peer.Reset();
  ASSERT_TRUE(WaitForGone(1));
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(ServerFault, WatchersThatCloseAreDetected) {
  StartServer();
  {
    std::vector<RawPeer> peers;
    for (int count = 0; count < 20; ++count) {
      peers.push_back(Connect());
      peers.back().Send(kStream);
    }
    WaitForStreams(20);
    peers[0].Reset();
    peers[1].ShutdownSend();  // a watch has no use for a peer that says nothing more
    EXPECT_TRUE(WaitForGone(2));
  }
  EXPECT_TRUE(WaitForGone(20));
  for (const auto& stream : WaitForStreams(20)) EXPECT_FALSE(stream->Write("x"));
}

TEST_F(ServerFault, WriteToAResetConnectionRaisesNoSignal) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send(kStream);
  const auto stream = WaitForStreams(1)[0];
  peer.Reset();
  while (stream->Write("x")) {  // SIGPIPE would end the program
  }
  EXPECT_TRUE(WaitForGone(1));
  bool is_told = false;
  stream->OnGone([&] { waiter_.Notify([&] { is_told = true; }); });  // already gone: at once
  EXPECT_TRUE(waiter_.WaitFor([&] { return is_told; }));
}

TEST_F(ServerFault, BytesSentAfterAWatchRequestAreBounded) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send(kStream);
  WaitForStreams(1);
  peer.Send(std::string(1'000'000, 'x'));
  EXPECT_TRUE(WaitForGone(1));
}

TEST_F(ServerFault, ClosedStreamLeavesItsConnectionUsable) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send(std::string(kStream) + "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = WaitForStreams(1)[0];
  EXPECT_TRUE(stream->Write("a"));
  EXPECT_TRUE(stream->Write(""));  // would be the last chunk
  EXPECT_TRUE(stream->Write(std::string(300, 'b')));
  stream->Close();
  stream->Close();
  EXPECT_FALSE(stream->Write("c"));
  const std::string body = peer.ReadResponse();
  EXPECT_THAT(body,
              EndsWith("\r\n\r\n1\r\na\r\n12c\r\n" + std::string(300, 'b') + "\r\n0\r\n\r\n"));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("GET /next "));
  EXPECT_TRUE(WaitForGone(1));

  RawPeer old = Connect();
  old.Send("GET /stream HTTP/1.0\r\n\r\n");
  const auto plain = WaitForStreams(2)[1];
  plain->Write("no chunks");
  plain->Close();
  EXPECT_THAT(old.ReadToEnd(), EndsWith("\r\n\r\nno chunks"));
}

TEST_F(ServerFault, ADroppedStreamIsClosed) {
  StartServer();
  RawPeer peer = Connect();
  for (int round = 0; round < 2; ++round) {
    peer.Send("GET /brief HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(peer.ReadResponse(), EndsWith("\r\n\r\n9\r\nall of it\r\n0\r\n\r\n"));
  }
  peer.Send("HEAD /brief HTTP/1.1\r\nHost: x\r\n\r\nGET /brief HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("\r\n\r\n9\r\nall of it\r\n0\r\n\r\n"));
}

TEST_F(ServerFault, AcceptsAgainAfterItRanOutOfFileDescriptors) {
  StartServer();
  RawPeer last = Connect();
  last.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(last.ReadResponse(), EndsWith("GET /1 "));  // accepted, so that none is pending
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int next = dup(socket);  // the lowest that is free
  close(next);
  close(socket);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(socket) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  RawPeer waiting = Connect();  // takes the last one; the server has none
  waiting.Send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  last.Send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(last.ReadResponse(), EndsWith("GET /3 "));
  EXPECT_EQ(request_count(), 2);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(waiting.ReadResponse(), EndsWith("GET /2 "));
}

TEST_F(ServerFault, ConnectionsHaveALimit) {
  ServerOptions options;
  options.max_connections = 2;
  StartServer(options);
  {
    RawPeer one = Connect();
    one.Send(kStream);
    RawPeer two = Connect();
    two.Send(kStream);
    WaitForStreams(2);
    RawPeer three = Connect();
    EXPECT_TRUE(three.IsEnded());
  }
  EXPECT_TRUE(WaitForGone(2));
}

// Silent connections to the port of a probe would fail the probe. A connection is silent from its
// accept on, in the order of the accepts; after an answer it is silent from a moment that no client
// sees.
TEST_F(ServerFault, OldestSilentConnectionIsClosedForANewOne) {
  ServerOptions options;
  options.max_connections = 4;
  StartServer(options);
  std::vector<RawPeer> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(Connect());
  RawPeer probe = RawPeer::Connect(port(), "127.0.0.2");
  probe.Send("GET /probe HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(probe.ReadResponse(), EndsWith("GET /probe "));
  EXPECT_TRUE(silent[0].IsEnded()) << "the oldest one";
  silent[1].Send("GET /still HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(silent[1].ReadResponse(), EndsWith("GET /still ")) << "the others stay";
  // Another connection of the peer that has the most takes the place of one of its own.
  RawPeer fifth = Connect();
  fifth.Send("GET /fifth HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(fifth.ReadResponse(), EndsWith("GET /fifth "));
  EXPECT_TRUE(silent[2].IsEnded());
  RawPeer sixth = Connect();
  EXPECT_TRUE(silent[3].IsEnded());
  probe.Send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(probe.ReadResponse(), EndsWith("GET /again "));
}

TEST_F(ServerFault, AnsweredConnectionIsClosedForANewOne) {
  ServerOptions options;
  options.max_connections = 1;
  StartServer(options);
  RawPeer answered = Connect();
  answered.Send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answered.ReadResponse(), EndsWith("GET /first "));
  // A new connection is refused until the server counts the answered one as silent.
  EXPECT_THAT(FirstAnswer("/next"), EndsWith("GET /next "));
  EXPECT_TRUE(answered.IsEnded());
}

TEST_F(ServerFault, UnfinishedRequestsHaveALimitTogether) {
  constexpr std::size_t kBody = 400UL * 1024;
  ServerOptions options;
  options.max_total_request_bytes = 1024UL * 1024;
  StartServer(options);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: ";
  std::vector<RawPeer> unfinished;
  for (int i = 0; i < 3; ++i) {
    unfinished.push_back(Connect());
    unfinished.back().Send(head + std::to_string(kBody) + "\r\n\r\n" + std::string(kBody - 1, 'a'));
  }
  EXPECT_THAT(TakeFirstToEnd(unfinished).ReadToEnd(), StartsWith("HTTP/1.1 503 "));
  RawPeer other = RawPeer::Connect(port(), "127.0.0.2");
  other.Send(head + std::to_string(kBody) + "\r\n\r\n" + std::string(kBody, 'b'));
  EXPECT_THAT(other.ReadResponse(), StartsWith("HTTP/1.1 200 ")) << "another peer has room";
  EXPECT_TRUE(TakeFirstToEnd(unfinished).IsEnded());
  unfinished.front().Send("a");
  EXPECT_THAT(unfinished.front().ReadResponse(), StartsWith("HTTP/1.1 200 "));
}

// All addresses 127.0.0.0/8 are this machine: two of them are two peers.
TEST_F(ServerFault, ConnectionsOfOnePeerHaveALimit) {
  ServerOptions options;
  options.max_connections_per_peer = 2;
  StartServer(options);
  {
    RawPeer one = Connect();
    one.Send(kStream);
    RawPeer two = Connect();
    two.Send(kStream);
    WaitForStreams(2);
    RawPeer three = Connect();
    EXPECT_TRUE(three.IsEnded());
    RawPeer other = RawPeer::Connect(port(), "127.0.0.2");
    other.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(other.ReadResponse(), EndsWith("GET /echo ")) << "another peer";
  }
  EXPECT_TRUE(WaitForGone(2));
  // Closed connections do not count; the server notices them a moment later.
  std::string answer;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (answer.empty() && std::chrono::steady_clock::now() < deadline) {
    RawPeer again = Connect();
    again.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    answer = again.ReadResponse();
  }
  EXPECT_THAT(answer, EndsWith("GET /echo "));
  server_.reset();  // without a further connection
}

TEST_F(ServerFault, StopWithOpenStreamsIsQuick) {
  for (const bool with_tls : {false, true}) {
    ServerOptions options;
    if (with_tls) options.tls = TestServerIdentity();
    StartServer(options);
    std::vector<RawPeer> peers;
    for (int count = 0; count < 50; ++count) {
      peers.push_back(Connect());
      ASSERT_TRUE(!with_tls || peers.back().StartTlsAsClient({}));
      peers.back().Send(kStream);
    }
    peers.push_back(Connect());  // and one that says nothing
    const auto streams = WaitForStreams(50);
    const auto start = std::chrono::steady_clock::now();
    server_->Stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
    int gone = 0;
    waiter_.Notify([&] { gone = std::exchange(gone_count_, 0); });
    EXPECT_EQ(gone, 50);  // told before Stop returned
    EXPECT_FALSE(streams[0]->Write("x"));
    server_->Stop();
    for (RawPeer& peer : peers) peer.ReadToEnd();
    waiter_.Notify([&] { streams_.clear(); });
    server_.reset();
  }
}

TEST_F(ServerFault, StopWaitsForTheHandler) {
  std::promise<void> begun;
  std::promise<void> go_on;
  bool is_over = false;
  auto started = HttpServer::Start(pool_, {}, [&](const Request&, const auto& responder) {
    begun.set_value();
    go_on.get_future().wait();
    responder->Send({});
    is_over = true;
  });
  ASSERT_TRUE(started);
  RawPeer peer = RawPeer::Connect((*started)->port());
  peer.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { (*started)->Stop(); });
  EXPECT_EQ(stopped.wait_for(kShort), std::future_status::timeout);
  go_on.set_value();
  stopped.get();
  EXPECT_TRUE(is_over);
}

TEST(IoPoolTest, ATaskThatThrowsEndsNoThread) {
  IoPool pool(1);
  const auto strand = pool.MakeStrand();
  std::promise<void> later;
  std::promise<void> delayed;
  strand->PostAfter(Duration::zero(), [] { throw std::runtime_error("planted"); });
  strand->PostAfter(Duration::zero(), [&] { later.set_value(); });
  strand->PostAfter(std::chrono::milliseconds(1), [] { throw std::runtime_error("planted"); });
  strand->PostAfter(std::chrono::milliseconds(1), [&] { delayed.set_value(); });
  EXPECT_EQ(later.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(delayed.get_future().wait_for(kPatience), std::future_status::ready);
  pool.Stop();
}

TEST_F(ServerFault, StopReturnsAfterItsPoolHasStopped) {
  IoPool pool(1);
  auto started = HttpServer::Start(pool, {}, [](const Request&, const auto&) {});
  ASSERT_TRUE(started);
  RawPeer peer = RawPeer::Connect((*started)->port());
  pool.Stop();
  (*started)->Stop();  // returns, although the pool has stopped
}

}  // namespace
}  // namespace berth::net
