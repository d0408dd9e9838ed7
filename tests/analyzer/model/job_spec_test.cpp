#include "analyzer/model/job_spec.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "analyzer/spec/knobs.h"

using namespace stallscope;
using model::Run;

namespace {

Run JobWith(const std::string& settings) {
  Run run;
  run.info.name = "train.py";
  run.info.job.command = {"python", "train.py"};
  run.loaders.resize(2);
  run.loaders[0].name = "loader2";
  run.loaders[1].name = "loader";
  run.loaders[1].steps = 10;
  run.loaders[1].info.settings_json = settings;
  return run;
}

LoaderSpec FirstOf(const std::string& settings) {
  const auto spec = model::JobSpecOf(JobWith(settings));
  REQUIRE(spec.has_value());
  REQUIRE(spec->stages.size() == 2);
  CHECK(spec->stages[0].name == "loader");
  CHECK(spec->stages[1].name == "loader2");
  return std::get<LoaderSpec>(spec->stages[0].kind);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a job's spec is what its loaders were given") {
    CHECK(FirstOf(R"({"num_workers": 4, "prefetch_factor": 3, "persistent_workers": true,
        "pin_memory": true, "batch_size": 32, "multiprocessing_context": "spawn",
        "in_order": false, "iterable": true, "drop_last": true})") ==
          LoaderSpec{4, 3, true, true, 32, StartMethod::kSpawn, false, true});
    CHECK(FirstOf(R"({"num_workers": 0, "prefetch_factor": null, "multiprocessing_context": null,
        "batch_size": null, "in_order": null})") == LoaderSpec{});
  }

  TEST_CASE("a loader's settings by name, as JSON text") {
    trace::LoaderInfo info;
    info.settings_json =
        R"({"num_workers": 4, "shuffle": true, "sampler": "Random", "seed": null})";
    CHECK(model::SettingsOf(info) == std::map<std::string, std::string>{{"num_workers", "4"},
                                                                        {"sampler", "\"Random\""},
                                                                        {"seed", "null"},
                                                                        {"shuffle", "true"}});
    for (const char* const text : {"", "[1]", "{", R"({"a": 1, "a": 2})"}) {
      info.settings_json = text;
      CHECK(model::SettingsOf(info).empty());
    }
  }

  TEST_CASE("a loader's knobs are those that a spec knows") {
    Spec job;
    job.stages.push_back({"loader", LoaderSpec{}});
    std::set<std::string> known;
    for (const KnobInfo& knob : ListKnobs(job)) {
      if (knob.path.starts_with("loader.")) known.insert(knob.path.substr(7));
    }
    // Not a loader's setting but a property of its data set: it cannot be set.
    known.erase("iterable");
    CHECK(known == std::set<std::string>(model::kLoaderKnobs.begin(), model::kLoaderKnobs.end()));
  }

  TEST_CASE("a loader of another library has the knobs among its settings") {
    Run run = JobWith(R"({"batch_size": 8, "num_parallel_calls": null, "prefetch": 2,
        "threads": "many", "graph": []})");
    run.loaders[1].info.kind = "tf.data.Dataset";
    CHECK_FALSE(model::IsDataLoader(run.loaders[1].info));
    const auto spec = model::JobSpecOf(run);
    REQUIRE(spec.has_value());
    const auto& loader = std::get<LoaderSpec>(spec->stages[0].kind);
    CHECK(loader.knobs == std::vector<std::string>{"num_parallel_calls", "prefetch", "threads"});
    CHECK(loader.num_parallel_calls == 0);
    CHECK(loader.prefetch == 2);
    CHECK(loader.threads == 0);
    // A DataLoader over a stream has them all.
    const LoaderSpec stream = FirstOf(R"({"num_workers": 4, "num_shards": 2, "iterable": true})");
    CHECK(stream.num_shards == 2);
    CHECK(stream.knobs.size() == model::kLoaderKnobs.size() + 1);
    // grain's processes are no workers of a DataLoader.
    trace::LoaderInfo info;
    info.kind = "grain._src.python.dataset.Iterator";
    info.settings_json = R"({"num_workers": 2, "threads": null})";
    CHECK_FALSE(model::IsDataLoader(info));
    const LoaderSpec grain = model::LoaderSpecOf(info);
    CHECK(grain.knobs == std::vector<std::string>{"num_workers", "threads"});
    CHECK(grain.num_workers == 2);
    // Of a graph without them, and of the job's own loop, nothing can be set.
    run.loaders.erase(run.loaders.begin());
    for (const char* none : {R"({"batch_size": 8, "graph": []})", "{}"}) {
      run.loaders[0].info.settings_json = none;
      CHECK_FALSE(model::JobSpecOf(run).has_value());
    }
    run.loaders[0].info.kind = "Batches";
    run.loaders[0].info.settings_json = R"({"workers": 2})";
    CHECK_FALSE(model::JobSpecOf(run).has_value());
  }

  TEST_CASE("settings that make no sense are left at their defaults") {
    for (const char* text : {"", "[]", "{", R"({"num_workers": -1, "prefetch_factor": 0})",
                             R"({"num_workers": 1e300, "batch_size": 99999999})",
                             R"({"num_workers": "4", "multiprocessing_context": "thread"})",
                             R"({"num_workers": 18446744073709551615, "in_order": 0})"}) {
      CAPTURE(text);
      CHECK(FirstOf(text) == LoaderSpec{});
    }
  }

  TEST_CASE("a name that is no text is left out") {
    Run run = JobWith("{}");
    run.info.name = "a\xff";
    CHECK(model::JobSpecOf(run)->name.empty());
  }

  TEST_CASE("no job, or no loader: no settings") {
    Run run = JobWith("{}");
    run.info.job.command.clear();
    CHECK_FALSE(model::JobSpecOf(run).has_value());
    run = JobWith("{}");
    run.loaders.clear();
    CHECK_FALSE(model::JobSpecOf(run).has_value());
  }
}
