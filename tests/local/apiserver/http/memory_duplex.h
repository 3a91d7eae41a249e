// tests/local/apiserver/http/memory_duplex.h — a connection after an upgrade, in memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "net/upgrade.h"

namespace berth::local {

// The server's side of a connection without threads.
class MemoryDuplex final : public net::Duplex {
 public:
  void Read(OnMessage on_message) override { on_message_ = std::move(on_message); }
  bool Write(std::string message) override {
    if (is_closed) return false;
    sent += message;
    return true;
  }
  std::size_t Backlog() const override { return backlog; }
  void WhenBelow(std::size_t /*bytes*/, std::function<void()> below) override {
    when_below = std::move(below);
  }
  void Close() override { is_closed = true; }
  void OnGone(std::function<void()> /*gone*/) override {}

  bool is_read() const { return on_message_ != nullptr; }
  // Precondition: is_read.
  void Receive(std::optional<std::string> bytes) {
    std::exchange(on_message_, nullptr)(std::move(bytes));
  }

  std::string sent;
  std::size_t backlog = 0;
  bool is_closed = false;
  std::function<void()> when_below;

 private:
  OnMessage on_message_;
};

}  // namespace berth::local
