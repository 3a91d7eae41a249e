// Goal: acknowledged commits survive kill -9; unusable databases are refused with a
// sentence.
// Method: a child process writes from several threads and reports each acknowledged name through a
// pipe until it is killed; the parent opens the same file and looks for every reported name.
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/apiserver/store/store.h"
#include "tests/local/apiserver/store/temp_folder.h"
#include "tests/local/apiserver/store/writes.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

Write CreateLargeMap(const std::string& name) { return CreateMap(name, 2000); }

// Writes until killed; one line per acknowledged object.
[[noreturn]] void WriteForever(const std::string& path, const std::string& prefix, int output) {
  StoreOptions options;
  options.path = path;
  auto store = Store::Open(options);
  if (!store) ::_exit(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const std::string name = prefix + std::to_string(t) + "-" + std::to_string(i);
        if (!(*store)->Commit({CreateLargeMap(name)})) ::_exit(4);
        const std::string line = name + "\n";
        if (::write(output, line.data(), line.size()) < 0) ::_exit(5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

std::set<std::string> KillAfterLines(const std::string& path, const std::string& prefix,
                                     std::size_t bytes_before_kill) {
  int ends[2] = {};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) WriteForever(path, prefix, ends[1]);
  ::close(ends[1]);
  std::string output;
  char buffer[4096];
  bool killed = false;
  while (true) {
    const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
    if (size <= 0) break;
    output.append(buffer, static_cast<std::size_t>(size));
    if (!killed && output.size() >= bytes_before_kill) {
      ::kill(child, SIGKILL);
      killed = true;
    }
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
  std::set<std::string> names;
  std::istringstream lines(output.substr(0, output.rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);) names.insert(line);
  return names;
}

TEST(DurabilityTest, KillNineLosesNoAcknowledgedWrite) {
  const TempFolder folder;
  const std::string path = folder.File("state.db");
  std::set<std::string> acknowledged;
  for (int round = 0; round < 5; ++round) {
    const std::string prefix = "r" + std::to_string(round) + "-";
    acknowledged.merge(KillAfterLines(path, prefix, 200 + 300 * static_cast<std::size_t>(round)));
    StoreOptions options;
    options.path = path;
    auto store = Store::Open(options);
    ASSERT_TRUE(store) << store.error().message;
    for (const std::string& name : acknowledged) {
      const StoredPtr object = (*store)->cache().Get({"configmaps", "default", name});
      ASSERT_NE(object, nullptr) << name << " was acknowledged and is gone";
      ASSERT_NE(object->json(), nullptr) << name << " is torn";
    }
  }
  EXPECT_GT(acknowledged.size(), 50U);
}

class RefusalTest : public ::testing::Test {
 protected:
  std::string OpenError() {
    StoreOptions options;
    options.path = path_;
    auto store = Store::Open(options);
    EXPECT_FALSE(store);
    return store ? "" : store.error().message;
  }
  void MakeDatabase() {
    StoreOptions options;
    options.path = path_;
    auto store = Store::Open(options);
    ASSERT_TRUE(store) << store.error().message;
    for (int i = 0; i < 50; ++i)
      ASSERT_TRUE((*store)->Commit({CreateLargeMap("m" + std::to_string(i))}));
  }
  void Run(const char* sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  TempFolder folder_;
  std::string path_ = folder_.File("state.db");
};

TEST_F(RefusalTest, ANewerSchemaIsRefused) {
  MakeDatabase();
  Run("PRAGMA user_version=7");
  EXPECT_THAT(OpenError(), HasSubstr("has schema version 7, this program knows versions up to 2"));
}

TEST_F(RefusalTest, DatabaseOfAnotherProgramIsRefused) {
  Run("CREATE TABLE cats(name)");
  EXPECT_THAT(OpenError(), HasSubstr("is a database of another program"));
}

TEST_F(RefusalTest, FileThatIsNoDatabaseIsRefused) {
  std::ofstream(path_) << std::string(8192, 'z');
  EXPECT_THAT(OpenError(), HasSubstr("file is not a database"));
}

TEST_F(RefusalTest, ADamagedFileIsRefusedWithItsPath) {
  MakeDatabase();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 2; page < 20; ++page) {
    file.seekp(page * 4096);
    file << std::string(64, '\xff');
  }
  file.close();
  EXPECT_THAT(OpenError(), HasSubstr(path_));
}

TEST_F(RefusalTest, FolderThatCannotBeCreatedIsRefused) {
  std::ofstream(folder_.File("file")) << "x";
  path_ = folder_.File("file") + "/sub/state.db";
  EXPECT_THAT(OpenError(), HasSubstr("choose another data directory"));
}

// A limit on the size of files stands for a disk that fills up.
TEST_F(RefusalTest, FullDiskFailsOnlyTheWrite) {
  StoreOptions options;
  options.path = path_;
  auto store = Store::Open(options);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->Commit({CreateLargeMap("before")}));
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{64 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  int written = 0;
  std::string error;
  for (int i = 0; i < 200 && error.empty(); ++i) {
    auto done = (*store)->Commit({CreateLargeMap("m" + std::to_string(i))});
    if (done) {
      ++written;
    } else {
      error = done.error().message;
    }
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(error, "");
  EXPECT_EQ((*store)->cache().List("configmaps", "").objects.size(),
            static_cast<std::size_t>(written) + 1);
  EXPECT_TRUE((*store)->Commit({CreateLargeMap("after")}));
}

}  // namespace
}  // namespace berth::local
