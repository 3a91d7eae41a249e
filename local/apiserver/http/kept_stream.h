// local/apiserver/http/kept_stream.h — streams, and connections after an upgrade, that keep an
// object alive: the object learns by its destructor that the last reference of the stream is
// dropped.
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
  const std::shared_ptr<const void> kept_;  // destroyed before the stream
};

class KeptDuplex final : public net::Duplex {
 public:
  KeptDuplex(std::shared_ptr<net::Duplex> duplex, std::shared_ptr<const void> kept)
      : duplex_(std::move(duplex)), kept_(std::move(kept)) {}
  void Read(OnMessage on_message) override { duplex_->Read(std::move(on_message)); }
  bool Write(std::string message) override { return duplex_->Write(std::move(message)); }
  std::size_t Backlog() const override { return duplex_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    duplex_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { duplex_->Close(); }
  void OnGone(std::function<void()> gone) override { duplex_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<net::Duplex> duplex_;
  const std::shared_ptr<const void> kept_;  // destroyed before the connection
};

}  // namespace berth::local
