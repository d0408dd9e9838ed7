#include "collectors/job/job_settings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace stallscope::job;

namespace {

std::string ErrorOf(const std::string& setting) {
  const auto settings = ReadSettings({.set = {setting}});
  return settings.ok() ? "" : settings.error().Line();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("knobs of a job are checked before it starts") {
    for (const char* good :
         {"loader.num_workers=0", "loader2.prefetch_factor=1", "loader.persistent_workers=true",
          "loader10.multiprocessing_context=spawn", "loader.num_parallel_calls=8",
          "loader.prefetch=1", "loader.threads=4", "loader.num_shards=16", "job.threads=1",
          "env.A_1=", "env.B=c=d", "env.C=\"open", "env.D=0"}) {
      CAPTURE(good);
      CHECK(ErrorOf(good) == "");
    }
    for (const char* bad : {"",
                            "loader",
                            "loader.num_workers",
                            "loader.num_workers=-1",
                            "loader.num_workers=2x",
                            "loader.prefetch_factor=0",
                            "loader.in_order=yes",
                            "loader1.num_workers=2",
                            "loader02.num_workers=2",
                            "loaderx.num_workers=2",
                            "loader.workers=2",
                            "loader.multiprocessing_context=thread",
                            "job.threads=0",
                            "env.=1",
                            "env.1A=1",
                            "env.A-B=1",
                            "env.PYTHONPATH=/",
                            "env.STALLSCOPE_SESSION=/",
                            "job.cores=1",
                            "job.steps=5",
                            "name=x",
                            "loader.batch_size=0",
                            "loader.multiprocessing_context=inherited",
                            "loader.iterable=true",
                            "loader.num_parallel_calls=0",
                            "loader.prefetch=-1",
                            "loader.threads=all",
                            "loader.num_shards=1000001",
                            "loader.num_workers=1000001"}) {
      CAPTURE(bad);
      CHECK(ErrorOf(bad).find("--set") != std::string::npos);
    }
  }

  TEST_CASE("settings.json says what was asked for") {
    const auto settings = ReadSettings({.set = {"loader.num_workers=4", "job.threads=2"},
                                        .steps = 7,
                                        .profile = "off",
                                        .probe = true});
    REQUIRE(settings.ok());
    const auto json = nlohmann::json::parse(settings.value().json);
    CHECK(json["version"] == 1);
    CHECK(json["steps"] == 7);
    CHECK(json["profile"] == "off");
    CHECK(json["digest"] == false);
    CHECK(json["probe"] == true);
    CHECK(json["set"][0]["knob"] == "loader.num_workers");
    CHECK(json["set"][0]["value"] == 4);
  }

  TEST_CASE("a setting may say where its loader and the calls that take it are") {
    const auto settings =
        ReadSettings({.set = {"loader.num_parallel_calls=4", "loader.prefetch=2"},
                      .at = {"loader=/u/a.py:9", "loader.num_parallel_calls=/u/a.py:7",
                             "loader.num_parallel_calls=b=c.py:8"}});
    REQUIRE(settings.ok());
    const auto set = nlohmann::json::parse(settings.value().json)["set"];
    CHECK(set[0]["where"] == nlohmann::json::parse(R"({"file": "/u/a.py", "line": 9})"));
    CHECK(set[0]["calls"] ==
          nlohmann::json::parse(
              R"([{"file": "/u/a.py", "line": 7}, {"file": "b=c.py", "line": 8}])"));
    CHECK(set[1]["where"] == set[0]["where"]);
    CHECK_FALSE(set[1].contains("calls"));
    const auto refused = ReadSettings({.set = {"loader.prefetch=2"}, .at = {"loader=/u/a.py"}});
    CHECK_FALSE(refused.ok());
  }

  TEST_CASE("the environment is the user's but for what is ours") {
    const auto settings = ReadSettings({.set = {"env.A=2", "env.A=3", "job.threads=2"}});
    REQUIRE(settings.ok());
    char a[] = "A=1", b[] = "B=1", path[] = "PYTHONPATH=/x:/y", odd[] = "odd",
         old[] = "STALLSCOPE_SESSION=/outer";
    char* const inherited[] = {a, b, path, odd, old, nullptr};
    const auto environment = EnvironmentOf(inherited, "/s", "/s/shim", settings.value());
    const auto has = [&](const char* variable) {
      return std::count(environment.begin(), environment.end(), variable) == 1;
    };
    CHECK(has("A=3"));
    CHECK(has("B=1"));
    CHECK(has("odd"));
    CHECK(has("PYTHONPATH=/s/shim:/x:/y"));
    CHECK(has("STALLSCOPE_SESSION=/s"));
    CHECK(has("OMP_NUM_THREADS=2"));
    CHECK(environment.size() == 10);
  }
}
