// Goal: `berth up` registers the reviews of the components that its frameworks need, and no others.
// Method: a webhook configuration of each kind with one entry; the names of its entries afterwards.
#include "program/component_reviews.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::program {
namespace {

using Names = std::vector<std::string>;
using nlohmann::json;

Names NamesWith(const std::vector<std::string>& frameworks, const std::string& kind) {
  json object = {{"kind", kind + "WebhookConfiguration"}, {"webhooks", {{{"name", "first"}}}}};
  const Status added = AddComponentReviews(frameworks, object);
  if (!added) return {added.error().message};
  Names names;
  for (const json& webhook : object.at("webhooks")) names.push_back(webhook.at("name"));
  return names;
}

struct ReviewsRow {
  std::vector<std::string> frameworks;
  Names mutating;
  Names validating;
};

TEST(ComponentReviewsTest, ReviewsFollowTheFrameworks) {
  const std::vector<ReviewsRow> rows = {
      {{"batch/job", "jobset.x-k8s.io/jobset"}, {"first"}, {"first"}},
      {{"batch/job", "pod"}, {"first", "mpod.kb.io"}, {"first", "vpod.kb.io"}},
      {{"kubernetes.dask.org/daskcluster"}, {"first", "mdaskpod.kb.io"}, {"first"}},
      {{"kubernetes.dask.org/daskjob", "kubernetes.dask.org/daskcluster"},
       {"first", "mdaskpod.kb.io"},
       {"first"}},
      {{"statefulset"},
       {"first", "mpod.kb.io", "mdeployment.kb.io", "mleaderworkerset.kb.io", "mstatefulset.kb.io"},
       {"first", "vpod.kb.io", "vdeployment.kb.io", "vleaderworkerset.kb.io",
        "vstatefulset.kb.io"}},
  };
  for (const ReviewsRow& row : rows) {
    EXPECT_EQ(NamesWith(row.frameworks, "Mutating"), row.mutating) << row.frameworks.front();
    EXPECT_EQ(NamesWith(row.frameworks, "Validating"), row.validating) << row.frameworks.front();
  }
}

// The configurations of declared kinds have no entries, and get none.
TEST(ComponentReviewsTest, OtherObjectsStayAsTheyAre) {
  for (json object :
       {json{{"kind", "MutatingWebhookConfiguration"}}, json{{"kind", "Namespace"}}}) {
    const json before = object;
    ASSERT_TRUE(AddComponentReviews({"pod"}, object));
    EXPECT_EQ(object, before);
  }
}

}  // namespace
}  // namespace berth::program
