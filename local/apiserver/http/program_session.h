// local/apiserver/http/program_session.h — one exec or attach: a client's channels and a program.
//
//     client ──ProgramChannels──▶ ProgramSession ──input, size──▶ RunningProgram
//     client ◀──────────────────  ProgramSession ◀──output, end── (ProgramObserver)
//
// A client that reads slowly stops the output of its own program, and nothing else.
//
// Threads: any.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "local/apiserver/http/program_channels.h"
#include "local/apiserver/http/stream_sessions.h"
#include "local/apiserver/program_streams.h"

namespace berth::local {

class ProgramSession final : public ProgramObserver,
                             public StreamSession,
                             public std::enable_shared_from_this<ProgramSession> {
 public:
  // Output pauses when more than kFullBytes wait for the client, and goes on below kLowBytes.
  static constexpr std::size_t kFullBytes = std::size_t{256} * 1024;
  static constexpr std::size_t kLowBytes = std::size_t{64} * 1024;

  void Begin(std::shared_ptr<ProgramChannels> channels, std::unique_ptr<RunningProgram> program);

  bool OnOutput(OutputKind kind, std::string bytes) override;
  void OnEnd(const ProgramEnd& end) override;
  void Cut() override;

 private:
  void Open();
  void ReadNext();
  void OnMessage(std::optional<ProgramChannels::Message> message);
  void Resume();
  void Drop();
  std::shared_ptr<ProgramChannels> channels();
  std::shared_ptr<RunningProgram> program();

  std::mutex mutex_;  // guards the members below; never held during a call of them
  std::shared_ptr<ProgramChannels> channels_;
  std::shared_ptr<RunningProgram> program_;
  bool is_open_ = false;  // the channels take output
  std::optional<ProgramEnd> early_end_;
};

}  // namespace berth::local
