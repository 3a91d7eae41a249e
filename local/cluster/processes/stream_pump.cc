#include "local/cluster/processes/stream_pump.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/threads/guarded.h"
#include "local/cluster/processes/wake_file.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kStreamChunkBytes = std::size_t{32} * 1024;
constexpr int kStreamChunksATurn = 8;  // then other sessions have their turn
constexpr char kEndOfTransmission = 4;
constexpr std::string_view kWorkFailed = "a task of the pump of streams failed";

void CloseFile(int& file) {
  if (file >= 0) close(file);
  file = -1;
}

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Belongs to the pump's thread.
struct StreamSession {
  StreamPump::Files files;
  std::shared_ptr<ProgramObserver> observer;
  StreamPump::Hooks hooks;
  bool is_paused = true;
  std::string input;  // waits for the program
  std::size_t input_sent = 0;
  std::function<void()> written;
  bool closes_input = false;  // after `input`
  std::string pushed;
  std::optional<ProgramEnd> end;
};

}  // namespace

class StreamPump::Impl {
 public:
  explicit Impl(WakeFile wake) : wake_(std::move(wake)) {
    thread_ = StartThread("the pump of streams failed", [this] { Run(); });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.Wake();
    if (thread_.joinable()) thread_.join();
  }

  // Runs `work` on the pump's thread; drops it where the pump has stopped.
  void Post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      work_.push_back(std::move(work));
    }
    wake_.Wake();
  }
  void PostTo(std::int64_t id, std::function<void(StreamSession&)> work) {
    Post([this, id, work = std::move(work)] {
      const auto found = sessions_.find(id);
      if (found == sessions_.end()) return;
      DropIfThrows(id, [&] {
        work(found->second);
        Settle(id);
      });
    });
  }

  std::int64_t Add(StreamSession session) {
    for (const int file : {session.files.input, session.files.output, session.files.error}) {
      if (file >= 0) fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
    }
    std::int64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = next_id_++;
    }
    auto kept = std::make_shared<StreamSession>(std::move(session));
    Post([this, id, kept] { sessions_[id] = std::move(*kept); });
    return id;
  }

  // Runs on the pump's thread. The client has gone.
  void Drop(std::int64_t id) {
    auto node = sessions_.extract(id);
    if (node.empty()) return;
    StreamSession& session = node.mapped();
    CloseAll(session);
    if (session.hooks.client_gone) session.hooks.client_gone();
  }

  // A client must not take a stream with a gap for a whole one.
  void DropIfThrows(std::int64_t id, const std::function<void()>& work) {
    if (RunGuarded("a stream of a program failed", work)) return;
    auto node = sessions_.extract(id);
    if (!node.empty()) EndNow(node.mapped(), "a bug of Berth; its log has the error");
  }

  static void EndNow(StreamSession& session, const std::string& why) {
    RunGuarded("the end of a stream failed", [&] {
      CloseAll(session);
      if (session.hooks.client_gone) session.hooks.client_gone();
      session.observer->OnEnd({0, why});
    });
  }

  static void WriteMore(StreamSession& session) {
    while (session.input_sent < session.input.size() && session.files.input >= 0) {
      const ssize_t count = write(session.files.input, session.input.data() + session.input_sent,
                                  session.input.size() - session.input_sent);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && WouldBlock(errno)) return;
      if (count < 0) CloseFile(session.files.input);  // the program has closed its input
      if (count > 0) session.input_sent += static_cast<std::size_t>(count);
    }
    session.input.clear();
    session.input_sent = 0;
    if (const auto written = std::exchange(session.written, nullptr)) written();
    if (session.closes_input) CloseInputNow(session);
  }

  static void WriteInput(StreamSession& session, std::string bytes, std::function<void()> written) {
    session.input = std::move(bytes);
    session.input_sent = 0;
    session.written = std::move(written);
    WriteMore(session);
  }

 private:
  // A terminal has no end of input but a character.
  static void CloseInputNow(StreamSession& session) {
    session.closes_input = false;
    if (session.files.is_terminal && session.files.input >= 0) {
      if (write(session.files.input, &kEndOfTransmission, 1) < 0) CloseFile(session.files.input);
    } else {
      CloseFile(session.files.input);
    }
    if (const auto closed = std::exchange(session.hooks.input_closed, nullptr)) closed();
  }

  static void CloseAll(StreamSession& session) {
    CloseFile(session.files.output);
    CloseFile(session.files.error);
    CloseFile(session.files.input);
    if (const auto closed = std::exchange(session.hooks.input_closed, nullptr)) closed();
  }

  // Reads what there is, while the observer takes it.
  static void ReadFrom(StreamSession& session, int& file, OutputKind kind) {
    std::array<char, kStreamChunkBytes> chunk{};
    for (int round = 0; round < kStreamChunksATurn && file >= 0 && !session.is_paused; ++round) {
      const ssize_t count = read(file, chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && WouldBlock(errno)) {
        if (session.end) CloseFile(file);  // a descendant may keep it open
        return;
      }
      if (count <= 0) return CloseFile(file);  // a terminal without users gives EIO
      const std::string bytes(chunk.data(), static_cast<std::size_t>(count));
      session.is_paused = !session.observer->OnOutput(kind, bytes);
    }
  }

  static void PassPushed(StreamSession& session) {
    if (session.pushed.empty() || session.is_paused) return;
    session.is_paused =
        !session.observer->OnOutput(OutputKind::kOutput, std::exchange(session.pushed, {}));
  }

  // Ends the session once its program has ended and everything is delivered.
  void Settle(std::int64_t id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    StreamSession& session = found->second;
    PassPushed(session);
    if (session.pushed.size() > kMostPushedBytes) {
      session.pushed.clear();
      session.end = ProgramEnd{0, "the client does not read the output in time"};
      CloseFile(session.files.output);
      CloseFile(session.files.error);
    }
    if (!session.end) return;
    ReadFrom(session, session.files.output, OutputKind::kOutput);
    ReadFrom(session, session.files.error, OutputKind::kError);
    const bool has_more =
        session.files.output >= 0 || session.files.error >= 0 || !session.pushed.empty();
    if (has_more) return;
    auto node = sessions_.extract(found);
    CloseAll(node.mapped());
    node.mapped().observer->OnEnd(*node.mapped().end);
  }

  void Run() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    while (true) {
      std::vector<std::function<void()>> work;
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) break;
        work.swap(work_);
      }
      for (const auto& one : work) RunGuarded(kWorkFailed, one);
      work.clear();
      WaitAndCopy();
    }
    std::vector<std::function<void()>> last;  // has sessions that nobody else would end
    {
      const std::lock_guard lock(mutex_);
      last.swap(work_);
    }
    for (const auto& one : last) RunGuarded(kWorkFailed, one);
    for (auto& [id, session] : std::exchange(sessions_, {})) {
      EndNow(session, "the server is shutting down");
    }
  }

  void WaitAndCopy() {
    std::vector<pollfd> files{{wake_.file(), POLLIN, 0}};
    std::vector<std::int64_t> ids{0};
    const auto add = [&](std::int64_t id, int file, short events) {
      if (file < 0) return;
      files.push_back({file, events, 0});
      ids.push_back(id);
    };
    for (const auto& [id, session] : sessions_) {
      if (!session.is_paused) {
        add(id, session.files.output, POLLIN);
        add(id, session.files.error, POLLIN);
      }
      if (!session.input.empty()) add(id, session.files.input, POLLOUT);
    }
    const bool more = HasWork();
    if (poll(files.data(), files.size(), more ? 0 : -1) <= 0) return;
    if (files[0].revents != 0) wake_.Clear();
    for (std::size_t at = 1; at < files.size(); ++at) {
      const auto found = files[at].revents == 0 ? sessions_.end() : sessions_.find(ids[at]);
      if (found == sessions_.end()) continue;
      DropIfThrows(ids[at], [&] {
        Copy(found->second, files[at]);
        Settle(ids[at]);
      });
    }
  }

  static void Copy(StreamSession& session, const pollfd& ready) {
    if ((ready.events & POLLOUT) != 0) {
      if (ready.fd == session.files.input) WriteMore(session);
    } else if (ready.fd == session.files.output) {
      ReadFrom(session, session.files.output, OutputKind::kOutput);
    } else if (ready.fd == session.files.error) {
      ReadFrom(session, session.files.error, OutputKind::kError);
    }
  }

  bool HasWork() {
    const std::lock_guard lock(mutex_);
    return stopping_ || !work_.empty();
  }

  const WakeFile wake_;
  std::map<std::int64_t, StreamSession> sessions_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::function<void()>> work_;
  std::int64_t next_id_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

template <typename PumpType>
class PumpedProgram final : public RunningProgram {
 public:
  PumpedProgram(std::weak_ptr<PumpType> pump, std::int64_t id) : pump_(std::move(pump)), id_(id) {}
  ~PumpedProgram() override {
    if (const auto pump = pump_.lock()) pump->Post([at = pump.get(), id = id_] { at->Drop(id); });
  }
  void WriteInput(std::string bytes, std::function<void()> written) override {
    const auto pump = pump_.lock();
    if (pump == nullptr) return;
    pump->PostTo(id_, [bytes = std::move(bytes),
                       written = std::move(written)](StreamSession& session) mutable {
      PumpType::WriteInput(session, std::move(bytes), std::move(written));
    });
  }
  void CloseInput() override {
    const auto pump = pump_.lock();
    if (pump == nullptr) return;
    pump->PostTo(id_, [](StreamSession& session) {
      session.closes_input = true;
      if (session.input.empty()) PumpType::WriteMore(session);
    });
  }
  void Resize(int columns, int rows) override {
    const auto pump = pump_.lock();
    if (pump == nullptr || columns < 1 || rows < 1) return;
    pump->PostTo(id_, [columns, rows](StreamSession& session) {
      if (!session.files.is_terminal) return;
      struct winsize size {};
      size.ws_col = static_cast<unsigned short>(columns);
      size.ws_row = static_cast<unsigned short>(rows);
      const int file = session.files.output >= 0 ? session.files.output : session.files.input;
      if (file >= 0) ioctl(file, TIOCSWINSZ, &size);
    });
  }
  void Resume() override {
    const auto pump = pump_.lock();
    if (pump == nullptr) return;
    pump->PostTo(id_, [](StreamSession& session) { session.is_paused = false; });
  }

 private:
  const std::weak_ptr<PumpType> pump_;
  const std::int64_t id_;
};

}  // namespace

Result<std::unique_ptr<StreamPump>> StreamPump::Start() {
  BERTH_TRY(WakeFile wake, WakeFile::Make());
  return std::unique_ptr<StreamPump>(new StreamPump(std::make_shared<Impl>(std::move(wake))));
}

StreamPump::StreamPump(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
StreamPump::~StreamPump() { Stop(); }
void StreamPump::Stop() { impl_->Stop(); }

std::int64_t StreamPump::Add(const Files& files, std::shared_ptr<ProgramObserver> observer,
                             Hooks hooks) {
  StreamSession session;
  session.files = files;
  session.observer = std::move(observer);
  session.hooks = std::move(hooks);
  return impl_->Add(std::move(session));
}

std::unique_ptr<RunningProgram> StreamPump::Handle(std::int64_t id) {
  return std::make_unique<PumpedProgram<Impl>>(impl_, id);
}

void StreamPump::Push(std::int64_t id, std::string bytes) {
  impl_->PostTo(id,
                [bytes = std::move(bytes)](StreamSession& session) { session.pushed += bytes; });
}

void StreamPump::End(std::int64_t id, ProgramEnd end) {
  impl_->PostTo(id, [end = std::move(end)](StreamSession& session) {
    if (!session.end) session.end = end;
  });
}

}  // namespace berth::local::cluster
