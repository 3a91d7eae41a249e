// Goal: the table has Kubernetes' facts of each field. Method: the rows that differ between
// server-side apply and strategic patches, and forms that are easily lost.
#include "local/apiserver/types/type_table.h"

#include <gmock/gmock.h>

namespace berth::local {
namespace {

using ::testing::ElementsAre;

class TypeTableTest : public ::testing::Test {
 protected:
  const Field& At(std::string_view type, std::string_view field) {
    const TypeNode* node = types_.FindType(type);
    EXPECT_NE(node, nullptr) << type;
    const Field* found = FindField(*node, field);
    EXPECT_NE(found, nullptr) << field;
    return *found;
  }
  const TypeTable types_ = TypeTable::Builtin();
};

TEST_F(TypeTableTest, HasTheServedKinds) {
  for (const TypeTable::Kind& kind : std::vector<TypeTable::Kind>{
           {"", "v1", "Pod"},
           {"", "v1", "Node"},
           {"", "v1", "Event"},
           {"batch", "v1", "Job"},
           {"batch", "v1", "CronJob"},
           {"coordination.k8s.io", "v1", "Lease"},
           {"events.k8s.io", "v1", "Event"},
           {"scheduling.k8s.io", "v1", "PriorityClass"},
           {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
           {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"},
           {"rbac.authorization.k8s.io", "v1", "ClusterRole"},
           {"policy", "v1", "Eviction"},
           {"authentication.k8s.io", "v1", "TokenRequest"},
           {"", "v1", "DeleteOptions"},
           {"batch", "v1", "DeleteOptions"},
           {"kueue.x-k8s.io", "v1beta2", "PatchOptions"}}) {
    EXPECT_NE(types_.Find(kind.group, kind.version, kind.kind), nullptr) << kind.kind;
  }
  EXPECT_EQ(types_.Find("batch", "v1", "Jobs"), nullptr);
  EXPECT_EQ(types_.Find("batch", "v1beta1", "Job"), nullptr);
  EXPECT_GT(types_.Kinds().size(), 100U);
}

TEST_F(TypeTableTest, ListKeysOfApplyAndOfPatchDiffer) {
  const Field& ports = At("core/v1.Container", "ports");
  EXPECT_THAT(ports.type->list_map_keys, ElementsAre("containerPort", "protocol"));
  EXPECT_EQ(ports.patch_merge_key, "containerPort");
  EXPECT_EQ(*FindField(*ports.type->element, "protocol")->type->default_value, "TCP");
  const Field& conditions = At("batch/v1.JobStatus", "conditions");
  EXPECT_EQ(conditions.type->list_type, ListType::kAtomic);
  EXPECT_EQ(conditions.patch_merge_key, "type");
  EXPECT_TRUE(conditions.Has(kFieldPatchMerge));
  const Field& volumes = At("core/v1.PodSpec", "volumes");
  EXPECT_TRUE(volumes.Has(kFieldPatchRetain));
  EXPECT_EQ(At("core/v1.PodSpec", "tolerations").type->list_type, ListType::kAtomic);
  EXPECT_EQ(At("meta/v1.ObjectMeta", "finalizers").type->list_type, ListType::kSet);
  EXPECT_THAT(At("core/v1.PodSpec", "topologySpreadConstraints").type->list_map_keys,
              ElementsAre("topologyKey", "whenUnsatisfiable"));
}

TEST_F(TypeTableTest, SelectorsAreAtomicAndLabelsAreNot) {
  EXPECT_TRUE(types_.FindType("meta/v1.LabelSelector")->atomic);
  EXPECT_TRUE(At("core/v1.PodSpec", "nodeSelector").type->atomic);
  EXPECT_FALSE(At("meta/v1.ObjectMeta", "labels").type->atomic);
}

TEST_F(TypeTableTest, InlineFieldsAreFieldsOfTheirParent) {
  EXPECT_NE(FindField(*types_.FindType("core/v1.Volume"), "emptyDir"), nullptr);
  EXPECT_NE(FindField(*types_.FindType("core/v1.Probe"), "httpGet"), nullptr);
  EXPECT_NE(FindField(*types_.FindType("core/v1.EphemeralContainer"), "image"), nullptr);
  EXPECT_NE(FindField(*types_.FindType("core/v1.Pod"), "apiVersion"), nullptr);
  EXPECT_EQ(At("core/v1.Container", "image").proto_number, 2U);
}

TEST_F(TypeTableTest, SchemaTypeIsRecursive) {
  const TypeNode* schema = types_.FindType("apiextensions/v1.JSONSchemaProps");
  EXPECT_EQ(FindField(*schema, "properties")->type->element, schema);
  EXPECT_EQ(FindField(*schema, "items")->type->kind, TypeKind::kAny);
}

TEST(TypeTableLoadTest, ErrorNamesTheWrongLine) {
  const auto error = [](std::string_view text) { return TypeTable::Load(text).error().message; };
  EXPECT_EQ(error("type a.B\n x y s\n"), "type table: line 2: bad protobuf number");
  EXPECT_EQ(error("type a.B\n x 1 z\n"), "type table: line 2: unknown type z");
  EXPECT_EQ(error("type a.B\n x 1 s huh\n"), "type table: line 2: unknown mark huh");
  EXPECT_EQ(error("kind /v1/B a.C\n"), "type table: kind /v1/B names no type: a.C");
}

}  // namespace
}  // namespace berth::local
