#include "local/apiserver/http/collected_answer.h"

#include <string>
#include <utility>

#include "local/apiserver/registry/status_errors.h"

namespace berth::local {

CollectedAnswer::~CollectedAnswer() { room_->held_ -= response_.body.size(); }

void CollectedAnswer::SetHead(int status, net::Headers headers) {
  response_.status = status;
  response_.headers = std::move(headers);
}

ApiError CollectedAnswer::Drop(const std::string& why) {
  room_->held_ -= response_.body.size();
  response_ = {};
  return UnavailableStatus("error trying to reach service: " + why);
}

std::optional<ApiError> CollectedAnswer::Add(std::string_view piece, SteadyTime now) {
  const AnswerLimits& limits = room_->limits();
  if (now - begin_ > limits.time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits.time).count();
    return Drop("the answer took more than " + std::to_string(seconds) + " s");
  }
  if (response_.body.size() + piece.size() > limits.of_one) {
    return Drop("the answer is larger than " + std::to_string(limits.of_one) + " bytes");
  }
  if ((room_->held_ += piece.size()) > limits.of_all) {
    room_->held_ -= piece.size();
    return Drop("the answers of all pods that arrive now are larger than " +
                std::to_string(limits.of_all) + " bytes together, try again later");
  }
  response_.body.append(piece);
  return std::nullopt;
}

net::Response CollectedAnswer::Take() {
  room_->held_ -= response_.body.size();
  return std::exchange(response_, {});
}

}  // namespace berth::local
