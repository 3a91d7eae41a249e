// local/apiserver/http/kept_stream.h — streams that keep an object alive: the object learns by its
// destructor that the last reference of the stream is dropped.
//
// Threads and errors: those of the stream inside.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/server.h"

namespace berth::local {

class KeptStream final : public net::Stream {
 public:
  KeptStream(std::shared_ptr<net::Stream> stream, std::shared_ptr<const void> kept)
      : stream_(std::move(stream)), kept_(std::move(kept)) {}
  bool Write(std::string bytes) override { return stream_->Write(std::move(bytes)); }
  std::size_t Backlog() const override { return stream_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    stream_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { stream_->Close(); }
  void OnGone(std::function<void()> gone) override { stream_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<net::Stream> stream_;
  const std::shared_ptr<const void> kept_;  // goes before the stream
};

class KeptDuplex final : public net::Duplex {
 public:
  KeptDuplex(std::shared_ptr<net::Duplex> socket, std::shared_ptr<const void> kept)
      : socket_(std::move(socket)), kept_(std::move(kept)) {}
  void Read(OnMessage on_message) override { socket_->Read(std::move(on_message)); }
  bool Write(std::string message) override { return socket_->Write(std::move(message)); }
  std::size_t Backlog() const override { return socket_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    socket_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { socket_->Close(); }
  void OnGone(std::function<void()> gone) override { socket_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<net::Duplex> socket_;
  const std::shared_ptr<const void> kept_;  // goes before the socket
};

}  // namespace berth::local
