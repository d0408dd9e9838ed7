// `stallscope` without arguments: its offers depend on the contents of the folder.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::Has;
using test::ScratchDir;

namespace {

// The program's output in a folder. It offers only commands that exist.
std::string Offered(const ScratchDir& dir) {
  const auto result = test::RunProgram({"sh", "-c", "cd '" + dir.path() + "' && exec stallscope"},
                                       {"PATH=" + test::BuildDir() + "/bin:/usr/bin:/bin"});
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  CHECK(Has(result.out, "stallscope --help"));
  return result.out;
}

void Write(const std::string& path, const std::string& text) {
  REQUIRE(WriteFileAtomically(path, text).ok());
}

void CopySample(const std::string& name, const std::string& to) {
  std::filesystem::copy_file(test::SourceDir() + "/sample_traces/" + name, to);
}

// Later files are newer, however fast they are written.
void MakeOlder(const std::string& path) {
  std::filesystem::last_write_time(path,
                                   std::filesystem::last_write_time(path) - std::chrono::hours(1));
}

constexpr const char* kTraining = "import torch\n\nfor batch in loader:\n    optimizer.step()\n";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("without arguments: an empty folder gets the two commands and an existing sample") {
    const ScratchDir dir;
    const std::string text = Offered(dir);
    CHECK(Has(text, " train.py\n  stallscope analyze run.sst\n"));
    const size_t sample = text.find("input_decode.sst");
    REQUIRE(sample != std::string::npos);
    const size_t begin = text.rfind(' ', sample) + 1;
    CHECK(std::filesystem::exists(text.substr(begin, text.find('\n', begin) - begin)));
  }

  TEST_CASE(
      "without arguments: a training program is distinguished from modules and other scripts") {
    const ScratchDir dir;
    Write(dir / "model.py", "import torch\nclass Net(torch.nn.Module): pass\n");
    Write(dir / "plot.py", "# import torch\nif __name__ == '__main__': print('train')\n");
    CHECK(Has(Offered(dir), "no training program"));
    Write(dir / "fit model.py", "  from tensorflow.keras import layers\nmodel.fit(ds)\n");
    CHECK(Has(Offered(dir), " 'fit model.py'\n"));
    CHECK(Has(Offered(dir), "uses TensorFlow"));
    Write(dir / "train.py", kTraining);
    CHECK(Has(Offered(dir), "train.py uses PyTorch"));
    CHECK(Has(Offered(dir), "stallscope run -- python"));
    CHECK_FALSE(Has(Offered(dir), "model.py"));
  }

  TEST_CASE("without arguments: traces by content, newest first, never overwritten") {
    const ScratchDir dir;
    Write(dir / "train.py", kTraining);
    CopySample("compute.sst", dir / "run.sst");
    MakeOlder(dir / "run.sst");
    CopySample("pytorch_workers_0.json.gz", dir / "profile.json.gz");
    Write(dir / "other.json", R"({"a": 1})");
    Write(dir / "false.sst", "not a trace");
    const std::string text = Offered(dir);
    CHECK(Has(text, "  stallscope analyze profile.json.gz\n"));
    CHECK(Has(text, "  stallscope compare --base run.sst --new profile.json.gz\n"));
    CHECK(Has(text, "  stallscope run -o run2.sst -- python"));
    CHECK_FALSE(Has(text, "other.json"));
    CHECK_FALSE(Has(text, "false.sst"));
    CHECK_FALSE(Has(text, "--budget"));
  }

  TEST_CASE("without arguments: the ranks of a run are analyzed together, not compared") {
    const ScratchDir dir;
    for (const char* rank : {"0", "2", "10"}) {
      CopySample("compute.sst", dir / ("run." + std::string(rank) + ".sst"));
    }
    const std::string text = Offered(dir);
    CHECK(Has(text, "run.0.sst to run.10.sst are the 3 ranks of a run"));
    CHECK(Has(text, "  stallscope analyze run.0.sst run.2.sst run.10.sst\n"));
    CHECK_FALSE(Has(text, "compare"));
    const ScratchDir single;
    CopySample("compute.sst", single / "run.0.sst");
    CopySample("compute.sst", single / "other.1.sst");
    CHECK(Has(Offered(single), "compare --base"));
  }

  TEST_CASE("without arguments: a program changed after the trace is recorded again first") {
    const ScratchDir dir;
    CopySample("compute.sst", dir / "run.sst");
    Write(dir / "train.py", kTraining);
    MakeOlder(dir / "run.sst");
    const std::string text = Offered(dir);
    CHECK(
        text.starts_with("train.py was changed after run.sst was recorded. Record it again, and"));
    CHECK(Has(text, " -o run2.sst -- python"));
    CHECK(Has(text, "  stallscope compare --base run.sst --new run2.sst\n"));
    CHECK(Has(text, "  stallscope analyze run.sst\n"));
    MakeOlder(dir / "train.py");
    MakeOlder(dir / "train.py");
    CHECK(Offered(dir).starts_with("run.sst is a recorded run."));
    CHECK_FALSE(Has(Offered(dir), "was changed"));
  }

  TEST_CASE("without arguments: what is below the folder is offered if nothing is in it") {
    const ScratchDir dir;
    std::filesystem::create_directories(dir / "src");
    std::filesystem::create_directories(dir / "venv/lib");
    std::filesystem::create_directories(dir / "a/b/c");
    Write(dir / "src/train.py", kTraining);
    Write(dir / "venv/pyvenv.cfg", "");
    Write(dir / "venv/lib/train_all.py", kTraining);
    Write(dir / "a/b/c/train_deep.py", kTraining);
    const std::string text = Offered(dir);
    CHECK(Has(text, "stallscope run -- python"));
    CHECK(Has(text, " src/train.py\n"));
    CHECK_FALSE(Has(text, "train_all"));
    CHECK_FALSE(Has(text, "train_deep"));
    // TensorBoard's folders are deeper.
    const std::string profile = "logs/first/plugins/profile/2026_11_24";
    std::filesystem::create_directories(dir / profile);
    CopySample("tf_images_slow.xplane.pb.gz", dir / (profile + "/host.xplane.pb.gz"));
    CHECK(Has(Offered(dir), "  stallscope analyze " + profile + "/host.xplane.pb.gz\n"));
    CopySample("compute.sst", dir / "a/run.sst");
    CHECK_FALSE(Has(Offered(dir), "compare"));
    Write(dir / "main.py", kTraining);
    CHECK_FALSE(Has(Offered(dir), "src/train.py"));
  }

  TEST_CASE("without arguments: a budget and a spec are offered to the commands that read them") {
    const ScratchDir dir;
    CopySample("specs/compute.json", dir / "-spec.json");
    CHECK(Has(Offered(dir), "  stallscope record ./-spec.json -o run.sst\n"));
    CHECK_FALSE(Has(Offered(dir), "is not here"));
    CopySample("compute.sst", dir / "run.sst");
    Write(dir / "limits.json", R"({"schema": "stallscope.budget/1", "checks": []})");
    CHECK(Has(Offered(dir), "  stallscope analyze run.sst --budget limits.json\n"));
  }

  TEST_CASE("without arguments: a spec whose data is not here gets generated data, or a remark") {
    const ScratchDir dir;
    CopySample("specs/input_decode.json", dir / "spec.json");
    CHECK(
        Has(Offered(dir),
            "  stallscope generate data --images 64\n  stallscope record spec.json -o run.sst\n"));
    std::filesystem::create_directories(dir / "data");
    CHECK_FALSE(Has(Offered(dir), "generate"));
    CHECK_FALSE(Has(Offered(dir), "is not here"));
    std::filesystem::remove(dir / "spec.json");
    Write(dir / "table.json",
          R"({"name": "t", "stages": [
              {"name": "read", "source": {"format": "csv", "files": ["/nowhere/*.csv"]}},
              {"name": "batch", "batch": {"size": 4}}]})");
    CHECK(Has(Offered(dir), "Its data, /nowhere/*.csv, is not here."));
    CHECK_FALSE(Has(Offered(dir), "generate"));
  }

  TEST_CASE(
      "without arguments: no name steers the terminal, and no prose is wider than 80 columns") {
    const ScratchDir dir;
    CopySample("compute.sst", dir / "evil\x1b[2J.sst");
    CHECK(Has(Offered(dir), "no training program"));
    const std::string name = std::string(120, 'n') + ".sst";
    CopySample("compute.sst", dir / name);
    const std::string text = Offered(dir);
    CHECK(Has(text, "  stallscope analyze " + name + "\n"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ")) CHECK_MESSAGE(line.size() <= 80, line);
    }
  }
}
