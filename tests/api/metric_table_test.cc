// Goal: each row of the table of metrics is one that Prometheus takes. Method: every row is read.

#include "api/metric_table.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace berth::api {
namespace {

TEST(MetricTableTest, EveryRowIsFoundByItsNameAlone) {
  std::set<std::string_view> names;
  for (const MetricRows& section : MetricSections()) {
    for (const MetricRow& row : section) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
      EXPECT_EQ(FindMetric(row.name), &row);
      EXPECT_EQ(FindMetric(std::string(row.name) + "_"), nullptr);
    }
  }
  EXPECT_EQ(FindMetric(""), nullptr);
  EXPECT_EQ(FindMetric("zzz"), nullptr);
}

TEST(MetricTableTest, NamesAndBoundsFitTheKind) {
  for (const MetricRows& section : MetricSections()) {
    for (const MetricRow& row : section) {
      EXPECT_EQ(row.kind == MetricKind::kCounter, row.name.ends_with("_total")) << row.name;
      EXPECT_TRUE(row.bounds.empty() || row.kind == MetricKind::kHistogram) << row.name;
      EXPECT_TRUE(std::is_sorted(row.bounds.begin(), row.bounds.end())) << row.name;
      EXPECT_FALSE(row.help.empty()) << row.name;
    }
  }
}

TEST(MetricTableTest, LabelsAreUniqueInARow) {
  for (const MetricRows& section : MetricSections()) {
    for (const MetricRow& row : section) {
      if (row.labels.empty()) continue;
      const auto labels = Split(row.labels, ' ');
      EXPECT_EQ(std::set(labels.begin(), labels.end()).size(), labels.size()) << row.name;
      for (const std::string_view label : labels) {
        EXPECT_FALSE(label.empty() || label == "le" || label == "replica_role") << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace berth::api
