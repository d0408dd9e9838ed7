#include "analyzer/spec/ops.h"

#include <doctest/doctest.h>

#include <set>

using stallscope::FindOp;
using stallscope::KnownOps;
using stallscope::OpArgumentType;
using stallscope::OpCall;
using stallscope::ParseOp;

namespace {

std::string WhyNotOp(const std::string& text) {
  const auto call = ParseOp(text);
  if (call.ok()) return "read";
  CHECK(call.error().kind == stallscope::ErrorKind::kUsage);
  CHECK(call.error().where == text);
  return call.error().what + "; " + call.error().hint;
}

std::string Canonical(const std::string& text) {
  const auto call = ParseOp(text);
  REQUIRE_MESSAGE(call.ok(), call.error().Line());
  const auto again = ParseOp(call.value().Text());
  REQUIRE(again.ok());
  CHECK(again.value() == call.value());
  return call.value().Text();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every op of the table can be called and explains itself") {
    std::set<std::string_view> names;
    for (const auto& op : KnownOps()) {
      CHECK(names.insert(op.name).second);
      CHECK_FALSE(op.doc.empty());
      CHECK(FindOp(op.name) == &op);
      std::string call(op.name);
      for (const auto& parameter : op.parameters) {
        CHECK_FALSE(parameter.name.empty());
        if (!parameter.default_text.empty()) continue;
        call += parameter.type == OpArgumentType::kWord ? "(uint8)" : "(1)";
      }
      CHECK(Canonical(call) == call);
    }
    CHECK(FindOp("rotate") == nullptr);
    for (const char* name : {"parse_example", "decode_jpeg", "decode_png", "decode_csv", "resize",
                             "crop", "random_resized_crop", "flip", "color_jitter", "normalize",
                             "cast", "one_hot", "tokenize", "pad", "busy", "sleep"}) {
      CHECK(names.contains(name));
    }
  }

  TEST_CASE("arguments are read by position and by name, with defaults for the rest") {
    CHECK(ParseOp("resize(64)").value().Integer("size") == 64);
    CHECK(ParseOp(" resize ( size = 64 ) ").value().Integer("size") == 64);
    CHECK(ParseOp("cast(float16)").value().Word("dtype") == "float16");
    CHECK(ParseOp("busy(100)").value().Number("us") == 100);
    CHECK(ParseOp("busy(0.5)").value().Number("us") == 0.5);
    const OpCall plain = ParseOp("decode_jpeg").value();
    CHECK(plain.Integer("scale") == 8);
    CHECK_FALSE(plain.Flag("crop"));
    CHECK(plain == ParseOp("decode_jpeg()").value());
    const OpCall scaled = ParseOp("decode_jpeg(crop=true, scale=1/2)").value();
    CHECK(scaled.Integer("scale") == 4);
    CHECK(scaled.Flag("crop"));
    CHECK(scaled == ParseOp("decode_jpeg(1/2, true)").value());
    CHECK(scaled == ParseOp("decode_jpeg(4/8,crop=true)").value());
  }

  TEST_CASE("the canonical text is the shortest") {
    CHECK(Canonical(" flip( ) ") == "flip");
    CHECK(Canonical("resize(size=64)") == "resize(64)");
    CHECK(Canonical("decode_jpeg(1/1, false)") == "decode_jpeg");
    CHECK(Canonical("decode_jpeg(6/8)") == "decode_jpeg(scale=3/4)");
    CHECK(Canonical("decode_jpeg(crop=true)") == "decode_jpeg(crop=true)");
    CHECK(Canonical("sleep(1.50)") == "sleep(1.5)");
    CHECK(Canonical("sleep(5, every=1)") == "sleep(5)");
    CHECK(Canonical("sleep(5, 64)") == "sleep(5, every=64)");
  }

  TEST_CASE("a scale is whole eighths up to 1") {
    for (const char* good : {"1", "1/1", "7/8", "1/2", "3/4", "1/8", "2/8", "8/8"}) {
      CHECK(ParseOp("decode_jpeg(scale=" + std::string(good) + ")").ok());
    }
    for (const char* bad : {"0", "0/8", "9/8", "2", "1/3", "1/16", "1/0", "-1/8", "0.5", "1/", "/8",
                            "1//2", "x", "", "99999999999999999999"}) {
      CHECK_FALSE(ParseOp("decode_jpeg(scale=" + std::string(bad) + ")").ok());
    }
    CHECK(WhyNotOp("decode_jpeg(scale=1/3)") ==
          "scale of decode_jpeg is '1/3'; give a number of eighths from 1/8 to 1/1");
  }

  TEST_CASE("an unknown name or argument names the nearest") {
    CHECK(WhyNotOp("random_resize_crop(4)") ==
          "unknown op 'random_resize_crop'; the nearest known op is 'random_resized_crop'");
    CHECK(WhyNotOp("").find("unknown op ''") == 0);
    CHECK(WhyNotOp("(3)").find("unknown op ''") == 0);
    CHECK(WhyNotOp("decode_jpeg(scal=1/2)") ==
          "decode_jpeg has no argument 'scal'; the nearest is 'scale'");
    CHECK(WhyNotOp("flip(x=1)") == "flip has no argument 'x'; it takes none");
    CHECK(WhyNotOp("cast(float23)") ==
          "dtype of cast is 'float23'; give 'uint8', 'float16' or 'float32'");
  }

  TEST_CASE("a wrong number of arguments is refused") {
    CHECK(WhyNotOp("resize").find("resize needs its size; give an integer from 1 to 16384") == 0);
    CHECK(WhyNotOp("resize()").find("resize needs its size") == 0);
    CHECK(WhyNotOp("resize(1, 2)") == "resize takes 1 arguments; leave out '2'");
    CHECK(WhyNotOp("flip(1)") == "flip takes 0 arguments; leave out '1'");
    CHECK(WhyNotOp("decode_jpeg(1/2, scale=1/2)") == "scale is given twice; keep one of them");
    CHECK(WhyNotOp("decode_jpeg(scale=1/2, true)").find("a positional argument") == 0);
    CHECK(WhyNotOp("decode_jpeg(crop=true, scale=1/2)") == "read");
  }

  TEST_CASE("an argument out of range or of another type is refused") {
    CHECK(WhyNotOp("resize(0)").find("size of resize is '0'; give an integer") == 0);
    CHECK(WhyNotOp("resize(1)") == "read");
    CHECK(WhyNotOp("resize(16384)") == "read");
    CHECK(WhyNotOp("resize(16385)") != "read");
    CHECK(WhyNotOp("resize(64.5)") != "read");
    CHECK(WhyNotOp("resize(+64)") != "read");
    CHECK(WhyNotOp("resize(64px)") != "read");
    CHECK(WhyNotOp("busy(-1)") != "read");
    CHECK(WhyNotOp("busy(nan)") != "read");
    CHECK(WhyNotOp("busy(inf)") != "read");
    CHECK(WhyNotOp("busy(1, every=0)") != "read");
    CHECK(WhyNotOp("decode_jpeg(crop=yes)") != "read");
    CHECK(WhyNotOp("keep_fraction(1.5)") != "read");
    CHECK(WhyNotOp("keep_fraction(0.5)") == "read");
  }

  TEST_CASE("what is not a call is refused") {
    for (const char* bad : {"resize(64", "resize 64", "resize(64))", "resize((64))", "resize(64)x",
                            "resize(64,)", "resize(,64)", "resize(64) flip", "resize[64]"}) {
      CHECK_FALSE(ParseOp(bad).ok());
    }
    CHECK(WhyNotOp("resize(64") ==
          "'resize(64' is not a call; write it as resize(...), with one closing parenthesis at the "
          "end");
  }

  TEST_CASE("an op that changes nothing next to its neighbor is found, and no other") {
    const auto idle = [](std::initializer_list<const char*> texts) {
      std::vector<OpCall> ops;
      for (const char* text : texts) ops.push_back(ParseOp(text).value());
      const auto found = stallscope::FindIdleOp(ops);
      return found.has_value() ? ops[found->op].Text() + " " + std::to_string(found->op) : "none";
    };
    CHECK(idle({"cast(float32)", "normalize"}) == "cast(float32) 0");
    CHECK(idle({"normalize", "cast(float32)"}) == "cast(float32) 1");
    CHECK(idle({"cast(float16)", "cast(float16)"}) == "cast(float16) 0");
    // What comes before is not known to be bytes: rounding to float16 stays.
    CHECK(idle({"cast(float16)", "normalize"}) == "none");
    CHECK(idle({"decode_jpeg", "flip", "cast(float16)", "normalize"}) == "cast(float16) 2");
    CHECK(idle({"decode_jpeg", "cast(float32)", "cast(float16)"}) == "cast(float32) 1");
    CHECK(idle({"decode_jpeg", "cast(uint8)"}) == "cast(uint8) 1");
    CHECK(idle({"decode_jpeg", "resize(64)", "resize(64)"}) == "resize(64) 2");
    CHECK(idle({"random_resized_crop(64)", "crop(64)"}) == "crop(64) 1");
    CHECK(idle({"random_resized_crop(64)", "crop(32)"}) == "none");
    CHECK(idle({"resize(64)", "resize(64)"}) == "none");
    CHECK(idle({"normalize", "normalize"}) == "none");
    CHECK(idle({"flip", "flip"}) == "none");
    CHECK(idle({"one_hot(3)", "one_hot(3)"}) == "one_hot(3) 1");
    CHECK(idle({}) == "none");
  }
}
