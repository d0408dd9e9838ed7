#include <doctest/doctest.h>

#include <random>
#include <string>

#include "analyzer/trace/limits.h"
#include "tests/analyzer/importers/xplane/read.h"
#include "tests/support/made_space.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using importers::xplane::LooksLikeXSpace;
using test::BytesField;
using test::MadePlane;
using test::NumberField;

namespace {

std::string Small() {
  MadePlane host("/host:CPU");
  std::string events;
  for (uint64_t i = 0; i < 20; ++i) {
    events += host.Event("train", i * 10'000, 9'000, host.Number("step_num", i));
    events += host.Event("Iterator::Root", i * 10'000, 1'000, host.Number("id", 7));
  }
  host.Line(1, "python", 0, events);
  MadePlane gpu("/device:GPU:0");
  gpu.Line(1, "Stream #1(Compute)", 0, gpu.Event("kernel", 0, 5'000));
  return host.Bytes() + gpu.Bytes() + BytesField(4, "a host");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an XSpace is recognized by its first bytes") {
    CHECK(LooksLikeXSpace(Small()));
    CHECK(LooksLikeXSpace(Small().substr(0, 40)));
    CHECK(LooksLikeXSpace(BytesField(1, NumberField(1, 4) + BytesField(2, "/host:metadata"))));
    // A tf.train.Example, a GraphDef, text, and nothing.
    CHECK(!LooksLikeXSpace(BytesField(1, BytesField(1, BytesField(1, "image")))));
    CHECK(!LooksLikeXSpace(BytesField(1, BytesField(1, "node") + BytesField(2, "Const"))));
    CHECK(!LooksLikeXSpace("\n# a page that begins with an empty line"));
    CHECK(!LooksLikeXSpace(""));
    CHECK(!LooksLikeXSpace(BytesField(1, BytesField(2, std::string("\x01\x02", 2)))));
  }

  TEST_CASE("a truncated file yields what it has and reports it") {
    const std::string whole = Small();
    for (size_t size = 1; size < whole.size(); ++size) {
      const auto run = test::ReadSpace(whole.substr(0, size));
      if (!run.ok()) {
        CHECK(run.error().kind == ErrorKind::kInput);
        CHECK(size < 16);
        continue;
      }
      CHECK(run.value().rows.steps.size() <= 20);
    }
    const auto cut = test::ReadSpace(whole.substr(0, 300));
    REQUIRE(cut.ok());
    CHECK(cut.value().quality.cut_at.has_value());
    CHECK(!cut.value().quality.warnings.empty());
  }

  TEST_CASE("work at the end of time is a span there") {
    MadePlane host("/host:CPU");
    host.Line(1, "runner", 0,
              host.Event("PrefetchProduce", 0, 100'000) +
                  host.Event("FunctionRun", 1'000, 1'000, host.Number("_p", 7)));
    host.Line(2, "python", 0, host.Event("Iterator::Prefetch", 0, 5'000, host.Number("id", 3)));
    const std::string stat = host.Number("_c", 7);
    host.Line(3, "pool", INT64_MAX,
              host.Event("ExecutorState::Process", 0, 5'000, stat) +
                  host.Event("ExecutorState::Process", 0, 9'000, stat));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    CHECK(run.value().info.end_ns == trace::kMaxTimeNs);
    size_t work = 0;
    for (const model::Track& track : run.value().tracks) {
      if (track.info.name == "pool" && track.info.kind == trace::TrackKind::kThread) {
        work += track.spans.size();
      }
    }
    CHECK(work == 1);
  }

  TEST_CASE("a recording with a start before all time is read") {
    MadePlane host("/host:CPU");
    host.Line(1, "a", 5, host.Event("x", 0, 1'000));
    host.Line(2, "b", 1'700'000'000'000'000'000, host.Event("x", 0, 1'000));
    host.PlaneNumber("profile_start_time", uint64_t{1} << 63);
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    CHECK(model::CountSpans(run.value()) == 2);
    CHECK(run.value().info.end_ns == trace::kMaxTimeNs);
  }

  TEST_CASE("flipped bytes never do harm") {
    const std::string whole = Small();
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (int flip = 0; flip < 3; ++flip) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      const auto run = test::ReadSpace(bytes);
      if (run.ok()) CHECK(run.value().tracks.size() < 10);
    }
  }

  TEST_CASE("false lengths and numbers cost nothing") {
    // A line of 2^60 bytes in a plane of 30, names with the largest numbers, times past all limits.
    const std::string endless = BytesField(2, "/host:CPU") + test::Varint(3 << 3 | 2) +
                                test::Varint(uint64_t{1} << 60) + "abc";
    CHECK(test::ReadSpace(BytesField(1, endless)).ok());

    MadePlane host("/host:CPU");
    host.Line(~uint64_t{0}, "python", uint64_t{1} << 63,
              host.Event("a", uint64_t{1} << 63, ~uint64_t{0}) +
                  host.Event("b", ~uint64_t{0} >> 1, ~uint64_t{0} >> 1) +
                  BytesField(4, NumberField(1, ~uint64_t{0}) + NumberField(5, 1'000'000'000)));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    REQUIRE(run.value().tracks.size() >= 1);
    CHECK(run.value().tracks[0].spans.size() == 2);
    CHECK(!run.value().quality.warnings.empty());
  }

  TEST_CASE("an XSpace without a plane is a one-line error") {
    const auto run = test::ReadSpace(BytesField(4, "a host"));
    REQUIRE(!run.ok());
    CHECK(run.error().kind == ErrorKind::kInput);
    CHECK(run.error().Line().find('\n') == std::string::npos);
  }

  TEST_CASE("fields of later versions are skipped") {
    MadePlane host("/host:CPU");
    const std::string event =
        BytesField(4, NumberField(1, host.EventId("a")) + NumberField(2, 1'000) +
                          NumberField(3, 1'000) + BytesField(99, "new") + NumberField(100, 7));
    host.Line(1, "python", 0, BytesField(77, "new") + event + BytesField(78, "new") + event);
    const auto run = test::ReadSpace(host.Bytes() + BytesField(79, "new"));
    REQUIRE(run.ok());
    CHECK(run.value().tracks[0].spans.size() == 2);
    CHECK(run.value().quality.warnings.empty());
  }

  TEST_CASE("whatever is left out of an XSpace makes it incomplete") {
    const auto complete = [](const std::string& bytes) {
      const auto run = test::ReadSpace(bytes);
      REQUIRE(run.ok());
      CHECK(run.value().quality.Complete() == run.value().quality.warnings.empty());
      return run.value().quality.Complete();
    };
    CHECK(complete(Small()));
    std::string planes;
    for (int i = 0; i < 4'096; ++i) planes += BytesField(1, BytesField(2, "/p"));
    CHECK_FALSE(complete(Small() + planes));
    CHECK(complete(planes.substr(0, planes.size() / 2) + Small()));
    std::string hosts;
    for (int i = 0; i < 2'000; ++i) hosts += BytesField(4, "a host");
    CHECK_FALSE(complete(Small() + hosts));
    // A line that says to be longer than its plane, with another plane behind it.
    const std::string lies = BytesField(2, "/p") + test::Varint(3 << 3 | 2) + test::Varint(99);
    CHECK_FALSE(complete(BytesField(1, lies) + Small()));
    // An invalid stat of a role that is needed.
    MadePlane host("/host:CPU");
    const uint64_t step = host.StatId("step_num");
    host.Line(1, "python", 0,
              host.Event("train", 0, 9'000) +
                  host.Event("train", 10'000, 9'000,
                             BytesField(4, NumberField(1, step) + std::string("\x20", 1))));
    CHECK_FALSE(complete(host.Bytes()));
  }
}
