// Goal: sessions of the page outlive the program, with their ends and bounds; their files give
// nothing to those without the cookie; a signed-out session never comes back; a folder with other
// things is left alone.
//
// Method: PageSessions after one another on one folder, in virtual time.
#include "readapi/controller/session_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "readapi/controller/page_sessions.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::readapi {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class SessionFolderTest : public ::testing::Test {
 protected:
  // A new life of the program.
  std::unique_ptr<PageSessions> Live(PageSessions::Options options = {}) {
    auto folder = SessionFolder::Open(path_);
    EXPECT_TRUE(folder) << folder.error().message;
    auto random = [this](std::size_t size) {
      std::string bytes = std::to_string(1'000'000'000 + ++drawn_);
      bytes.resize(size, 'x');
      return bytes;
    };
    return std::make_unique<PageSessions>(clock_, random, options, *std::move(folder));
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string TextOf(const std::string& file) const {
    std::ifstream in(path_ + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  FakeClock clock_;
  int drawn_ = 0;
  local::TempFolder temp_;
  const std::string path_ = temp_.File("sessions");
};

TEST_F(SessionFolderTest, SessionsOutliveTheProgram) {
  const auto begun = Live()->Begin("the-token", "jane");
  ASSERT_TRUE(begun);
  clock_.Advance(30min);
  auto again = Live();
  const auto found = again->Find(begun->name);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->token, "the-token");
  EXPECT_EQ(found->user, "jane");
  EXPECT_EQ(found->csrf, begun->csrf);
  EXPECT_FALSE(again->Find(begun->name + "x"));
  again->End(begun->name);
  EXPECT_TRUE(Files().empty());
  EXPECT_FALSE(Live()->Find(begun->name));
}

TEST_F(SessionFolderTest, SessionFilesRevealNothingWithoutTheCookie) {
  const auto begun = Live()->Begin("the-token", "jane");
  ASSERT_EQ(Files().size(), 1U);
  const std::string file = Files().front();
  EXPECT_EQ(file, Sha256Hex(begun->name));
  for (const std::string& secret :
       {begun->name, begun->csrf, std::string("the-token"), std::string("jane")}) {
    EXPECT_THAT(TextOf(file), Not(HasSubstr(secret)));
  }
  struct stat info {};
  ASSERT_EQ(stat((path_ + "/" + file).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

// A later end, another user's bound, or the session of another name.
TEST_F(SessionFolderTest, ChangedFileGivesNoSession) {
  const auto begun = Live()->Begin("the-token", "jane");
  const std::string file = Files().front();
  const std::string text = TextOf(file);
  const std::string until = text.substr(67, 10);
  const std::string own = Sha256Hex("mallory");
  std::string later = text;
  later.replace(67, 10, std::to_string(std::stoll(until) - 1));
  std::string other = text;
  other.replace(2, 64, Sha256Hex("john"));
  for (const auto& [name, changed] :
       {std::pair(file, later), {file, other}, {own, text}, {file, text.substr(0, 200)}}) {
    fs::remove(path_ + "/" + file);
    std::ofstream(path_ + "/" + name) << changed;
    clock_.Advance(1s);
    fs::last_write_time(path_ + "/" + name, fs::file_time_type::clock::now());
    EXPECT_FALSE(Live()->Find(name == own ? "mallory" : begun->name)) << changed;
    EXPECT_TRUE(Files().empty()) << "it is removed";
  }
}

TEST_F(SessionFolderTest, SessionsEndWhileTheProgramIsStopped) {
  const auto idle = Live()->Begin("t", "a");
  clock_.Advance(61min);
  EXPECT_FALSE(Live()->Find(idle->name));
  EXPECT_TRUE(Files().empty());
  const auto used = Live()->Begin("t", "a");
  for (int i = 0; i < 14; ++i) {
    clock_.Advance(50min);
    EXPECT_TRUE(Live()->Find(used->name)) << i;
  }
  clock_.Advance(21min);
  EXPECT_FALSE(Live()->Find(used->name)) << "after twelve hours";
}

TEST_F(SessionFolderTest, ClockSetBackLengthensNoSession) {
  const auto begun = Live()->Begin("t", "a");
  clock_.JumpWall(-48h);
  auto again = Live();
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(again->Find(begun->name));
    clock_.Advance(59min);
  }
  EXPECT_TRUE(again->Find(begun->name));
  clock_.Advance(13min);
  EXPECT_FALSE(again->Find(begun->name));
}

TEST_F(SessionFolderTest, BoundsOfSessionsHoldAfterARestart) {
  PageSessions::Options options{.most_of_user = 2, .most_sessions = 3};
  const auto first = Live(options)->Begin("t", "a");
  clock_.Advance(1s);
  const auto second = Live(options)->Begin("t", "a");
  clock_.Advance(1s);
  const auto third = Live(options)->Begin("t", "a");
  auto live = Live(options);
  EXPECT_FALSE(live->Find(first->name)) << "the first of the user gives way";
  EXPECT_TRUE(live->Find(second->name) && live->Find(third->name));
  EXPECT_TRUE(live->Begin("t", "b"));
  EXPECT_FALSE(Live(options)->Begin("t", "c"));
  options.most_sessions = 1;
  EXPECT_EQ(Live(options)->size(), 1U);
  EXPECT_EQ(Files().size(), 1U);
}

TEST_F(SessionFolderTest, SessionThatCannotBeStoredEndsWithTheProgram) {
  auto live = Live();
  fs::remove(path_);
  const auto begun = live->Begin("t", "a");
  ASSERT_TRUE(begun);
  EXPECT_TRUE(live->Find(begun->name));
  EXPECT_FALSE(Live()->Find(begun->name));
}

TEST_F(SessionFolderTest, FolderWithOtherFilesIsRefused) {
  fs::create_directory(path_);
  std::ofstream(path_ + "/thesis.tex") << "words";
  const auto refused = SessionFolder::Open(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("name a folder of its own"));
  EXPECT_EQ(TextOf("thesis.tex"), "words");
  fs::create_directory_symlink(path_, temp_.File("link"));
  EXPECT_FALSE(SessionFolder::Open(temp_.File("link")));
  EXPECT_FALSE(SessionFolder::Open(temp_.File("no/such")));
}

}  // namespace
}  // namespace berth::readapi
