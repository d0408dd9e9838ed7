#include "analyzer/spec/op_times.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

using stallscope::FormConverted;
using stallscope::FormRead;
using stallscope::OpCall;
using stallscope::ParseOp;
using stallscope::SampleForm;
using stallscope::SourceFormat;
using stallscope::UsualConversion;
using stallscope::UsualCopy;
using stallscope::UsualRead;
using stallscope::UsualTime;
using stallscope::UsualTimesOf;

namespace {

std::vector<OpCall> Calls(const std::vector<std::string>& texts) {
  std::vector<OpCall> calls;
  for (const std::string& text : texts) {
    auto call = ParseOp(text);
    REQUIRE_MESSAGE(call.ok(), text);
    calls.push_back(std::move(call).value());
  }
  return calls;
}

double UsualNs(const std::vector<std::string>& ops, SampleForm& form, bool whole = false) {
  const auto times = UsualTimesOf(Calls(ops), whole, form);
  REQUIRE(times.has_value());
  return std::accumulate(times->begin(), times->end(), 0.0,
                         [](double sum, const UsualTime& time) { return sum + time.ns; });
}

// A JPEG of 500x375 pixels.
double OfAPicture(const std::vector<std::string>& ops) {
  SampleForm form{.file_bytes = 78'750};
  return UsualNs(ops, form);
}

SampleForm Image(double value_bytes = 1) {
  return {.decoded = true, .pixels = 160 * 160, .value_bytes = value_bytes};
}

double OfAnImage(const std::string& op, double value_bytes = 1) {
  SampleForm form = Image(value_bytes);
  return UsualNs({op}, form);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("usual times of decoding are those that were measured of a picture of 500x375") {
    CHECK(OfAPicture({"decode_jpeg"}) == doctest::Approx(847'000).epsilon(0.05));
    CHECK(OfAPicture({"decode_jpeg(crop=true)", "crop(224)"}) ==
          doctest::Approx(546'000).epsilon(0.05));
    SampleForm whole{.decoded = true, .pixels = 500 * 375};
    CHECK(UsualNs({"resize(224)"}, whole) == doctest::Approx(97'000).epsilon(0.1));
    const double region = OfAPicture({"decode_jpeg(crop=true)", "random_resized_crop(224)"});
    CHECK(region > 662'000);
    CHECK(region < OfAPicture({"decode_jpeg", "random_resized_crop(224)"}));
  }

  TEST_CASE("decoding at a reduced size saves what is not entropy decoding, where that is fast") {
    const double whole = OfAPicture({"decode_jpeg"});
    CHECK(OfAPicture({"decode_jpeg(scale=1/2)"}) < whole);
    CHECK(OfAPicture({"decode_jpeg(scale=1/8)"}) < OfAPicture({"decode_jpeg(scale=1/2)"}));
    CHECK(OfAPicture({"decode_jpeg(scale=1/8)"}) > 0.65 * whole);
    CHECK(OfAPicture({"decode_jpeg(scale=5/8)"}) == doctest::Approx(whole));
  }

  TEST_CASE("what moves floats takes longer than what moves bytes") {
    CHECK(OfAnImage("flip", 4) > 2 * OfAnImage("flip"));
    CHECK(OfAnImage("crop(64)", 4) > OfAnImage("crop(64)"));
    CHECK(OfAnImage("normalize", 4) > OfAnImage("normalize"));
    CHECK(OfAnImage("cast(float32)", 4) < OfAnImage("cast(float32)") / 10);
    CHECK(UsualCopy(400'000).ns > 2 * UsualCopy(100'000).ns);
    CHECK(UsualConversion(Image(), 4).ns > 0);
  }

  TEST_CASE("an op hands on what it makes") {
    SampleForm form{.file_bytes = 50'000};
    UsualNs({"decode_jpeg", "resize(64)", "normalize"}, form);
    CHECK(form.decoded);
    CHECK(form.pixels == 64 * 64);
    CHECK(form.value_bytes == 4);
    CHECK(form.bytes() == 64 * 64 * 3 * 4);
    SampleForm cropped{.file_bytes = 50'000};
    UsualNs({"decode_jpeg(crop=true)", "random_resized_crop(32)", "cast(float16)"}, cropped);
    CHECK(cropped.bytes() == 32 * 32 * 3 * 2);
  }

  TEST_CASE("ops that state their cost are left out, those that nothing is known of end it") {
    SampleForm form = Image();
    CHECK(UsualTimesOf(Calls({"busy(50)", "sleep(50)"}), false, form)->empty());
    CHECK_FALSE(UsualTimesOf(Calls({"tokenize(100)"}), false, form).has_value());
    SampleForm nothing;
    CHECK_FALSE(UsualTimesOf(Calls({"decode_jpeg"}), false, nothing).has_value());
  }

  TEST_CASE("converted data: pictures stay encoded, text becomes as many pixels as it holds") {
    CHECK_FALSE(FormRead(SourceFormat::kTfrecord, 3'000).decoded);
    CHECK(FormRead(SourceFormat::kHdf5, 3'000).pixels == 1'000);
    const auto records = FormConverted(SourceFormat::kImages, 3'000, SourceFormat::kTfrecord);
    REQUIRE(records.has_value());
    CHECK(records->bytes() == 3'000);
    const auto raw = FormConverted(SourceFormat::kCsv, 11'000, SourceFormat::kRaw);
    REQUIRE(raw.has_value());
    CHECK(raw->bytes() == 3'000);
    CHECK_FALSE(FormConverted(SourceFormat::kImages, 3'000, SourceFormat::kRaw).has_value());
    CHECK_FALSE(FormConverted(SourceFormat::kSynthetic, 3'000, SourceFormat::kRaw).has_value());
    CHECK(UsualRead(100'000).ns > 10 * UsualRead(1'000).ns);
  }
}
