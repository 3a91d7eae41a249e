// Goal: an object takes little more memory than its text.
#include "local/apiserver/store/stored_object.h"

#include <gtest/gtest.h>

namespace berth::local {
namespace {

// A new database begins at a revision of 16 digits.
TEST(StoredObjectTest, TextHasNoUnusedCapacity) {
  for (std::int64_t revision = 1; revision > 0 && revision < INT64_MAX / 10; revision *= 10) {
    for (const std::size_t filler : {0U, 40U, 1500U, 5000U}) {
      const StoredObject object(
          {"configmaps", "default", "a"}, revision,
          StoredObject::MakeDraft({{"kind", "ConfigMap"},
                                   {"apiVersion", "v1"},
                                   {"metadata", {{"name", "a"}}},
                                   {"data", {{"filler", std::string(filler, 'x')}}}}));
      EXPECT_EQ(object.body().capacity(), object.body().size()) << revision << " " << filler;
      EXPECT_EQ((*object.json())["metadata"]["resourceVersion"], std::to_string(revision));
    }
  }
}

}  // namespace
}  // namespace berth::local
