// tests/readapi/controller/sign_in_answer.h — asks a SignIn as the server does.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "readapi/controller/sign_in.h"

namespace berth::readapi {

class KeptAnswer final : public net::Responder {
 public:
  bool HasPeerLeft() const override { return false; }
  void Send(net::Response response) override { sent.set_value(std::move(response)); }
  std::shared_ptr<net::Stream> StartStream(int, net::Headers) override { return nullptr; }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request&, std::string,
                                            net::Headers) override {
    return nullptr;
  }
  std::promise<net::Response> sent;
};

// The answer, which may come from another thread.
inline net::Response AnswerOf(SignIn& sign_in, const net::Request& request) {
  const auto responder = std::make_shared<KeptAnswer>();
  std::future<net::Response> answer = responder->sent.get_future();
  sign_in.Handle(request, responder);
  if (answer.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
    ADD_FAILURE() << "no answer to " << request.method << " " << request.target;
    return {.status = 0};
  }
  return answer.get();
}

// Gives distinct bytes.
inline PageSessions::RandomBytes Counter() {
  return [count = std::make_shared<int>(0)](std::size_t size) {
    std::string bytes(size, 'x');
    bytes.replace(0, 8, std::to_string(10'000'000 + ++*count));
    return bytes;
  };
}

}  // namespace berth::readapi
