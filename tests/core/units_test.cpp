#include "core/units.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>

namespace plait::units_test {

TEST(Units, BinaryAndDecimalPrefixesDiffer) {
  EXPECT_EQ(parse_quantity<Bytes>("80 GiB").value, std::int64_t{80} << 30);
  EXPECT_EQ(parse_quantity<Bytes>("80 GB").value, std::int64_t{80} * 1000 * 1000 * 1000);
  EXPECT_EQ(parse_quantity<Bytes>("25 MiB").value, 25 * 1024 * 1024);
  EXPECT_EQ(parse_quantity<Bytes>("1kB"), parse_quantity<Bytes>("1 KB"));
}

TEST(Units, EightBitsMakeAByte) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gbps"), parse_quantity<BytesPerSecond>("50 GB/s"));
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gb/s"), parse_quantity<BytesPerSecond>("50 GB/s"));
}

TEST(Units, EachQuantityHasItsOwn) {
  EXPECT_DOUBLE_EQ(parse_quantity<FlopsPerSecond>("989.4 TFLOP/s").value, 989.4e12);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("2 us").value, 2e-6);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("2 µs").value, 2e-6);
  EXPECT_DOUBLE_EQ(parse_quantity<Watts>("0.7 kW").value, 700);
}

std::string code_of(const std::function<void()>& action, std::string* cure = nullptr) {
  try {
    action();
  } catch (const InputError& e) {
    if (cure != nullptr) *cure = e.text().cure;
    return e.text().code;
  }
  return "no error";
}

TEST(Units, BareNumberIsRefusedWithAnExample) {
  std::string cure;
  EXPECT_EQ(code_of([] { parse_quantity<BytesPerSecond>("450"); }, &cure), "U001");
  EXPECT_NE(cure.find("450 GB/s"), std::string::npos) << cure;
}

TEST(Units, WrongCaseOffersBothMeanings) {
  std::string cure;
  EXPECT_EQ(code_of([] { parse_quantity<BytesPerSecond>("450 gb/s"); }, &cure), "U002");
  EXPECT_NE(cure.find("\"GB/s\""), std::string::npos) << cure;
  EXPECT_NE(cure.find("\"Gb/s\""), std::string::npos) << cure;
}

TEST(Units, UnitOfAnotherQuantityIsRefused) {
  EXPECT_EQ(code_of([] { parse_quantity<Bytes>("80 GB/s"); }), "U002");
  EXPECT_EQ(code_of([] { parse_quantity<Seconds>("80 GiB"); }), "U002");
}

TEST(Units, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "GB", "nan GB", "inf GB", "1e999 GB", "- 1 GB", "--1 GB"}) {
    EXPECT_EQ(code_of([&] { parse_quantity<Bytes>(text); }), "U003") << text;
  }
  EXPECT_EQ(code_of([] { parse_quantity<Bytes>("1e30 GiB"); }), "U004");
  EXPECT_EQ(code_of([] { parse_quantity<Bytes>("1025 TiB"); }), "U004");
}

TEST(Units, TextForPeopleHasThreeDigits) {
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(Bytes(1000)), "1000 B");
  EXPECT_EQ(to_text(Bytes(static_cast<std::int64_t>(79.1 * 1024 * 1024 * 1024))), "79.1 GiB");
  EXPECT_EQ(to_text(Seconds(8.91)), "8.91 s");
  EXPECT_EQ(to_text(Seconds(1.23e-3)), "1.23 ms");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Seconds(-2e-6)), "-2.00 us");
  EXPECT_EQ(to_text(Seconds(0.99999)), "1.00 s");
  EXPECT_EQ(to_text(BytesPerSecond(450e9)), "450 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond(989.4e12)), "989 TFLOP/s");
  EXPECT_EQ(to_text(Watts(700)), "700 W");
}

TEST(Units, ExactTextReadsBackBitForBit) {
  EXPECT_EQ(exact_text(Bytes(25 << 20)), "25 MiB");
  EXPECT_EQ(exact_text(BytesPerSecond(450e9)), "450 GB/s");
  EXPECT_TRUE(rc::check([](double value) {
    const BytesPerSecond rate(std::abs(value));
    RC_ASSERT(parse_quantity<BytesPerSecond>(exact_text(rate)) == rate);
  }));
  EXPECT_TRUE(rc::check([] {
    const Bytes size(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50));
    RC_ASSERT(parse_quantity<Bytes>(exact_text(size)) == size);
  }));
}

}  // namespace plait::units_test
