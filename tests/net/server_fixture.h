// tests/net/server_fixture.h — a server on a free port with a handler that the tests know.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/certificates.h"
#include "net/io_pool.h"
#include "net/server.h"
#include "tests/net/raw_peer.h"

namespace berth::net {

// Waits for a condition that other threads change, ten seconds at most.
class Waiter {
 public:
  void Notify(const std::function<void()>& change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  bool WaitFor(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// A CA made once for the program, and the certificates that it issues.
const TlsIdentity& TestAuthority();
TlsIdentity IssueForTest(const TlsIdentity& authority, CertificateRequest request);
std::shared_ptr<const TlsIdentity> TestServerIdentity();  // for localhost, 127.0.0.1 and ::1

// Answers of the handler:
//   /echo      200, method, target and body
//   /big?N     200, N bytes
//   /who       200, the client certificate's CN and O
//   /stream    200, a stream that the test writes to
//   /brief     200, a stream with one piece that is dropped at once
//   /drop      drops its responder
//   /throw     throws
//   /late      keeps its responder for the test
class ServerFixture : public testing::Test {
 protected:
  void StartServer(ServerOptions options = {});
  RawPeer Connect() const { return RawPeer::Connect(server_->port()); }
  std::uint16_t port() const { return server_->port(); }

  // Waits until the handler has made `count` streams, or kept as many responders.
  std::vector<std::shared_ptr<Stream>> WaitForStreams(std::size_t count);
  std::vector<std::shared_ptr<Responder>> WaitForResponders(std::size_t count);
  bool WaitForGone(int count) {
    return waiter_.WaitFor([&] { return gone_count_ >= count; });
  }
  int request_count() {
    int count = 0;
    waiter_.Notify([&] { count = request_count_; });
    return count;
  }

  IoPool pool_{2};
  Waiter waiter_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Responder>> responders_;
  int gone_count_ = 0;
  int request_count_ = 0;
  std::unique_ptr<HttpServer> server_;  // last: its handler uses the members above

 private:
  void Handle(const Request& request, std::shared_ptr<Responder> responder);
};

}  // namespace berth::net
