// Goal: pages of Table are what a plain filter and sort of all rows give, in every order and for
// every sight, page by page; and a page of a large table looks at few rows.
//
// Method: random rows and changes from fixed seeds, compared with an oracle of vectors.
#include "readapi/table.h"

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

const Resource& WorkloadsResource() { return Resources()[kWorkloads]; }

Query QueryOf(const Parameters& parameters) {
  Result<Query> query = ParseQuery(WorkloadsResource(), parameters);
  EXPECT_TRUE(query.has_value()) << (query ? "" : query.error().message);
  return query ? *query : Query{};
}

// All pages of the query, as ids.
std::vector<std::string> AllIds(const Table& table, Query query, const Sight& sight) {
  std::vector<std::string> ids;
  for (int pages = 0; pages < 1000; ++pages) {
    const Table::Page page = table.Read(query, sight);
    EXPECT_LE(page.count, query.limit);
    for (const Json& item : Json::parse(page.items)) ids.push_back(item.at("id"));
    if (!page.next) return ids;
    const auto again = DecodePageCursor(EncodePageCursor(*page.next));
    EXPECT_TRUE(again.has_value());
    query.after = *again;
  }
  ADD_FAILURE() << "the pages do not end";
  return ids;
}

struct Oracle {
  std::map<std::string, WorkloadRow> rows;

  std::vector<std::string> Ids(const std::string& sort, const Sight& sight,
                               const std::string& state, const std::string& space) const {
    std::vector<std::pair<std::string, std::string>> found;
    const std::string field = sort.substr(sort.starts_with("-") ? 1 : 0);
    for (const auto& [id, row] : rows) {
      const auto& seen = sight.namespaces;
      if (!sight.everywhere && std::find(seen.begin(), seen.end(), row.space) == seen.end()) {
        continue;
      }
      if (!state.empty() && row.state != state) continue;
      if (!space.empty() && row.space != space) continue;
      std::string key;
      if (field == "createdAt") key = row.created;
      if (field == "priority") key = std::string(1, static_cast<char>('a' + row.priority));
      found.emplace_back(key, id);
    }
    std::sort(found.begin(), found.end());
    if (sort.starts_with("-")) std::reverse(found.begin(), found.end());
    std::vector<std::string> ids;
    for (const auto& [key, id] : found) ids.push_back(id);
    return ids;
  }
};

TEST(TableTest, PagesEqualAFilterAndSortOfAllRows) {
  std::mt19937 random(7);
  const auto pick = [&random](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  Table table(WorkloadsResource());
  Oracle oracle;
  const std::vector<std::string> states = {"waiting", "running", "succeeded"};
  for (int step = 0; step < 200; ++step) {
    WorkloadRow row{.space = "team-" + std::to_string(pick(4)),
                    .name = "w" + std::to_string(pick(60)),
                    .priority = pick(5),
                    .state = states[static_cast<std::size_t>(pick(3))],
                    .created = "2026-11-2" + std::to_string(pick(9)) + "T07:00:00Z"};
    const std::string id = row.space + "/" + row.name;
    if (pick(4) == 0) {
      EXPECT_EQ(table.Remove(id).has_value(), oracle.rows.erase(id) == 1);
    } else {
      table.Put(MakeRow(row));
      oracle.rows[id] = row;
    }
    ASSERT_EQ(table.size(), oracle.rows.size());
    if (step % 20 != 0) continue;
    for (const std::string sort : {"", "createdAt", "-createdAt", "priority", "-priority"}) {
      for (const Sight& sight : {kEverywhere, Sight{false, {"team-1", "team-3"}}, Sight{}}) {
        for (const std::string state : {"", "running", "nowhere"}) {
          for (const std::string space : {"", "team-1"}) {
            Parameters parameters{{"limit", "7"}};
            if (!sort.empty()) parameters.emplace_back("sort", sort);
            if (!state.empty()) parameters.emplace_back("state", state);
            if (!space.empty()) parameters.emplace_back("namespace", space);
            EXPECT_EQ(AllIds(table, QueryOf(parameters), sight),
                      oracle.Ids(sort, sight, state, space))
                << sort << " " << state << " " << space;
          }
        }
      }
    }
  }
}

TEST(TableTest, CursorSurvivesAddedAndRemovedRows) {
  Table table(WorkloadsResource());
  for (const char* name : {"a", "b", "c", "d"}) table.Put(MakeRow({.name = name}));
  Query query = QueryOf({{"limit", "2"}});
  const Table::Page first = table.Read(query, kEverywhere);
  ASSERT_TRUE(first.next.has_value());
  EXPECT_EQ(first.next->id, "team-a/b");
  table.Remove("team-a/b");  // the row of the cursor
  table.Put(MakeRow({.name = "bb"}));
  query.after = first.next;
  EXPECT_EQ(AllIds(table, query, kEverywhere),
            (std::vector<std::string>{"team-a/bb", "team-a/c", "team-a/d"}));
}

TEST(TableTest, CountsEqualThoseOfTheVisibleRows) {
  std::mt19937 random(11);
  Table table(WorkloadsResource());
  std::map<std::pair<std::string, std::string>, int> oracle;  // by namespace and state
  for (int i = 0; i < 300; ++i) {
    const std::string space = random() % 3 == 0 ? "team-a" : "team-b";
    const std::string state = random() % 2 == 0 ? "waiting" : "running";
    table.Put(MakeRow({.space = space, .name = std::to_string(i), .state = state}));
    ++oracle[{space, state}];
  }
  const auto count = [&](const Parameters& parameters, const Sight& sight) {
    std::map<std::string, int> counts;
    for (const Json& each : Json::parse(table.Count(QueryOf(parameters), sight))) {
      counts[each.at("value")] = each.at("count");
    }
    return counts;
  };
  using Counts = std::map<std::string, int>;
  const Sight team_a{.everywhere = false, .namespaces = {"team-a"}};
  const int waiting = oracle[{"team-a", "waiting"}];
  const int running = oracle[{"team-a", "running"}];
  EXPECT_EQ(count({{"countBy", "state"}}, team_a),
            (Counts{{"running", running}, {"waiting", waiting}}));
  EXPECT_EQ(count({{"countBy", "namespace"}, {"state", "waiting"}}, kEverywhere),
            (Counts{{"team-a", waiting}, {"team-b", oracle[{"team-b", "waiting"}]}}));
  EXPECT_EQ(count({{"countBy", "namespace"}}, kEverywhere)["team-a"], waiting + running);
  EXPECT_EQ(table.looked_at(), 0U) << "counts of all rows look at none";
  EXPECT_EQ(count({{"countBy", "state"}, {"cause", "none"}}, kEverywhere), Counts{});
}

TEST(TableTest, CountsWaitingRowsBeforeAnother) {
  std::mt19937 random(5);
  Table table(WorkloadsResource());
  std::vector<WorkloadRow> rows;
  for (int i = 0; i < 200; ++i) {
    rows.push_back({.space = random() % 2 == 0 ? "team-a" : "team-b",
                    .name = std::to_string(i),
                    .queue = random() % 3 == 0 ? "other" : "cq",
                    .state = random() % 4 == 0 ? "running" : "waiting",
                    .turn = std::to_string(random() % 50)});
    if (rows.back().state == "running") rows.back().turn = "null";
    table.Put(MakeRow(rows.back()));
  }
  const Query query = QueryOf({{"clusterQueue", "cq"}, {"state", "waiting"}, {"sort", "turn"}});
  const std::vector<std::string> order = AllIds(table, query, kEverywhere);
  for (const WorkloadRow& row : rows) {
    const std::string id = row.space + "/" + row.name;
    const auto before = table.CountBefore(query, id);
    ASSERT_EQ(before.has_value(), row.turn != "null") << id;
    const auto place = std::find(order.begin(), order.end(), id);
    if (place == order.end()) continue;
    EXPECT_EQ(*before, static_cast<std::size_t>(place - order.begin())) << id;
  }
  EXPECT_EQ(table.CountBefore(query, "team-a/none"), std::nullopt);
}

TEST(TableTest, FiltersNamesByPrefix) {
  Table table(WorkloadsResource());
  for (const char* name : {"train-1", "train-2", "trace", "eval"}) {
    table.Put(MakeRow({.space = std::string("team-") + name[0], .name = name}));
  }
  const auto ids = [&](const std::string& begin, const Sight& sight = kEverywhere) {
    return AllIds(table, QueryOf({{"name", begin}, {"limit", "1"}}), sight);
  };
  EXPECT_EQ(ids("train-"), (std::vector<std::string>{"team-t/train-1", "team-t/train-2"}));
  EXPECT_EQ(ids("tra").size(), 3U);
  EXPECT_EQ(ids("eval,trace").size(), 2U);
  EXPECT_EQ(ids("rain").size(), 0U);
  EXPECT_EQ(ids("\"").size(), 0U);
  EXPECT_EQ(ids("tra", {.everywhere = false, .namespaces = {"team-e"}}).size(), 0U);
  // A row that is put again is found once; one that is gone is not; few rows are looked at.
  table.Put(MakeRow({.space = "team-t", .name = "train-1", .state = "running"}));
  for (int i = 0; i < 500; ++i) table.Put(MakeRow({.name = "other-" + std::to_string(i)}));
  EXPECT_EQ(ids("train-1,train-,t").size(), 3U);
  table.Read(QueryOf({{"name", "train-"}, {"state", "waiting"}}), kEverywhere);
  EXPECT_EQ(table.looked_at(), 2U);
  EXPECT_EQ(AllIds(table, QueryOf({{"name", "t"}, {"state", "running"}}), kEverywhere).size(), 1U);
  table.Remove("team-t/train-2");
  EXPECT_EQ(ids("train-").size(), 1U);
  table.Put(MakeRow({.space = "team-t", .name = "train-2"}));
  table.Put(MakeRow({.space = "team-t", .name = "train-1"}));
  const Query counts = QueryOf({{"name", "tra"}, {"countBy", "state"}});
  EXPECT_EQ(table.Count(counts, kEverywhere), R"([{"value":"waiting","count":3}])");
}

TEST(TableTest, FieldsAreSelectedAndHiddenByTheRightsOfTheReader) {
  Table table(WorkloadsResource());
  table.Put(MakeRow({.not_preempted = R"([{"workload":"team-b/secret"}])"}));
  const Sight tenant{false, {"team-a"}};
  const Query some = QueryOf({{"fields", "state,name,notPreempted"}});
  EXPECT_EQ(table.Read(some, kEverywhere).items,
            R"([{"id":"team-a/w","name":"w","state":"waiting",)"
            R"("notPreempted":[{"workload":"team-b/secret"}]}])");
  EXPECT_EQ(table.Read(some, tenant).items, R"([{"id":"team-a/w","name":"w","state":"waiting"}])");
  EXPECT_THAT(*table.ReadRow("team-a/w", kEverywhere), testing::HasSubstr("secret"));
  EXPECT_THAT(*table.ReadRow("team-a/w", tenant), testing::Not(testing::HasSubstr("secret")));
  EXPECT_EQ(table.ReadRow("team-a/w", {false, {"team-b"}}), std::nullopt);
  EXPECT_EQ(table.ReadRow("team-a/none", kEverywhere), std::nullopt);
}

TEST(TableTest, ChangesNameTheFieldsThatDiffer) {
  Table table(WorkloadsResource());
  const auto first = table.Put(MakeRow({}));
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(table.Put(MakeRow({})), std::nullopt);
  const auto change = table.Put(MakeRow({.priority = 3, .state = "running"}));
  ASSERT_TRUE(change.has_value());
  EXPECT_FALSE(change->is_new);
  EXPECT_EQ(change->fields, (std::vector<std::size_t>{*WorkloadsResource().Find("priority"),
                                                      *WorkloadsResource().Find("state")}));
  const auto gone = table.Remove("team-a/w");
  ASSERT_TRUE(gone.has_value());
  EXPECT_TRUE(gone->is_gone);
  EXPECT_EQ(*gone->before, (std::vector<std::string>{"team-a"}));
  EXPECT_EQ(table.Remove("team-a/w"), std::nullopt);
}

TEST(TableTest, RowIsVisibleToEveryNamespaceOfItsAudience) {
  Table table(Resources()[kQueues]);
  table.Put(MakeQueueRow("shared", 1, AudienceOf({"team-a", "team-b"})));
  table.Put(MakeQueueRow("other", 1, AudienceOf({"team-b"})));
  table.Put(MakeQueueRow("unused", 1, nullptr));
  EXPECT_EQ(AllIds(table, {}, {false, {"team-a"}}), (std::vector<std::string>{"shared"}));
  EXPECT_EQ(AllIds(table, {}, kEverywhere),
            (std::vector<std::string>{"other", "shared", "unused"}));
}

// A page costs what it shows: a bound on the rows that are looked at, in a table of 30,000.
TEST(TableTest, PageExaminesFewRows) {
  Table table(WorkloadsResource());
  constexpr int kRows = 30'000;
  for (int i = 0; i < kRows; ++i) {
    table.Put(MakeRow({.space = "team-" + std::to_string(i % 300),
                       .name = "w" + std::to_string(i),
                       .priority = i % 7,
                       .state = i % 1000 == 0 ? "failed" : "waiting"}));
  }
  const auto looked = [&](const Parameters& parameters, const Sight& sight) {
    const Table::Page page = table.Read(QueryOf(parameters), sight);
    EXPECT_GT(page.count, 0U);
    return table.looked_at();
  };
  EXPECT_EQ(looked({}, kEverywhere), kUsualLimit + 1);
  EXPECT_EQ(looked({{"sort", "-priority"}}, kEverywhere), kUsualLimit + 1);
  EXPECT_EQ(looked({{"state", "failed"}}, kEverywhere), 30U);
  EXPECT_EQ(looked({{"state", "waiting"}, {"namespace", "team-1"}}, kEverywhere), 100U);
  EXPECT_LE(looked({{"state", "waiting"}, {"sort", "createdAt"}}, kEverywhere), 120U);
  EXPECT_EQ(looked({}, Sight{false, {"team-5"}}), 100U);
}

}  // namespace
}  // namespace berth::readapi
