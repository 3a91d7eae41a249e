// Goal: a report has the attempts of its namespace and period alone; a second one within seconds is
// the same text; a period with too many attempts is refused, with the way out.
//
// Method: a ledger in a file; the report's thread; a clock of the test.
#include "cli/report_source.h"

#include <future>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "ledger/ledger_file.h"
#include "tests/ledger/records.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ReportClock final : public Clock {
 public:
  WallTime Now() const override { return ledger::FromSeconds(100'000); }
  SteadyTime SteadyNow() const override { return steady; }
  SteadyTime steady{};
};

class ReportSourceTest : public ::testing::Test {
 protected:
  void Write(const std::string& uid, const std::string& space) {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file) << file.error().message;
    ledger::AttemptRecord record = ledger::test::Admitted(uid, 99'000, 99'100);
    record.namespace_name = space;
    ASSERT_TRUE(file->Write({record}, 99'200));
  }
  static Result<std::string> Ask(ReportSource& source, const readapi::ReportQuery& query) {
    std::promise<Result<std::string>> made;
    source.Ask(query, [&made](Result<std::string> text) { made.set_value(std::move(text)); });
    return made.get_future().get();
  }
  static std::string Keys(const Result<std::string>& text) {
    if (!text) return text.error().message;
    const Json report = Json::parse(*text);
    std::string keys;
    for (const Json& line : report.at("lines")) {
      keys += line.at("key").get<std::string>() + " ";
    }
    return keys;
  }

  ReportClock clock_;
  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
};

TEST_F(ReportSourceTest, HasTheAttemptsOfTheNamespace) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), "team-a team-b ");
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace", .namespaces = {"team-a"}})), "team-a ");
  const auto csv = Ask(source, {.by = "namespace", .namespaces = {"team-b"}, .csv = true});
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(csv->starts_with("namespace,workloads,attempts")) << *csv;
  EXPECT_THAT(*csv, HasSubstr("\nteam-b,1,1,"));
}

TEST_F(ReportSourceTest, TellsTheHistoryOfAQueue) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{.days = 1, .of = readapi::ReportQuery::Of::kQueue, .name = "gpus"};
  const auto admitted = [&] {
    const auto text = Ask(source, query);
    const Json history = text ? Json::parse(*text) : Json(text.error().message);
    EXPECT_EQ(history.at("parts").size(), 24U);
    return history.at("parts").back().at("admitted");
  };
  EXPECT_EQ(admitted(), 2);
  query.namespaces = {"team-a"};
  EXPECT_EQ(admitted(), 1);
  query.name = "other";
  EXPECT_EQ(admitted(), 0);
}

// Method: a preemptor of another namespace.
TEST_F(ReportSourceTest, TurnsNameNoOtherNamespaceToReadersOfOne) {
  Write("b", "team-b");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    auto record = ledger::test::Ended(ledger::test::Admitted("a", 99'000, 99'100), 99'150,
                                      ledger::kPreempted);
    record.preemptor = "b";
    record.message = "for team-b";
    ASSERT_TRUE(file->Write({record}, 99'200));
  }
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{.namespaces = {"team-a"},
                             .of = readapi::ReportQuery::Of::kWorkload,
                             .name = "job-a",
                             .names_all = true};
  const auto all = Ask(source, query);
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(Json::parse(*all).at("attempts").at(0).at("preemptor"), "team-b/job-b");
  query.names_all = false;
  const auto one = Ask(source, query);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(Json::parse(*one).at("attempts").size(), 1U);
  EXPECT_EQ(one->find("team-b"), std::string::npos) << *one;
  query.namespaces = {"team-b"};
  EXPECT_EQ(Json::parse(*Ask(source, query)).at("attempts").size(), 0U);
}

TEST_F(ReportSourceTest, IsKeptForSeconds) {
  Write("a", "team-a");
  ReportSource source(clock_, path_);
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), "team-a ");
  Write("b", "team-b");
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), "team-a ");
  clock_.steady += 20s;
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), "team-a team-b ");
}

TEST_F(ReportSourceTest, RefusesWhatItCannotMake) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_, 1);
  const auto large = Ask(source, {});
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(large.error().message, HasSubstr("2 attempts, more than 1: ask for fewer days"));
  EXPECT_TRUE(Ask(source, {.namespaces = {"team-a"}}).has_value());
  ReportSource missing(clock_, folder_.File("none.db"));
  EXPECT_EQ(Ask(missing, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::cli
