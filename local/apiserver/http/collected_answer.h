// local/apiserver/http/collected_answer.h — the answer of a pod's program while it arrives.
//
//     pieces ─▶ CollectedAnswer ──(complete)──▶ the client
//                    └─ AnswerRoom: the bytes of all answers that are arriving
//
// Pods may send slowly, so that many incomplete answers can be in memory at once.
//
// Units: bytes. Threads: AnswerRoom any; CollectedAnswer one at a time.
// Errors: 503 with the limit; the answer is dropped then.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "net/http.h"

namespace berth::local {

struct AnswerLimits {
  std::size_t of_one = 64UL * 1024 * 1024;
  std::size_t of_all = 128UL * 1024 * 1024;
  Duration time = std::chrono::seconds(60);  // from the request to the last byte
};

class AnswerRoom {
 public:
  explicit AnswerRoom(AnswerLimits limits = {}) : limits_(limits) {}
  const AnswerLimits& limits() const { return limits_; }
  std::size_t held() const { return held_; }

 private:
  friend class CollectedAnswer;
  const AnswerLimits limits_;
  std::atomic<std::size_t> held_ = 0;
};

class CollectedAnswer {
 public:
  CollectedAnswer(std::shared_ptr<AnswerRoom> room, SteadyTime begin)
      : room_(std::move(room)), begin_(begin) {}
  ~CollectedAnswer();
  CollectedAnswer(const CollectedAnswer&) = delete;
  CollectedAnswer& operator=(const CollectedAnswer&) = delete;

  void SetHead(int status, net::Headers headers);
  // Returns nullopt if the piece was added.
  std::optional<ApiError> Add(std::string_view piece, SteadyTime now);
  // The whole answer, which leaves the room.
  net::Response Take();

 private:
  ApiError Drop(const std::string& why);

  const std::shared_ptr<AnswerRoom> room_;
  const SteadyTime begin_;
  net::Response response_;
};

}  // namespace berth::local
