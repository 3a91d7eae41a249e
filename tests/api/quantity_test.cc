// Goal: quantities have Kubernetes' values and texts. Method: rows of text, value in thousandths,
// canonical text; the values come from k8s.io/apimachinery.
#include "api/quantity.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

struct QuantityCase {
  const char* text;
  std::int64_t milli;
  const char* canonical;
};

TEST(Quantity, ReadsAndPrintsAsKubernetesDoes) {
  for (const QuantityCase& c : {QuantityCase{"0", 0, "0"},
                                {"1", 1000, "1"},
                                {"0.5", 500, "500m"},
                                {"1500m", 1500, "1500m"},
                                {"2000m", 2000, "2"},
                                {"1000", 1000000, "1k"},
                                {"1024Mi", 1073741824000, "1Gi"},
                                {"0.5Gi", 536870912000, "512Mi"},
                                {"1e3", 1000000, "1e3"},
                                {"12e6", 12000000000, "12e6"},
                                {".5", 500, "500m"},
                                {"5.", 5000, "5"},
                                {"-1", -1000, "-1"},
                                {"100n", 1, "100n"},
                                {"1u", 1, "1u"},
                                {"1Ki", 1024000, "1Ki"},
                                {"512", 512000, "512"},
                                {"1000000000", 1000000000000, "1G"},
                                {"1.0000000001", 1001, "1000000001n"}}) {
    const auto quantity = Quantity::Parse(c.text);
    ASSERT_TRUE(quantity.has_value()) << c.text;
    EXPECT_EQ(quantity->MilliValue(), c.milli) << c.text;
    EXPECT_EQ(quantity->ToString(), c.canonical) << c.text;
  }
}

TEST(Quantity, SaturatesValuesThatDoNotFit) {
  EXPECT_EQ(Quantity::Parse("1000000000Ti")->Value(), INT64_MAX);
  EXPECT_EQ(Quantity::Parse("1000000000Gi")->Value(), 1073741824000000000);
  EXPECT_EQ(Quantity::Parse("1e999")->Value(), INT64_MAX);
  EXPECT_EQ(Quantity::Parse("-99999999999999999999E")->Value(), -INT64_MAX);
  EXPECT_EQ(Quantity::Parse("0.000001Ei")->Value(), 1152921504607);
  EXPECT_EQ(Quantity::Parse("7.9Ei")->Value(), 9108079886394091111);
  EXPECT_EQ(ToAmount("cpu", *Quantity::Parse("1000000000000000000")), INT64_MAX);
}

TEST(Quantity, RejectsInvalidQuantities) {
  for (const char* text : {"", "Gi", "1GiB", "1 Gi", "1.2.3", "0x10", "1e", "--1", "-", "+", "-Gi",
                           "1e1001", "1e-1001", "1mm", "."}) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity.has_value()) << text;
    EXPECT_EQ(quantity.error().code, ErrorCode::kInvalid);
  }
}

TEST(Amounts, KnowTheSmallestUnitOfTheirResource) {
  EXPECT_EQ(*ParseAmount("cpu", "1500m"), 1500);
  EXPECT_EQ(*ParseAmount("memory", "1Ki"), 1024);
  EXPECT_EQ(*ParseAmount("nvidia.com/gpu", "8"), 8);
  EXPECT_EQ(FormatAmount("cpu", 1500), "1500m");
  EXPECT_EQ(FormatAmount("cpu", 2000), "2");
  EXPECT_EQ(FormatAmount("memory", 4294967296), "4Gi");
  EXPECT_EQ(FormatAmount("nvidia.com/gpu", 8), "8");
  EXPECT_EQ(FormatAmount("gpu.memory", 5100273664), "4864Mi");
  EXPECT_EQ(FormatAmount("example.com/gpu.memory", 53687091200), "50Gi");
  EXPECT_EQ(FormatAmount("example.com/gpu-memory", 53687091200), "53687091200");
  EXPECT_EQ(FormatAmount("gpu.memory", 5100273665), "5100273665");
  EXPECT_EQ(FormatAmount("gpu.memory", 2048), "2048") << "in units of its own";
  EXPECT_EQ(FormatAmount("gpu.memory", 0), "0");
}

TEST(Amounts, AreWrittenAsTheirQuantities) {
  for (const char* resource : {"cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"}) {
    for (const Amount amount :
         {Amount{0}, Amount{1}, Amount{-1}, Amount{999}, Amount{1000}, Amount{-2500},
          Amount{5000000}, Amount{1} << 40U, Amount{1000000000000000000}, INT64_MAX, INT64_MIN}) {
      EXPECT_EQ(FormatAmount(resource, amount), ToQuantity(resource, amount).ToString())
          << resource << " " << amount;
    }
  }
}

TEST(Amounts, SaturateInsteadOfWrapping) {
  EXPECT_EQ(AddAmounts(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(AddAmounts(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(SubtractAmounts(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(MultiplyAmounts(INT64_MAX, 2), INT64_MAX);
  EXPECT_EQ(MultiplyAmounts(INT64_MAX, -2), INT64_MIN);
}

}  // namespace
}  // namespace berth::api
