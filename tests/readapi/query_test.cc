// Goal: queries and cursors are refused unless the table of resources has them; an error names the
// parameter and repeats no text of the client that could end up in a log or a page.
//
// Method: tables of accepted and refused queries.
#include "readapi/query.h"

#include <gmock/gmock.h>

#include "base/strings.h"

namespace berth::readapi {
namespace {

using testing::HasSubstr;

TEST(QueryTest, ReadsEveryParameter) {
  const Resource& workloads = Resources()[kWorkloads];
  const std::string cursor = EncodePageCursor({"-priority", 50, "team-a/w"});
  const auto query = ParseQuery(workloads, {{"namespace", "b,a"},
                                            {"state", "waiting,reserved"},
                                            {"priority", "50,-1"},
                                            {"sort", "-priority"},
                                            {"limit", "7"},
                                            {"fields", "state,name"},
                                            {"cursor", cursor}});
  ASSERT_TRUE(query.has_value()) << query.error().message;
  EXPECT_EQ(query->namespaces, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(query->filters.size(), 3U);
  EXPECT_EQ(query->filters[1].cells, (std::vector<std::string>{"\"reserved\"", "\"waiting\""}));
  EXPECT_EQ(query->filters[2].cells, (std::vector<std::string>{"-1", "50"}));
  EXPECT_EQ(query->sort, workloads.Find("priority"));
  EXPECT_TRUE(query->descending);
  EXPECT_EQ(query->limit, 7U);
  EXPECT_EQ(query->fields,
            (std::vector<std::size_t>{*workloads.Find("name"), *workloads.Find("state")}));
  EXPECT_EQ(query->after, (PageCursor{"-priority", 50, "team-a/w"}));
}

TEST(QueryTest, RefusesWrongParameters) {
  struct RefusedQuery {
    Parameters parameters;
    const char* message;
  };
  const std::string long_value(kMaxValueBytes + 1, 'x');
  std::string many = "0";
  for (std::size_t i = 1; i <= kMaxNamespaces; ++i) many += "," + std::to_string(i);
  const std::string by_id = EncodePageCursor({"", 0, "a/b"});
  const RefusedQuery rows[] = {
      {{{"stat", "waiting"}},
       "use sort, limit, fields, cursor, countBy, or the filters namespace, name, "
       "kind"},
      {{{"remark", "x"}}, "is unknown"},
      {{{"state", long_value}}, "state: a value has more than 256 bytes"},
      {{{"state", "\xff"}}, "state: a value is not UTF-8"},
      {{{"namespace", many}}, "namespace: more than 16 values"},
      {{{"priority", "high"}}, "priority: write whole numbers"},
      {{{"sort", "state"}}, "sort: use one of priority, createdAt, waitingSince"},
      {{{"sort", ""}}, "sort: use one of"},
      {{{"limit", "0"}}, "limit: write 1 to 1000"},
      {{{"limit", "1001"}}, "limit: write 1 to 1000"},
      {{{"limit", "1e2"}}, "limit: write 1 to 1000"},
      {{{"fields", "secret"}}, "fields: use namespace, workload"},
      {{{"state", "waiting"}, {"state", "running"}}, "given twice"},
      {{{"cursor", ""}}, "cursor: not a cursor"},
      {{{"cursor", "!!"}}, "cursor: not a cursor"},
      {{{"cursor", std::string(kMaxCursorBytes + 1, 'a')}}, "cursor: not a cursor"},
      {{{"cursor", Base64UrlEncode("1\n\n5")}}, "cursor: not a cursor"},
      {{{"cursor", Base64UrlEncode("2\n\n0\na/b")}}, "cursor: not a cursor"},
      {{{"cursor", Base64UrlEncode("1\n\n+0\na/b")}}, "cursor: not a cursor"},
      {{{"cursor", by_id}, {"sort", "priority"}}, "cursor: it belongs to another order"},
      {{{"countBy", "remark"}}, "countBy: use one of namespace, kind"},
      {{{"countBy", "state"}, {"sort", "priority"}}, "countBy: it has no rows"},
      {{{"countBy", "state"}, {"fields", "state"}}, "countBy: it has no rows"},
      {{{"token", "x"}}, "a token in a URL"},
      {{{"access_token", "x"}}, "a token in a URL"},
      {{{"Authorization", "x"}}, "a token in a URL"}};
  for (const RefusedQuery& row : rows) {
    const auto query = ParseQuery(Resources()[kWorkloads], row.parameters);
    ASSERT_FALSE(query.has_value()) << row.message;
    EXPECT_THAT(query.error().message, HasSubstr(row.message));
  }
}

TEST(QueryTest, MessagesDoNotRepeatTheParameters) {
  const std::string evil = "<script>\r\nSet-Cookie: a=b";
  for (const char* name : {"sort", "limit", "fields", "cursor", "priority"}) {
    const auto query = ParseQuery(Resources()[kWorkloads], {{name, evil}});
    ASSERT_FALSE(query.has_value()) << name;
    EXPECT_EQ(query.error().message.find_first_of("<\r\n"), std::string::npos) << name;
  }
  const auto unknown = ParseQuery(Resources()[kWorkloads], {{evil, "1"}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message.find('<'), std::string::npos);
}

TEST(QueryTest, NamespaceOfAClusterResourceLimitsTheSight) {
  const auto query = ParseQuery(Resources()[kQueues], {{"namespace", "a"}});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->namespaces, (std::vector<std::string>{"a"}));
  EXPECT_TRUE(query->filters.empty());
}

TEST(QueryTest, AReportQueryIsReadOrItsFaultIsNamed) {
  const auto query = ParseReportQuery(
      {{"by", "cause"}, {"days", "30"}, {"namespace", "team-a"}, {"format", "csv"}});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(*query, (ReportQuery{"cause", 30, {"team-a"}, true}));
  const std::pair<Parameters, const char*> rows[] = {
      {{{"by", "preemptor"}}, "by: use queue, clusterqueue"},  // names other namespaces
      {{{"by", "label=x"}}, "by: use"},
      {{{"days", "0"}}, "days: write 1 to 366"},
      {{{"days", "367"}}, "days: write 1 to 366"},
      {{{"namespace", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}}, "namespace: more than 16 values"},
      {{{"format", "xml"}}, "format: use json or csv"},
      {{{"since", "7d"}}, "unknown"},
      {{{"token", "x"}}, "a token in a URL"}};
  for (const auto& [parameters, message] : rows) {
    const auto refused = ParseReportQuery(parameters);
    ASSERT_FALSE(refused.has_value()) << message;
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
}

TEST(QueryTest, AReportOverTimeHasTheQueryOfAReport) {
  const auto query = ParseReportHistoryQuery({{"by", "team"}, {"days", "30"}});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->of, ReportQuery::Of::kOverTime);
  EXPECT_EQ(query->by, "team");
  const std::pair<Parameters, const char*> rows[] = {
      {{{"format", "csv"}}, "format: a report over time is JSON"},
      {{{"by", "cause"}}, "by: a report over time has no lines for causes"},
      {{{"by", "preemptor"}}, "by: use queue"}};
  for (const auto& [parameters, message] : rows) {
    const auto refused = ParseReportHistoryQuery(parameters);
    ASSERT_FALSE(refused.has_value()) << message;
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
}

TEST(QueryTest, QueriesOfDaysAreReadOrRefused) {
  const Parameters days{{"days", "30"}, {"namespace", "team-a"}};
  const auto query = ParseCapacityHistoryQuery(days);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->of, ReportQuery::Of::kCapacity);
  EXPECT_EQ(query->days, 30);
  EXPECT_EQ(ParseStatesHistoryQuery(days)->of, ReportQuery::Of::kStates);
  const std::pair<Parameters, const char*> rows[] = {
      {{{"days", "-1"}}, "days: write 1 to 366"},
      {{{"namespace", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}}, "namespace: more than 16 values"},
      {{{"class", "dws"}}, "unknown"}};
  for (const auto& [parameters, message] : rows) {
    for (const auto& refused :
         {ParseCapacityHistoryQuery(parameters), ParseStatesHistoryQuery(parameters)}) {
      ASSERT_FALSE(refused.has_value()) << message;
      EXPECT_THAT(refused.error().message, HasSubstr(message));
    }
  }
}

TEST(QueryTest, AHistoryQueryIsReadOrItsFaultIsNamed) {
  const auto query =
      ParseHistoryQuery({{"clusterQueue", "team"}, {"days", "30"}, {"namespace", "team-b,team-a"}});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->of, ReportQuery::Of::kQueue);
  EXPECT_EQ(query->name, "team");
  EXPECT_EQ(query->days, 30);
  EXPECT_EQ(query->namespaces, (std::vector<std::string>{"team-a", "team-b"}));
  const std::pair<Parameters, const char*> rows[] = {
      {{}, "clusterQueue: name a ClusterQueue"},
      {{{"clusterQueue", "q"}, {"days", "367"}}, "days: write 1 to 366"},
      {{{"clusterQueue", "q"}, {"namespace", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}},
       "namespace: more than 16 values"},
      {{{"clusterQueue", "q"}, {"by", "queue"}}, "unknown"}};
  for (const auto& [parameters, message] : rows) {
    const auto refused = ParseHistoryQuery(parameters);
    ASSERT_FALSE(refused.has_value()) << message;
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
}

TEST(QueryTest, CohortHistoryQueryIsReadOrRefused) {
  const auto query = ParseCohortHistoryQuery({{"cohort", "company"}, {"days", "30"}});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->of, ReportQuery::Of::kCohort);
  EXPECT_EQ(query->name, "company");
  EXPECT_EQ(query->days, 30);
  const std::pair<Parameters, const char*> rows[] = {
      {{}, "cohort: name a Cohort"},
      {{{"cohort", "c"}, {"days", "0"}}, "days: write 1 to 366"},
      {{{"cohort", "c"}, {"clusterQueue", "q"}}, "unknown"}};
  for (const auto& [parameters, message] : rows) {
    const auto refused = ParseCohortHistoryQuery(parameters);
    ASSERT_FALSE(refused.has_value()) << message;
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
}

TEST(QueryTest, AStreamQueryIsReadOrRefused) {
  const auto all = ParseStreamQuery({});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->resources.size(), Resources().size());
  EXPECT_EQ(all->after, std::nullopt);
  const auto some = ParseStreamQuery({{"resources", "queues"}, {"cursor", "e1.7"}});
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->resources, (std::vector<std::size_t>{kQueues}));
  EXPECT_EQ(some->after, (FeedCursor{"e1", 7}));
  for (const Parameters& parameters :
       {Parameters{{"resources", "secrets"}}, Parameters{{"cursor", "7"}},
        Parameters{{"cursor", "e1.-7"}}, Parameters{{"cursor", "e1.07"}},
        Parameters{{"cursor", "e 1.7"}}, Parameters{{"cursor", "e1.99999999999999999999"}},
        Parameters{{"limit", "1"}}, Parameters{{"token", "x"}}}) {
    EXPECT_FALSE(ParseStreamQuery(parameters).has_value()) << parameters.front().second;
  }
}

}  // namespace
}  // namespace berth::readapi
