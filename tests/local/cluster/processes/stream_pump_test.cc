// Goal: the pump copies in both directions with back-pressure, ends sessions after their output,
// and waits for none of them; programs beside a container share its place. Method: pipes whose
// other ends the test has; real processes.
#include "local/cluster/processes/stream_pump.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stdexcept>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "local/cluster/processes/process_host.h"
#include "local/cluster/processes/standard_files.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

class Recorder final : public ProgramObserver {
 public:
  bool OnOutput(OutputKind kind, std::string bytes) override {
    const std::lock_guard lock(mutex_);
    (kind == OutputKind::kOutput ? output_ : error_) += bytes;
    changed_.notify_all();
    return !stops_;
  }
  void OnEnd(const ProgramEnd& end) override {
    const std::lock_guard lock(mutex_);
    end_ = end;
    changed_.notify_all();
  }
  void StopEachTime() { stops_ = true; }
  bool Waits(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), holds);
  }
  bool WaitsForOutput(const std::string& output) {
    return Waits([&] { return output_ == output; });
  }
  bool WaitsForEnd() {
    return Waits([&] { return end_.has_value(); });
  }

  std::string output_;
  std::string error_;
  std::optional<ProgramEnd> end_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stops_{false};
};

class StreamPumpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pump = StreamPump::Start();
    ASSERT_TRUE(pump);
    pump_ = *std::move(pump);
    auto files = StandardFiles::MakeFor({.input = true, .output = true, .error = true});
    ASSERT_TRUE(files);
    files_ = *std::move(files);
  }
  std::int64_t Add(StreamPump::Hooks hooks = {}) {
    const StreamPump::Files ours{files_.TakeOurs(), std::exchange(files_.our_output, -1),
                                 std::exchange(files_.our_error, -1)};
    return pump_->Add(ours, seen_, std::move(hooks));
  }
  void Say(int file, const std::string& text) {
    ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  std::unique_ptr<StreamPump> pump_;
  StandardFiles files_;  // the program's ends
  std::shared_ptr<Recorder> seen_ = std::make_shared<Recorder>();
};

TEST_F(StreamPumpTest, PassesOutputBeforeTheEnd) {
  const std::int64_t id = Add();
  const auto program = pump_->Handle(id);
  Say(files_.output, "out");
  Say(files_.error, "err");
  pump_->End(id, {5, ""});  // the pipes are still open, as by a descendant
  program->Resume();
  EXPECT_TRUE(seen_->WaitsForEnd());
  EXPECT_EQ(seen_->output_, "out");
  EXPECT_EQ(seen_->error_, "err");
  EXPECT_EQ(seen_->end_->exit_code, 5);
}

TEST_F(StreamPumpTest, ReadsNothingWhileTheObserverIsFull) {
  seen_->StopEachTime();
  const auto program = pump_->Handle(Add());
  program->Resume();
  Say(files_.output, "1");
  EXPECT_TRUE(seen_->WaitsForOutput("1"));
  fcntl(files_.output, F_SETFL, O_NONBLOCK);
  const std::string large(1'000'000, 'x');
  const ssize_t taken = write(files_.output, large.data(), large.size());
  EXPECT_LE(taken, 70'000) << "the pipe alone takes it";
  std::promise<void> turn;
  program->WriteInput("x", [&] { turn.set_value(); });
  turn.get_future().wait();  // the pump is alive, and has read nothing
  EXPECT_EQ(seen_->output_, "1");
  program->Resume();
  EXPECT_TRUE(seen_->Waits([&] { return seen_->output_.size() > 1; }));
}

TEST_F(StreamPumpTest, WritesInputWhenTheProgramReads) {
  const auto program = pump_->Handle(Add());
  const std::string large(300'000, 'x');
  std::promise<void> written;
  auto is_written = written.get_future();
  program->WriteInput(large, [&] { written.set_value(); });
  program->CloseInput();
  std::string got;
  std::array<char, 65536> piece{};
  ssize_t count = read(files_.input, piece.data(), piece.size());
  EXPECT_EQ(is_written.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  for (; count > 0; count = read(files_.input, piece.data(), piece.size())) {
    got.append(piece.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(got, large);
  EXPECT_EQ(is_written.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(StreamPumpTest, StreamWithAThrowingCallbackEndsAlone) {
  const auto program = pump_->Handle(Add());
  auto files = StandardFiles::MakeFor({.input = true, .output = true, .error = true});
  ASSERT_TRUE(files);
  const auto other_seen = std::make_shared<Recorder>();
  const StreamPump::Files ours{files->TakeOurs(), std::exchange(files->our_output, -1),
                               std::exchange(files->our_error, -1)};
  const auto other = pump_->Handle(pump_->Add(ours, other_seen, {}));
  program->WriteInput("x", [] { throw std::runtime_error("planted"); });
  EXPECT_TRUE(seen_->WaitsForEnd());
  EXPECT_EQ(seen_->end_->failure, "a bug of Berth; its log has the error");
  other->Resume();
  Say(files->output, "goes on");
  EXPECT_TRUE(other_seen->WaitsForOutput("goes on"));
}

TEST_F(StreamPumpTest, ReportsAClientThatHasLeft) {
  std::promise<void> gone;
  std::promise<void> closed;
  auto program = pump_->Handle(Add({[&] { gone.set_value(); }, [&] { closed.set_value(); }}));
  program.reset();
  gone.get_future().wait();
  closed.get_future().wait();
  char byte = 0;
  EXPECT_EQ(read(files_.input, &byte, 1), 0);
}

TEST_F(StreamPumpTest, DropsAnObserverTooSlowForPushedOutput) {
  const std::int64_t id = pump_->Add({}, seen_, {});
  const auto program = pump_->Handle(id);
  program->Resume();
  pump_->Push(id, "first");
  EXPECT_TRUE(seen_->WaitsForOutput("first"));
  seen_->StopEachTime();
  pump_->Push(id, "second");
  for (int piece = 0; piece < 20; ++piece) pump_->Push(id, std::string(100'000, 'x'));
  EXPECT_TRUE(seen_->WaitsForEnd());
  EXPECT_FALSE(seen_->end_->failure.empty());
  EXPECT_EQ(seen_->output_, "firstsecond");
}

TEST_F(StreamPumpTest, DestructorEndsSessions) {
  const auto program = pump_->Handle(Add());
  pump_.reset();
  EXPECT_TRUE(seen_->WaitsForEnd());
  EXPECT_FALSE(seen_->end_->failure.empty());
  program->WriteInput("x", [] {});  // without effect
}

class ProgramsBesideTest : public StreamPumpTest {
 protected:
  void SetUp() override {
    StreamPumpTest::SetUp();
    std::string pattern = fs::temp_directory_path() / "berth-beside-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    auto host = ProcessHost::Start(folder_);
    ASSERT_TRUE(host);
    host_ = *std::move(host);
  }
  void TearDown() override {
    pump_.reset();
    host_.reset();
    fs::remove_all(folder_);
  }
  ProcessSpec Shell(const std::string& script, const std::string& record) const {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.working_folder = folder_;
    spec.output_path = folder_ + "/0.log";
    spec.record_path = folder_ + "/" + record;
    return spec;
  }
  std::string Log() const {
    std::ifstream file(folder_ + "/0.log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Runs the script beside `process`, with pipes or a terminal.
  void RunBeside(ProcessId process, const std::string& script, bool is_terminal = false) {
    if (is_terminal) {
      auto terminal = StandardFiles::MakeFor({.is_terminal = true});
      ASSERT_TRUE(terminal);
      files_ = *std::move(terminal);
    }
    StreamPump::Files ours;
    if (is_terminal) {
      ours = {-1, files_.TakeOurs(), -1, true};
    } else {
      ours = {files_.TakeOurs(), std::exchange(files_.our_output, -1),
              std::exchange(files_.our_error, -1)};
    }
    const std::int64_t id = pump_->Add(ours, seen_, {});
    program_ = pump_->Handle(id);
    program_->Resize(100, 30);
    program_->Resume();
    ProcessSpec spec = Shell(script, "beside");
    spec.beside = process;
    spec.files = ProcessFiles{files_.input, files_.output, files_.error, is_terminal};
    const auto started = host_->Spawn(spec, [this, id](ProcessExit exit) {
      pump_->End(id, {exit.exit_code, ""});
    });
    ASSERT_TRUE(started) << started.error().message;
    files_.CloseProgramsEnds();
  }

  std::string folder_;
  std::unique_ptr<ProcessHost> host_;
  std::unique_ptr<RunningProgram> program_;
};

TEST_F(ProgramsBesideTest, ProgramsShareTheMountsOfTheContainer) {
  fs::create_directories(folder_ + "/inside");
  fs::create_directories(folder_ + "/volume");
  std::ofstream(folder_ + "/volume/file") << "of the volume\n";
  ProcessSpec container = Shell("sleep 1000", "process");
  container.mounts = {{MountStep::Kind::kBind, folder_ + "/volume", folder_ + "/inside"}};
  const auto process = host_->Spawn(container, [](ProcessExit) {});
  ASSERT_TRUE(process) << process.error().message;
  RunBeside(*process, "cat inside/file; echo wrong >&2; exit 9");
  ASSERT_TRUE(seen_->WaitsForEnd());
  EXPECT_EQ(seen_->output_, "of the volume\n");
  EXPECT_EQ(seen_->error_, "wrong\n");
  EXPECT_EQ(seen_->end_->exit_code, 9);
}

TEST_F(ProgramsBesideTest, ProgramsHaveTheirOwnTerminal) {
  const auto process = host_->Spawn(Shell("sleep 1000", "process"), [](ProcessExit) {});
  ASSERT_TRUE(process);
  RunBeside(*process, "stty size; test -t 0 && test -t 1 && echo yes", true);
  ASSERT_TRUE(seen_->WaitsForEnd());
  EXPECT_EQ(seen_->output_, "30 100\r\nyes\r\n");
}

TEST_F(ProgramsBesideTest, ProgramsDoNotStartBesideAnEndedProcess) {
  std::promise<void> ended;
  const auto process =
      host_->Spawn(Shell("exit 0", "process"), [&](ProcessExit) { ended.set_value(); });
  ASSERT_TRUE(process);
  ended.get_future().wait();
  ProcessSpec spec = Shell("true", "beside");
  spec.beside = *process;
  spec.files = ProcessFiles{};
  EXPECT_FALSE(host_->Spawn(spec, [](ProcessExit) {}));
}

TEST_F(ProgramsBesideTest, ContainersKeepTheirInputOpenAndCanBeAttached) {
  ProcessSpec spec = Shell("while read word; do echo got $word; done", "process");
  spec.keeps_input = true;
  std::promise<void> ended;
  const auto process = host_->Spawn(spec, [&](ProcessExit) { ended.set_value(); });
  ASSERT_TRUE(process);
  const std::int64_t id = pump_->Add({.input = host_->Input(*process)}, seen_, {});
  program_ = pump_->Handle(id);
  program_->Resume();
  const auto tap = host_->Tap(
      *process, [this, id](std::string_view text) { pump_->Push(id, std::string(text)); });
  ASSERT_NE(tap, nullptr);
  program_->WriteInput("one\n", [] {});
  EXPECT_TRUE(seen_->WaitsForOutput("got one\n"));
  program_->CloseInput();
  host_->CloseInput(*process);
  ended.get_future().wait();
  EXPECT_EQ(Log(), "got one\n");
}

TEST_F(ProgramsBesideTest, ContainersHaveATerminal) {
  ProcessSpec spec = Shell("test -t 0 && read word && echo got $word", "process");
  spec.keeps_input = true;
  spec.is_terminal = true;
  std::promise<void> ended;
  const auto process = host_->Spawn(spec, [&](ProcessExit) { ended.set_value(); });
  ASSERT_TRUE(process);
  program_ =
      pump_->Handle(pump_->Add({.input = host_->Input(*process), .is_terminal = true}, seen_, {}));
  program_->WriteInput("word\n", [] {});
  ended.get_future().wait();
  EXPECT_EQ(Log(), "word\r\ngot word\r\n");
}

}  // namespace
}  // namespace berth::local::cluster
