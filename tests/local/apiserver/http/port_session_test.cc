// Goal: a port forwarding over SPDY opens a connection for each pair of streams, tells why it has
// none, and survives hostile clients. Method: frames as client-go sends them, on a connection in
// memory; no program listens, or the test says later that none does.
#include "local/apiserver/http/port_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/local/apiserver/http/memory_duplex.h"
#include "tests/local/apiserver/http/spdy_client.h"

namespace berth::local {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::SizeIs;

class SilentPod final : public PodStreams {
 public:
  void StartProgram(const ProgramRequest& /*request*/,
                    std::shared_ptr<ProgramObserver> /*observer*/,
                    Done<std::unique_ptr<RunningProgram>> /*done*/) override {}
  void FindPort(const PodPlace& /*place*/, std::uint16_t port, Done<std::string> done) override {
    ports.push_back(port);
    asked.push_back(std::move(done));
  }

  std::vector<std::uint16_t> ports;
  std::vector<Done<std::string>> asked;
};

class PortSessionTest : public testing::Test {
 protected:
  void SetUp() override { session_->Begin(duplex_, std::nullopt); }
  void TearDown() override {
    pod_->asked.clear();
    if (duplex_->is_read()) duplex_->Receive(std::nullopt);
  }
  std::string Stream(int id, const std::string& type, const std::string& port,
                     const std::string& request) {
    return client_.Stream(id, {{"Streamtype", type}, {"Port", port}, {"Requestid", request}});
  }
  void Open(int id, const std::string& request) {
    duplex_->Receive(Stream(id, "error", "8080", request));
    duplex_->Receive(Stream(id + 2, "data", "8080", request));
  }
  static std::string Refused(int id) {
    return SpdyWriter::Reset(static_cast<std::uint32_t>(id),
                             SpdyWriter::ResetReason::kRefusedStream);
  }

  net::IoPool pool_{1};
  SpdyClient client_;
  const std::shared_ptr<SilentPod> pod_ = std::make_shared<SilentPod>();
  const std::shared_ptr<MemoryDuplex> duplex_ = std::make_shared<MemoryDuplex>();
  const std::shared_ptr<PortSession> session_ =
      std::make_shared<PortSession>(PodPlace{"default", "p", "uid"}, pod_, pool_);
};

TEST_F(PortSessionTest, ReportsWhyAPortRefusesAConnection) {
  Open(1, "0");
  EXPECT_THAT(pod_->ports, ElementsAre(8080));
  duplex_->sent.clear();
  pod_->asked[0](ApiError{400, "BadRequest", "nobody listens", nullptr});
  EXPECT_EQ(duplex_->sent,
            SpdyWriter::Data(1, "nobody listens", true) + SpdyWriter::Data(3, "", true));
  EXPECT_FALSE(duplex_->is_closed) << "other connections go on";
}

TEST_F(PortSessionTest, RefusesStreamsWithoutAPort) {
  int id = 1;
  for (const auto& [type, port] :
       {std::pair("data", "0"), {"data", "65536"}, {"data", "http"}, {"stdin", "80"}, {"", ""}}) {
    duplex_->Receive(Stream(id, type, port, "0"));
    EXPECT_THAT(duplex_->sent, EndsWith(Refused(id))) << type << " " << port;
    id += 2;
  }
  EXPECT_THAT(pod_->ports, SizeIs(0));
}

TEST_F(PortSessionTest, ConnectionsOfASessionAreBounded) {
  for (int number = 0; number < 3000; ++number) Open(4 * number + 1, std::to_string(number));
  EXPECT_THAT(duplex_->sent, EndsWith(Refused(11'997) + Refused(11'999)));
  EXPECT_LE(pod_->ports.size(), PortSession::kMostConnections + 1);
  EXPECT_FALSE(duplex_->is_closed);
}

// A client opens `error` ahead of `data`: a refused connection leaves nothing behind.
TEST_F(PortSessionTest, RefusedConnectionTakesNoRoom) {
  constexpr int kFull = static_cast<int>(PortSession::kMostConnections);
  int id = 1;
  const auto open = [&] {
    Open(id, std::to_string(id));
    id += 4;
  };
  for (int i = 0; i < kFull; ++i) open();
  ASSERT_THAT(pod_->ports, SizeIs(kFull));
  for (int round = 0; round < kFull; ++round) {
    open();
    EXPECT_THAT(duplex_->sent, EndsWith(Refused(id - 4) + Refused(id - 2))) << round;
  }
  const std::size_t first_data = 3;
  duplex_->Receive(
      SpdyClient::Frame(3, 0, SpdyClient::Number(first_data, 4) + SpdyClient::Number(5, 4)));
  open();
  EXPECT_THAT(pod_->ports, SizeIs(kFull + 1));
}

TEST_F(PortSessionTest, ForgetsStreamsThatAreReset) {
  for (int id = 1; id < 1000; id += 2) {
    duplex_->Receive(Stream(id, "error", "8080", std::to_string(id)));
    duplex_->Receive(SpdyClient::Frame(
        3, 0, SpdyClient::Number(static_cast<std::size_t>(id), 4) + SpdyClient::Number(5, 4)));
  }
  duplex_->sent.clear();
  Open(1001, "last");
  EXPECT_THAT(pod_->ports, ElementsAre(8080));
}

TEST_F(PortSessionTest, StopsReadingWhileThePortTakesNothing) {
  Open(1, "0");
  const std::string large(100'000, 'x');
  std::size_t sent = 0;
  for (; duplex_->is_read() && sent < 100 * large.size(); sent += large.size()) {
    duplex_->Receive(SpdyClient::Data(3, large));
  }
  EXPECT_LT(sent, PortSession::kFullBytes + 2 * large.size());
  pod_->asked[0](ApiError{400, "BadRequest", "nobody listens", nullptr});
  EXPECT_TRUE(duplex_->is_read()) << "the bytes are dropped with their connection";
}

TEST_F(PortSessionTest, EndsWithAFrameThatViolatesTheProtocol) {
  Open(1, "0");
  duplex_->Receive(client_.Stream(2, {}));
  EXPECT_THAT(duplex_->sent, EndsWith(SpdyWriter::GoAway(3)));
  EXPECT_TRUE(duplex_->is_closed);
}

}  // namespace
}  // namespace berth::local
