// Goal: an object takes little more memory than its text, and its metadata is read without the
// rest.
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

TEST(StoredObjectTest, MetadataIsReadWithoutTheRest) {
  struct Row {
    const char* body;
    const char* read;  // null: no JSON
  };
  const Row rows[] = {
      {R"({"metadata":{"name":"a"},"data":{"x":"y"}})", R"({"metadata":{"name":"a"}})"},
      {R"({"metadata":{"name":"a","labels":{"b":"c"}}})",
       R"({"metadata":{"name":"a","labels":{"b":"c"}}})"},
      {R"({"metadata":{"annotations":{"t":"}\"}{"}},"data":{}})",
       R"({"metadata":{"annotations":{"t":"}\"}{"}}})"},
      {R"({"data":{},"metadata":{"name":"a"}})", R"({"data":{},"metadata":{"name":"a"}})"},
      {R"({"metadata":{"name":"a)", nullptr},
      {"", nullptr},
  };
  for (const Row& row : rows) {
    const StoredObject object({"configmaps", "d", "a"}, 1, "v1", "ConfigMap", row.body);
    const Object read = object.ReadOnce(StoredObject::Part::kMetadata);
    ASSERT_EQ(read == nullptr, row.read == nullptr) << row.body;
    if (read == nullptr) continue;
    Json expected = Json::parse(row.read);
    expected["apiVersion"] = "v1";
    expected["kind"] = "ConfigMap";
    EXPECT_EQ(*read, expected) << row.body;
  }
}

}  // namespace
}  // namespace berth::local
