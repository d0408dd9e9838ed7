#include "collectors/job/job_names.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::job;

namespace {

struct NamesFolder {
  test::ScratchDir dir;
  int fd = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  recorder::DefinitionTable table{trace::RunInfo{}};
  JobNames names{table, fd};
  ~NamesFolder() { close(fd); }

  void Append(const recorder::ProcessKey& key, const std::string& lines) {
    std::ofstream(dir / recorder::NamesFileOf(key), std::ios::app | std::ios::binary) << lines;
  }
};

constexpr recorder::ProcessKey kMain{10, 1};
constexpr recorder::ProcessKey kWorker{11, 2};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("lines of a function are summed over processes; invalid ones are not") {
    NamesFolder f;
    const auto main = f.names.ProcessOf(kMain);
    const auto worker = f.names.ProcessOf(kWorker);
    main->CatchUpWith(
        R"({"lines": {"file": "/a.py", "first": 3, "lines": [[5, 70, 2], [4, 30, 2]]}})"
        "\n");
    CHECK(f.table.TakeNew().code_lines.size() == 1);
    worker->CatchUpWith(R"({"lines": {"file": "/a.py", "first": 3, "lines": [[5, 5, 1]]}})"
                        "\n");
    const auto lines = f.table.TakeNew().code_lines;
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == trace::CodeLines{"/a.py", 3, {{4, 30, 2}, {5, 75, 3}}});
    CHECK(f.names.bad_lines() == 0);
    for (const char* bad :
         {R"({"lines": {"file": "/a.py", "first": 3, "lines": [[5, -1, 1]]}})",
          R"({"lines": {"file": "/a.py", "first": 3, "lines": [[0, 1, 1]]}})",
          R"({"lines": {"file": "/a.py", "first": 3, "lines": [[5, 1]]}})",
          R"({"lines": {"file": "", "first": 3, "lines": []}})", R"({"lines": 5})"}) {
      worker->CatchUpWith(bad + std::string("\n"));
    }
    CHECK(f.names.bad_lines() == 5);
    CHECK(f.table.TakeNew().code_lines.empty());
  }

  TEST_CASE("a tf.data pipeline works in threads of its own, a DataLoader does not") {
    NamesFolder f;
    const auto native = f.names.ProcessOf(kMain);
    const auto other = f.names.ProcessOf(kWorker);
    native->CatchUpWith("{\"stage\": {\"id\": 0, \"name\": \"tf.data\", \"kind\": \"tf.data\"}}\n");
    other->CatchUpWith("{\"stage\": {\"id\": 0, \"name\": \"fetch\", \"kind\": \"map\"}}\n");
    CHECK(native->has_native_loader());
    CHECK_FALSE(other->has_native_loader());
  }

  TEST_CASE("stages of one loader's processes are one stage") {
    NamesFolder f;
    f.Append(kMain,
             R"({"process": {"pid": 10, "parent": 1, "name": "train.py", "python": "3.11.2"}}
{"loader": {"id": 1, "kind": "DataLoader", "where": {"file": "/a.py", "line": 3}}}
{"queue": {"id": 0, "name": "loader", "capacity": 4, "loader": 1}}
{"stage": {"id": 5, "name": "fetch", "kind": "map", "loader": 1, "workers": 2, "queue": 0}}
)");
    f.Append(
        kWorker,
        R"({"process": {"pid": 11, "parent": 10, "name": "worker 0", "rank": 3, "ranks_of_host": 4}}
{"loader": {"id": 0, "owner": "10.1", "number": 1}}
{"stage": {"id": 0, "name": "fetch", "loader": 0}}
{"stage": {"id": 1, "name": "collate", "loader": 0, "inputs": [0]}}
)");
    const auto worker = f.names.ProcessOf(kWorker);
    const auto main = f.names.ProcessOf(kMain);
    const recorder::IdMap& in_main = main->CatchUp();
    const recorder::IdMap& in_worker = worker->CatchUp();
    CHECK(in_main.loaders.at(1) == in_worker.loaders.at(0));
    CHECK(in_main.stages.at(5) == in_worker.stages.at(0));
    CHECK_FALSE(in_main.stages.at(0).known());
    const trace::Definitions all = f.table.TakeNew();
    REQUIRE(all.stages.size() == 2);
    CHECK(all.stages[0].kind == "map");
    CHECK(all.stages[0].workers == 2);
    CHECK(all.stages[0].queue == in_main.queues.at(0));
    CHECK(all.stages[1].inputs == std::vector<StageId>{all.stages[0].id});
    REQUIRE(all.loaders.size() == 1);
    CHECK(all.loaders[0].process == main->id());
    CHECK(all.loaders[0].file == "/a.py");
    CHECK(all.run->job.python == "3.11.2");
    REQUIRE(all.processes.size() == 2);
    for (const trace::ProcessInfo& process : all.processes) {
      CHECK(process.rank == (process.pid == 11 ? std::optional<uint32_t>(3) : std::nullopt));
      CHECK(process.ranks_of_host == (process.pid == 11 ? 4 : 0));
    }
    CHECK(f.names.bad_lines() == 0);
  }

  TEST_CASE("the call that constructs a loader is taken without lines that may hold a secret") {
    const auto call_of = [](const std::string& source, const std::string& place) {
      NamesFolder f;
      f.Append(
          kMain,
          R"({"loader": {"id": 0, "where": {"file": "/a.py", "line": 12, "call": {)" + place +
              R"("names": ["DataLoader"], "parameters": ["dataset"], "keywords": ["in_order"], "any_keyword": true, "source_line": 10, "source": ")" +
              source + R"("}}}})" + "\n");
      f.names.ProcessOf(kMain)->CatchUp();
      return f.table.TakeNew().loaders.at(0).call;
    };
    const std::string place = R"("line": 12, "column": 4, "end_line": 13, "end_column": 1,)";
    const trace::CallSite whole = call_of(R"(a\nb\nc(\n)\nd)", place);
    CHECK(whole.source == "a\nb\nc(\n)\nd");
    CHECK(whole.source_line == 10);
    CHECK(whole.end_line == 13);
    CHECK(whole.names == std::vector<std::string>{"DataLoader"});
    CHECK(whole.any_keyword);
    const trace::CallSite above = call_of(R"(api_key = 'x'\nb\nc(\n)\nd)", place);
    CHECK(above.source == "b\nc(\n)\nd");
    CHECK(above.source_line == 11);
    CHECK(call_of(R"(b\na\nc(\n)\nd\ne\nf\ntoken: 'x'\ng)", place).source ==
          "b\na\nc(\n)\nd\ne\nf\n");
    // With fewer lines after it, the file would seem to end there.
    CHECK(call_of(R"(b\na\nc(\n)\nd\ne\ntoken: 'x'\ng)", place).source.empty());
    const trace::CallSite inside = call_of(R"(a\nb\nc(\ntoken='x')\nd)", place);
    CHECK(inside.source.empty());
    CHECK(inside.source_line == 0);
    CHECK(inside.line == 12);
    CHECK(call_of(R"(a\nb\nc(token=1)\nd)", "").source.empty());
    CHECK(call_of(std::string(5000, 'x'), place).source.empty());
  }

  TEST_CASE("loaders of two processes are two, and so are their stages") {
    NamesFolder f;
    for (const recorder::ProcessKey& key : {kMain, kWorker}) {
      f.Append(key, R"({"loader": {"id": 0}})"
                    "\n"
                    R"({"stage": {"id": 0, "name": "fetch", "loader": 0}})"
                    "\n");
    }
    const StageId one = f.names.ProcessOf(kMain)->CatchUp().stages.at(0);
    const StageId other = f.names.ProcessOf(kWorker)->CatchUp().stages.at(0);
    CHECK(one != other);
  }

  TEST_CASE("names are read as they are appended, whole lines only") {
    NamesFolder f;
    const auto process = f.names.ProcessOf(kMain);
    CHECK(process->CatchUp().strings.empty());
    f.Append(kMain, R"({"string": {"id": 0, "te)");
    CHECK(process->CatchUp().strings.empty());
    f.Append(kMain, R"(xt": "a"}})"
                    "\n"
                    R"({"op": {"id": 1, "name": "Resize", "file": "/a.py", "line": 3}})"
                    "\n"
                    R"({"op": {"id": 2, "name": "Resize", "file": "/b.py", "line": 4}})"
                    "\n");
    const recorder::IdMap& ids = process->CatchUp();
    REQUIRE(ids.strings.size() == 3);
    CHECK(f.table.String(ids.strings[0]) == "a");
    CHECK(f.table.String(ids.strings[1]) == "Resize");
    CHECK(f.table.String(ids.strings[2]) == "Resize (b.py:4)");
    CHECK(f.names.bad_lines() == 0);
  }

  TEST_CASE("a track gets the name that its process gives it, before and after its ring") {
    NamesFolder f;
    const auto process = f.names.ProcessOf(kMain, {.name = "train.py"});
    const TrackId early = process->TrackOf({kMain, 10, 0, recorder::TickSource::kMonotonic});
    CHECK(f.table.TrackName(early) == "train.py");
    const TrackId other = process->TrackOf({kMain, 12, 0, recorder::TickSource::kMonotonic});
    CHECK(f.table.TrackName(other) == "train.py, thread 12");
    f.Append(kMain, R"({"track": {"id": 0, "tid": 12, "name": "pin"}})"
                    "\n"
                    R"({"track": {"id": 1, "tid": 13, "name": "x"}})"
                    "\n");
    process->CatchUp();
    CHECK(f.table.TrackName(other) == "pin");
    CHECK(process->TrackOf({kMain, 12, 0, recorder::TickSource::kMonotonic}) == other);
    const TrackId named = process->TrackOf({kMain, 0, 2, recorder::TickSource::kMonotonic});
    CHECK(f.table.TrackName(named) == "x");
    CHECK_FALSE(process->TrackOf({kMain, 0, 9, recorder::TickSource::kMonotonic}).known());
  }

  TEST_CASE("lines that make no sense are ignored and counted") {
    const std::vector<std::string> bad{
        "",
        "x",
        "[]",
        "5",
        "{}",
        R"({"stage": 5})",
        R"({"stage": {}, "queue": {}})",
        R"({"stage": {"id": 0}})",
        R"({"stage": {"id": -1, "name": "a"}})",
        R"({"stage": {"id": 1.5, "name": "a"}})",
        R"({"stage": {"id": 5000, "name": "a"}})",
        R"({"stage": {"id": 0, "name": 7}})",
        R"({"queue": {"id": 9000, "name": "a"}})",
        R"({"string": {"id": 0}})",
        R"({"string": {"id": 1048576, "text": "a"}})",
        R"({"op": {"id": 0, "name": ""}})",
        R"({"counter": {"id": 99999, "name": "a"}})",
        R"({"track": {"id": 65536, "name": "a"}})",
        R"({"track": {"id": 0, "kind": 9}})",
        R"({"loader": {"id": 1024}})",
        R"({"loader": {"id": 0, "owner": "x", "number": 0}})",
        R"({"loader": {"id": 0, "owner": "1.2.3", "number": 0}})",
        R"({"process": {"pid": 99}})",
        R"({"framework": {"name": 5}})",
        R"({"said": {}})",
        R"({"ended": 1})",
        R"({"digest": {"loader": 0, "hash": "00000000000000000000000000000000"}})",
        R"({"digest": 5})",
        std::string(70'000, ' ') + R"({"string": {"id": 0, "text": "a"}})",
        std::string(60'000, '['),
        std::string(200'000, '\0')};
    for (const std::string& line : bad) {
      NamesFolder f;
      CAPTURE(line.substr(0, 60));
      f.Append(kMain, line + "\n" + R"({"string": {"id": 0, "text": "after"}})" + "\n");
      const auto process = f.names.ProcessOf(kMain);
      const recorder::IdMap& ids = process->CatchUp();
      CHECK(f.names.bad_lines() == 1);
      REQUIRE(ids.strings.size() >= 1);
      CHECK(f.table.String(ids.strings[0]) == "after");
    }
    NamesFolder f;
    f.Append(kMain, R"({"later": {"version": 2}})"
                    "\n");
    f.names.ProcessOf(kMain)->CatchUp();
    CHECK(f.names.bad_lines() == 0);
  }

  TEST_CASE("digests of loaders are taken, the last one of a line") {
    NamesFolder f;
    const std::string loader = R"({"loader": {"id": 0, "where": {"file": "/a.py", "line": 3}}})"
                               "\n";
    const auto digest = [](const std::string& hash, const std::string& batches) {
      return R"({"digest": {"loader": 0, "hash": ")" + hash + R"(", "batches": )" + batches +
             R"(, "steps": 2, "ns": 9, "ordered": true, "missing": ["objects of class A", 5]}})" +
             "\n";
    };
    const std::string hash(32, 'b');
    f.Append(kMain, loader + digest(std::string(32, 'a'), "1") + digest(hash, "2"));
    f.Append(kWorker, loader + digest(std::string(31, 'a'), "1") + digest(hash, "-1"));
    for (const recorder::ProcessKey& key : {kMain, kWorker}) f.names.ProcessOf(key)->CatchUp();
    const auto digests = f.names.digests();
    REQUIRE(digests.size() == 2);
    CHECK(digests[0].hash == hash);
    CHECK(digests[0].batches == 2);
    CHECK(digests[0].steps == 2);
    CHECK(digests[0].missing == std::vector<std::string>{"objects of class A"});
    CHECK(digests[0].place == digests[1].place);
    CHECK(digests[1].batches == 0);
    CHECK(f.names.bad_lines() == 1);
  }

  TEST_CASE("profiles are taken in order of time, only from the process's own files") {
    NamesFolder f;
    const auto profile = [](const std::string& file, const std::string& times) {
      return R"({"profile": {"file": ")" + file + R"(", "kind": "xplane", )" + times + "}}\n";
    };
    f.Append(kMain, profile("10.1.1.profile", R"("from": 50, "to": 90)") +
                        profile("10.1.0.profile", R"("from": 5, "to": 9)"));
    f.Append(kWorker, profile("10.1.0.profile", R"("from": 5, "to": 9)") +
                          profile("11.2.../../passwd.profile", R"("from": 5, "to": 9)") +
                          profile("11.2.0.profile", R"("from": 9, "to": 9)") +
                          profile("11.2.0.profile", R"("from": -1, "to": 9)") +
                          profile("11.2.0.ring", R"("from": 5, "to": 9)") +
                          profile("11.2..profile", R"("from": 5, "to": 9)"));
    f.names.ProcessOf(kWorker)->CatchUp();
    f.names.ProcessOf(kMain)->CatchUp();
    const auto profiles = f.names.profiles();
    REQUIRE(profiles.size() == 2);
    CHECK(profiles[0].file == "10.1.0.profile");
    CHECK(profiles[0].pid == 10);
    CHECK(profiles[0].from_ns == 5);
    CHECK(profiles[0].to_ns == 9);
    CHECK(profiles[1].file == "10.1.1.profile");
    CHECK(f.names.bad_lines() == 6);
  }

  TEST_CASE("slowed windows: as the trainer confirms, with the delays of all processes") {
    NamesFolder f;
    const std::string loader = R"({"loader": {"id": 0, "owner": "10.1", "number": 0}}
{"stage": {"id": 0, "name": "fetch", "loader": 0}}
)";
    const auto slowed = [](const std::string& window, const std::string& paid) {
      return R"({"slowed": {)" + window + ", " + paid + "}}\n";
    };
    const std::string first = R"("from": 100, "to": 200)";
    const std::string second = R"("from": 200, "to": 300)";
    f.Append(kWorker, loader + slowed(first, R"("elements": 1, "work": 40, "delay": 10)") +
                          slowed(first, R"("elements": 1, "work": 20, "delay": 6)") +
                          slowed(R"("from": 900, "to": 950)", R"("elements": 1, "work": 9)") +
                          slowed(R"("from": 9, "to": 9)", R"("elements": 1)"));
    f.Append(kMain, loader + R"({"probe": {"from": 200, "to": 300}})" + "\n" +
                        R"({"probe": {"from": 100, "to": 200, "stage": 0}})" + "\n" +
                        R"({"probe": {"from": 300, "to": 400, "stage": 7}})" + "\n" +
                        R"({"probe": {"from": 400, "to": 500, "stage": 0}})" + "\n" +
                        slowed(first, R"("elements": 1, "work": -5, "delay": 4)") +
                        slowed(second, R"("elements": 1, "work": 5, "delay": 4)"));
    for (const recorder::ProcessKey& key : {kWorker, kMain}) f.names.ProcessOf(key)->CatchUp();
    const std::vector<trace::Probe> windows = f.names.probes();
    const StageId fetch = f.table.TakeNew().stages.front().id;
    // The trainer's process does not know of the third one; nothing was to be slowed in the second,
    // and nothing was in the fourth.
    REQUIRE(windows.size() == 3);
    CHECK(windows[0] == trace::Probe{100, 200, fetch, 3, 60, 20});
    CHECK(windows[1] == trace::Probe{200, 300, StageId::None(), 0, 0, 0});
    CHECK(windows[2] == trace::Probe{400, 500, StageId::None(), 0, 0, 0});
    CHECK(f.names.bad_lines() == 2);
  }

  TEST_CASE("sentences of many processes are said once") {
    NamesFolder f;
    for (const recorder::ProcessKey& key : {kMain, kWorker}) {
      f.Append(key, "{\"said\": \"python -I is not seen\"}\n");
      f.names.ProcessOf(key)->CatchUp();
    }
    CHECK(f.table.TakeNew().run->warnings == std::vector<std::string>{"python -I is not seen"});
  }
}
