// Goal: Berth's own rules are switched and reported by name.
#include "admission/own_rules.h"

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

TEST(OwnRulesTest, AreSetAndListedByName) {
  OwnRules rules = OwnRules::None();
  ASSERT_TRUE(rules.Set("wake-the-flavor", true));
  ASSERT_TRUE(rules.Set("spare-the-preempted", true));
  EXPECT_FALSE(rules.Set("no-such-rule", true));
  EXPECT_TRUE(rules.Has("wake-the-flavor"));
  EXPECT_FALSE(rules.Has("victims-for-pods"));
  EXPECT_EQ(rules.NamesOfEnabled(), "wake-the-flavor, spare-the-preempted");
  ASSERT_TRUE(rules.Set("wake-the-flavor", false));
  EXPECT_EQ(rules.NamesOfEnabled(), "spare-the-preempted");
  EXPECT_EQ(rules.NamesOfDisabled().find("spare-the-preempted"), std::string::npos);
  EXPECT_NE(rules.NamesOfDisabled().find("wake-the-flavor"), std::string::npos);
}

TEST(OwnRulesTest, NarrowerRulesNameSetsTheWiderRule) {
  OwnRules rules;
  ASSERT_TRUE(rules.Set("owners-before-returning-borrowers", false));
  EXPECT_EQ(rules.NamesOfDisabled(), "owners-before-borrowers");
}

}  // namespace
}  // namespace berth::admission
