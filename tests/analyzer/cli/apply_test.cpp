// `stallscope apply` changes the user's own file, and no other, after showing the diff.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/job_trace.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using test::Has;
using test::OneLine;
using test::ProgramResult;
using test::RunStallscope;
using test::ScratchDir;

namespace {

constexpr const char* kCall = "loader = DataLoader(Images(), batch_size=16)\n";
constexpr const char* kChanged = "loader = DataLoader(Images(), batch_size=16, num_workers=4)\n";

std::string Script(const std::string& call) {
  std::string text;
  for (int line = 1; line <= 40; ++line) text += "x = " + std::to_string(line) + "\n";
  return text + call + "for batch in loader:\n    train(batch)\n";
}

// A job without workers, whose script is in the folder, and its trace.
class Job {
 public:
  explicit Job(const std::string& call = kCall) {
    REQUIRE(WriteFileAtomically(script(), Script(call)).ok());
    test::JobShape shape;
    shape.workers = 0;
    shape.folder = dir_.path();
    shape.call.line = shape.call.end_line = 41;
    shape.call.column = 9;
    shape.call.end_column = static_cast<uint32_t>(call.rfind(')') + 1);
    shape.call.names = {"DataLoader"};
    shape.call.parameters = {"dataset", "batch_size", "shuffle"};
    shape.call.keywords = {"num_workers"};
    shape.call.source_line = 39;
    shape.call.source = "x = 39\nx = 40\n" + call + "for batch in loader:\n    train(batch)\n";
    test::TraceBuilder trace;
    test::BuildJob(trace, shape);
    trace.Write(dir_ / "run.sst");
  }
  std::string script() const { return dir_ / "train.py"; }
  std::string content() const { return ReadWholeFile(script(), 1 << 20).value(); }
  ProgramResult Apply(std::vector<std::string> options, const std::string& id = "loader-workers") {
    options.insert(options.begin(), {"apply", dir_ / "run.sst", "--finding", id});
    return RunStallscope(options);
  }
  const ScratchDir& dir() const { return dir_; }

 private:
  ScratchDir dir_;
};

// The number of workers depends on the cores of this machine.
std::string WithFour(std::string text) {
  const size_t at = text.find("num_workers=");
  if (at != std::string::npos) text[at + 12] = '4';
  return text;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("apply: shows the diff and writes it; mode and link stay") {
    Job job;
    REQUIRE(chmod(job.script().c_str(), 0750) == 0);
    std::filesystem::rename(job.script(), job.dir() / "real.py");
    std::filesystem::create_symlink("real.py", job.script());
    const ProgramResult done = job.Apply({"--yes"});
    CHECK_MESSAGE(done.exit_code == 0, done.err);
    CHECK(done.out.starts_with("--- a/train.py\n+++ b/train.py\n@@ -39,"));
    CHECK(Has(done.out, std::string("\n-") + kCall));
    CHECK(Has(WithFour(done.out), std::string("\n+") + kChanged));
    CHECK(done.err == "stallscope: changed " + job.script() + "\n");
    CHECK(WithFour(job.content()) == Script(kChanged));
    CHECK(std::filesystem::is_symlink(job.script()));
    struct stat status {};
    REQUIRE(stat(job.script().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0750);

    const ProgramResult again = job.Apply({"--yes"});
    CHECK(again.exit_code == 0);
    CHECK(again.out.empty());
    CHECK(again.err == "stallscope: " + job.script() + " already has this change\n");
    CHECK(WithFour(job.content()) == Script(kChanged));
  }

  TEST_CASE("apply: a patch of settings is written as a finding's change is") {
    Job job;
    const auto apply = [&](const std::string& patch) {
      REQUIRE(WriteFileAtomically(job.dir() / "best.json", patch).ok());
      return RunStallscope(
          {"apply", job.dir() / "run.sst", "--patch", job.dir() / "best.json", "--yes"});
    };
    const ProgramResult unknown = apply(R"([{"op": "set", "path": "job.threads", "value": 1}])");
    CHECK(unknown.exit_code == 2);
    CHECK(OneLine(unknown.err));
    CHECK(Has(unknown.err,
              "best.json: the patch cannot be written as a diff; run the job with "
              "--set job.threads=1"));
    CHECK(job.content() == Script(kCall));
    const ProgramResult done =
        apply(R"([{"op": "set", "path": "loader.num_workers", "value": 4}])");
    CHECK_MESSAGE(done.exit_code == 0, done.err);
    CHECK(job.content() == Script(kChanged));

    for (const std::vector<std::string>& both :
         {std::vector<std::string>{}, {"--finding", "order", "--patch", job.dir() / "best.json"}}) {
      std::vector<std::string> words = {"apply", job.dir() / "run.sst"};
      words.insert(words.end(), both.begin(), both.end());
      const ProgramResult neither = RunStallscope(words);
      CHECK(neither.exit_code == 2);
      CHECK(Has(neither.err, "apply needs either --finding ID or --patch FILE"));
    }
  }

  TEST_CASE("apply: without a terminal and --yes nothing is written") {
    Job job;
    const ProgramResult done = job.Apply({});
    CHECK(done.exit_code == 2);
    CHECK(Has(done.out, "--- a/train.py"));
    CHECK(OneLine(done.err));
    CHECK(Has(done.err, "pass --yes to write it"));
    CHECK(job.content() == Script(kCall));
  }

  TEST_CASE("apply: a file that differs from the recording is not changed") {
    Job job;
    for (const std::string& text :
         {Script("loader = DataLoader(Images(), batch_size=8)\n"), "x = 0\n" + Script(kCall),
          Script(kCall) + "more = 1\n", std::string("x = 1\n"), std::string()}) {
      REQUIRE(WriteFileAtomically(job.script(), text).ok());
      const ProgramResult done = job.Apply({"--yes"});
      if (text == Script(kCall) + "more = 1\n") {  // below what the trace has of it
        CHECK(done.exit_code == 0);
        continue;
      }
      CHECK(done.exit_code == 3);
      CHECK(OneLine(done.err));
      CHECK(Has(done.err, "changed since the recording"));
      CHECK(job.content() == text);
    }
    std::filesystem::remove(job.script());
    const ProgramResult gone = job.Apply({"--yes"});
    CHECK(gone.exit_code == 3);
    CHECK(Has(gone.err, "train.py: file not found"));
    CHECK_FALSE(std::filesystem::exists(job.script()));
    REQUIRE(mkfifo(job.script().c_str(), 0600) == 0);
    CHECK(job.Apply({"--yes"}).exit_code == 3);
  }

  TEST_CASE("apply: a read-only file is not changed, even by root") {
    Job job;
    REQUIRE(chmod(job.script().c_str(), 0444) == 0);
    const ProgramResult done = job.Apply({"--yes"});
    CHECK(done.exit_code == 5);
    CHECK(OneLine(done.err));
    CHECK(Has(done.err, "train.py: read-only"));
    CHECK(job.content() == Script(kCall));
  }

  TEST_CASE("apply: patch applies the diff that it prints to a file, even with DOS line ends") {
    const std::string call = "loader = DataLoader(Images(), batch_size=16)\r\n";
    Job job(call);
    const ProgramResult shown = job.Apply({});
    CHECK(Has(shown.out, "\n-" + call));
    REQUIRE(WriteFileAtomically(job.dir() / "change.diff", shown.out).ok());
    const ProgramResult done = test::RunProgram(
        {"patch", "-p1", "--fuzz=0", "-d", job.dir().path(), "-i", job.dir() / "change.diff"});
    CHECK_MESSAGE(done.exit_code == 0, (done.out + done.err));
    CHECK(Has(job.content(), "batch_size=16, num_workers="));
  }

  TEST_CASE("apply: if a finding changes no line of code, the error says what to do") {
    Job job("loader = DataLoader(Images(), num_workers=args.workers)\n");
    const std::string before = job.content();
    const ProgramResult variable = job.Apply({"--yes"});
    CHECK(variable.exit_code == 2);
    CHECK(OneLine(variable.err));
    CHECK(Has(variable.err, "the call at train.py:41 passes args.workers for num_workers"));
    CHECK(job.content() == before);

    Job other;
    const ProgramResult unknown = other.Apply({"--yes"}, "loader-worker");
    CHECK(unknown.exit_code == 2);
    CHECK(Has(unknown.err, "findings that change code: loader-workers"));
    CHECK(other.Apply({"--yes", "--stage", "collate"}).exit_code == 2);
    CHECK(RunStallscope({"apply", other.dir() / "run.sst"}).exit_code == 2);
    CHECK(RunStallscope({"apply", other.dir() / "none.sst", "--finding", "x"}).exit_code == 3);

    const ProgramResult spec =
        RunStallscope({"apply", test::SourceDir() + "/sample_traces/input_decode.sst", "--finding",
                       "map-parallelism"});
    CHECK(spec.exit_code == 2);
    CHECK(OneLine(spec.err));
    CHECK(Has(spec.err, "record the spec with --set decode.parallelism="));
  }

  TEST_CASE("apply: a recorded job, from its run to its changed file") {
    const ScratchDir dir;
    const std::string script =
        "import time\n"
        "from torch.utils.data import DataLoader\n"
        "class Images:\n"
        "    def __len__(self): return 60\n"
        "    def __getitem__(self, i): time.sleep(0.01); return i\n"
        "loader = DataLoader(\n"
        "    Images(),\n"
        "    batch_size=4,  # small\n"
        ")\n"
        "for batch in loader:\n"
        "    pass\n";
    REQUIRE(WriteFileAtomically(dir / "train.py", script).ok());
    const std::string shim = test::SourceDir() + "/tests/collectors/job/python/";
    const ProgramResult run =
        RunStallscope({"run", "-o", dir / "run.sst", "--", "python3", dir / "train.py"},
                      {"PYTHONPATH=" + shim + "standin"});
    REQUIRE_MESSAGE(run.exit_code == 0, run.err);
    const auto report = nlohmann::json::parse(
        RunStallscope({"analyze", dir / "run.sst", "--format", "json", "--no-price"}).out);
    bool found = false;
    for (const auto& finding : report["findings"]) {
      if (finding["id"] != "loader-workers") continue;
      found = true;
      CHECK(finding["where"]["file"] == dir / "train.py");
      CHECK(finding["where"]["line"] == 6);
      REQUIRE(finding["diff"].is_string());
    }
    REQUIRE(found);
    const ProgramResult done =
        RunStallscope({"apply", dir / "run.sst", "--finding", "loader-workers", "--yes"});
    CHECK_MESSAGE(done.exit_code == 0, done.err);
    const std::string changed = ReadWholeFile(dir / "train.py", 1 << 20).value();
    CHECK(Has(changed, "    batch_size=4,  # small\n    num_workers="));
    CHECK(Has(changed, ",\n)\nfor batch in loader:\n"));
    CHECK(test::RunProgram(
              {"python3", "-c", "import ast; ast.parse(open('" + (dir / "train.py") + "').read())"})
              .exit_code == 0);
  }
}
