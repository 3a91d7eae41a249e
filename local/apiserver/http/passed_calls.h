// local/apiserver/http/passed_calls.h — requests of clients that this server passes on to other
// programs, and their answers.
//
//     client ─▶ PassedCalls ─▶ program            Send:  the answer is collected (AnswerLimits)
//     client ◀─ PassedCalls ◀─ program            Watch: the answer passes piece by piece
//
// Users share the calls (share.h); a call above the limit is answered with 429. If the program is
// not reached, the answer is 503.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "local/apiserver/http/collected_answer.h"
#include "local/apiserver/http/exchange.h"
#include "net/client.h"

namespace berth::local {

// The client's request for `target`, without the headers of its connection and without its
// credentials, which are for this server alone.
net::Request PassedRequest(const Exchange& exchange, std::string target);

// 503: the program gives no answer.
ApiError NotReached(const std::string& why);

class PassedCalls : public std::enable_shared_from_this<PassedCalls> {
 public:
  static constexpr std::size_t kMostCalls = 64;  // at a time
  explicit PassedCalls(std::size_t most = kMostCalls) : most_(most) {}
  // Must not be called on a thread of the clients' pool.
  void Stop();

  // Answers `exchange`. `prefix` is put in front of the path of a redirection.
  void Send(const std::shared_ptr<Exchange>& exchange, std::shared_ptr<net::HttpClient> client,
            net::Request request, std::string prefix);
  // Does what Send does, for an answer without an end. The answer ends when no byte has come for
  // `silence`.
  void Watch(const std::shared_ptr<Exchange>& exchange, std::shared_ptr<net::HttpClient> client,
             net::Request request, Duration silence);

 private:
  struct Collecting;
  struct Watching;
  struct Call {
    std::string user;
    std::shared_ptr<net::HttpClient> client;
    std::unique_ptr<net::StreamHandle> answer;  // ends before the client
  };

  // Returns 0 if there are too many calls, in all or of the user; the exchange is answered then.
  std::int64_t Add(const Exchange& exchange, std::shared_ptr<net::HttpClient> client);
  void SetAnswer(std::int64_t call, std::unique_ptr<net::StreamHandle> answer);
  Call Take(std::int64_t call);

  const std::size_t most_;
  const std::shared_ptr<AnswerRoom> room_ = std::make_shared<AnswerRoom>();
  std::mutex mutex_;  // guards the members below
  std::map<std::int64_t, Call> calls_;
  std::int64_t last_ = 0;
  bool is_stopped_ = false;
};

}  // namespace berth::local
