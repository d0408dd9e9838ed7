// Calls as people write them, with « and » around the one that constructs the loader, and their
// changed forms. Each change also goes through `patch`, and Python parses the result.
#include "analyzer/findings/source_change.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/findings/python_call.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using findings::ChangedLines;
using findings::SourceChange;
using test::Has;

namespace {

constexpr const char* kFolder = "/home/u/job";

std::string Without(std::string text, const std::string& what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.erase(at, what.size());
  }
  return text;
}

// Line and column of an offset.
std::pair<uint32_t, uint32_t> PlaceIn(const std::string& text, size_t offset) {
  const std::string before = text.substr(0, offset);
  const auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
  return {line, static_cast<uint32_t>(offset - (before.rfind('\n') + 1))};
}

model::Loader LoaderOf(const std::string& marked, const std::string& name = "loader") {
  model::Loader loader;
  loader.name = name;
  trace::LoaderInfo& info = loader.info;
  info.file = std::string(kFolder) + "/train.py";
  info.call.source = Without(Without(marked, "«"), "»");
  info.call.source_line = 1;
  info.call.names = {"DataLoader"};
  info.call.parameters = {"dataset", "batch_size",    "shuffle",
                          "sampler", "batch_sampler", "num_workers"};
  info.call.keywords = {"prefetch_factor", "persistent_workers"};
  const size_t begin = marked.find("«");
  const std::string open = Without(marked, "«");
  const auto [line, column] = PlaceIn(info.call.source, begin);
  info.line = line;
  if (open.find("»") == std::string::npos) return loader;  // as before Python 3.11
  info.call.line = line;
  info.call.column = column;
  std::tie(info.call.end_line, info.call.end_column) = PlaceIn(info.call.source, open.find("»"));
  return loader;
}

model::Run RunOf(std::vector<model::Loader> loaders) {
  model::Run run;
  run.info.job.command = {"python", "train.py"};
  run.info.folder = kFolder;
  run.loaders = std::move(loaders);
  return run;
}

Patch Set(const std::string& path, int64_t value) { return {{SetTo(path, value)}}; }
const Patch kFourWorkers = Set("loader.num_workers", 4);

SourceChange ChangeOf(const std::string& marked, const Patch& patch = kFourWorkers) {
  const auto changes = findings::SourceChangesOf(RunOf({LoaderOf(marked)}), patch);
  REQUIRE(changes.size() == 1);
  return changes[0];
}

struct Shape {
  const char* what;
  std::string before;  // marked
  std::string after;
};

std::vector<Shape> Shapes() {
  return {
      {"one line", "l = «DataLoader(ds, batch_size=8)»\n",
       "l = DataLoader(ds, batch_size=8, num_workers=4)\n"},
      {"replaced", "l = «DataLoader(ds, num_workers=0, shuffle=True)»\n",
       "l = DataLoader(ds, num_workers=4, shuffle=True)\n"},
      {"replaced by position", "l = «DataLoader(ds, 8, True, None, None, 2)»\n",
       "l = DataLoader(ds, 8, True, None, None, 4)\n"},
      {"blanks around =", "l = «DataLoader(ds, batch_size = 8)»\n",
       "l = DataLoader(ds, batch_size = 8, num_workers = 4)\n"},
      {"a trailing comma", "l = «DataLoader(ds, batch_size=8,)»\n",
       "l = DataLoader(ds, batch_size=8, num_workers=4,)\n"},
      {"an attribute", "l = «torch.utils.data.DataLoader(ds)»\n",
       "l = torch.utils.data.DataLoader(ds, num_workers=4)\n"},
      {"one argument per line", "l = «DataLoader(\n    ds,\n    batch_size=8,\n)»\n",
       "l = DataLoader(\n    ds,\n    batch_size=8,\n    num_workers=4,\n)\n"},
      {"one argument per line, without a trailing comma",
       "l = «DataLoader(\n    ds,\n    batch_size=8\n)»\n",
       "l = DataLoader(\n    ds,\n    batch_size=8,\n    num_workers=4\n)\n"},
      {"aligned with the bracket", "l = «DataLoader(ds,\n               batch_size=8)»\n",
       "l = DataLoader(ds,\n               batch_size=8,\n               num_workers=4)\n"},
      {"comments",
       "l = «DataLoader(\n    ds,  # all, (\n    batch_size=8,  # small, so\n    # the end\n)»\n",
       "l = DataLoader(\n    ds,  # all, (\n    batch_size=8,  # small, so\n    num_workers=4,\n   "
       " "
       "# the end\n)\n"},
      {"a comment without a comma before it",
       "l = «DataLoader(\n    ds,\n    batch_size=8  # small\n)»\n",
       "l = DataLoader(\n    ds,\n    batch_size=8,  # small\n    num_workers=4\n)\n"},
      {"several arguments per line", "l = «DataLoader(\n    ds, batch_size=8, shuffle=True\n)»\n",
       "l = DataLoader(\n    ds, batch_size=8, shuffle=True, num_workers=4\n)\n"},
      {"a line that gets too long",
       "loader = «DataLoader(dataset_of_images, batch_size=batch_size, shuffle=True)»\n",
       "loader = DataLoader(dataset_of_images, batch_size=batch_size, shuffle=True,\n"
       "                    num_workers=4)\n"},
      {"tabs", "if x:\n\tl = «DataLoader(\n\t\tds,\n\t\tbatch_size=8,\n\t)»\n",
       "if x:\n\tl = DataLoader(\n\t\tds,\n\t\tbatch_size=8,\n\t\tnum_workers=4,\n\t)\n"},
      {"a lambda with commas", "l = «DataLoader(ds, collate_fn=lambda a, b=1: (a, b))»\n",
       "l = DataLoader(ds, collate_fn=lambda a, b=1: (a, b), num_workers=4)\n"},
      {"strings that look like code",
       "l = «DataLoader(D(',)#', f\"{x['a)']:>{w}},(\", r'\\\\'), "
       "collate_fn=f(\"\"\"a)\n\"\"\"))»\n",
       "l = DataLoader(D(',)#', f\"{x['a)']:>{w}},(\", r'\\\\'), collate_fn=f(\"\"\"a)\n\"\"\"), "
       "num_workers=4)\n"},
      {"stars where the name is by keyword alone", "l = «DataLoader(*args)»\n",
       "l = DataLoader(*args, prefetch_factor=4)\n"},
      {"nested, another line's", "f(«DataLoader(ds)», 3)\n",
       "f(DataLoader(ds, num_workers=4), 3)\n"},
      {"two on one line", "a, b = DataLoader(x), «DataLoader(y)»\n",
       "a, b = DataLoader(x), DataLoader(y, num_workers=4)\n"},
      {"a loop over it", "for x in «DataLoader(ds, 8)»:\n    pass\n",
       "for x in DataLoader(ds, 8, num_workers=4):\n    pass\n"},
      {"bytes before it", "s = 'äöü'; l = «DataLoader(ds)»\n",
       "s = 'äöü'; l = DataLoader(ds, num_workers=4)\n"},
      {"no line end", "l = «DataLoader(ds)»", "l = DataLoader(ds, num_workers=4)"},
      {"DOS lines", "x = 1\r\nl = «DataLoader(\r\n    ds,\r\n    shuffle=True\r\n)»\r\ny = 2\r\n",
       "x = 1\r\nl = DataLoader(\r\n    ds,\r\n    shuffle=True,\r\n    num_workers=4\r\n)\r\ny = "
       "2\r\n"},
      {"a backslash before the bracket", "l = «DataLoader \\\n    (ds, batch_size=8)»\n",
       "l = DataLoader \\\n    (ds, batch_size=8, num_workers=4)\n"},
      {"a backslash between arguments", "l = «DataLoader(ds, \\\n               shuffle=True)»\n",
       "l = DataLoader(ds, \\\n               shuffle=True,\n               num_workers=4)\n"},
      {"a walrus around it and in it",
       "if (l := «DataLoader(d := f(), shuffle=True)»):\n    pass\n",
       "if (l := DataLoader(d := f(), shuffle=True, num_workers=4)):\n    pass\n"},
      {"in a decorator", "@over(«DataLoader(ds)»)\ndef f(): pass\n",
       "@over(DataLoader(ds, num_workers=4))\ndef f(): pass\n"},
      {"a keyword beside **", "l = «DataLoader(ds, num_workers=0, **options)»\n",
       "l = DataLoader(ds, num_workers=4, **options)\n"},
      {"no end known", "a = 1\nl = «DataLoader(ds,\n    8)\nb = 2\n",
       "a = 1\nl = DataLoader(ds,\n    8,\n    num_workers=4)\nb = 2\n"},
      {"no blank behind a comma", "l = «DataLoader(ds,batch_size=8,shuffle=True)»\n",
       "l = DataLoader(ds,batch_size=8,shuffle=True,num_workers=4)\n"},
      {"a comma without a blank in an argument alone", "l = «DataLoader(f(a,b), 8)»\n",
       "l = DataLoader(f(a,b), 8, num_workers=4)\n"},
      {"an equality is no keyword", "l = «DataLoader(num_workers == 2, a <= 1)»\n",
       "l = DataLoader(num_workers == 2, a <= 1, num_workers=4)\n"},
      {"in the middle of a file",
       "a = 1\nb = 2\nc = 3\nd = 4\nl = «DataLoader(ds)»\ne = 5\nf = 6\ng = 7\nh = 8\n",
       "a = 1\nb = 2\nc = 3\nd = 4\nl = DataLoader(ds, num_workers=4)\ne = 5\nf = 6\ng = 7\nh = "
       "8\n"},
  };
}

// The whole file after a change.
std::string AfterOf(const SourceChange& change) {
  REQUIRE(change.lines.size() == 1);
  return change.lines[0].after;
}

Patch PatchFor(const Shape& shape) {
  return Has(shape.after, "prefetch_factor") ? Set("loader.prefetch_factor", 4) : kFourWorkers;
}

void CheckRefused(const std::string& marked, const std::string& why,
                  const Patch& patch = kFourWorkers) {
  CAPTURE(marked);
  const SourceChange change = ChangeOf(marked, patch);
  CHECK(change.diff.empty());
  CHECK(change.lines.empty());
  REQUIRE(change.by_hand.size() == 1);
  CHECK_MESSAGE(Has(change.by_hand[0], why), change.by_hand[0]);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("source change: the number of math threads is to be exported") {
    Patch patch = kFourWorkers;
    const std::string call = "loader = «DataLoader(data, num_workers=0)»\n";
    CHECK(ChangeOf(call, patch).by_hand.empty());
    patch.changes.emplace_back(SetTo("job.threads", int64_t{1}));
    const SourceChange change = ChangeOf(call, patch);
    CHECK(Has(change.diff, "num_workers=4"));
    REQUIRE(change.by_hand.size() == 1);
    CHECK(change.by_hand[0] ==
          "before Python starts, for the trainer as well: export OMP_NUM_THREADS=1 "
          "MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1 "
          "VECLIB_MAXIMUM_THREADS=1");
  }

  TEST_CASE("source change: in the style of the call") {
    for (const Shape& shape : Shapes()) {
      CAPTURE(shape.what);
      const SourceChange change = ChangeOf(shape.before, PatchFor(shape));
      CHECK(change.by_hand.empty());
      CHECK(AfterOf(change) == shape.after);
    }
  }

  TEST_CASE("source change: patch applies the diff, and Python reads the result") {
    test::ScratchDir dir;
    std::string check = "import ast\n";
    size_t number = 0;
    for (const Shape& shape : Shapes()) {
      CAPTURE(shape.what);
      const std::string folder = dir / ("shape" + std::to_string(number++));
      REQUIRE(test::RunProgram({"mkdir", folder}).exit_code == 0);
      const SourceChange change = ChangeOf(shape.before, PatchFor(shape));
      REQUIRE(
          WriteFileAtomically(folder + "/train.py", Without(Without(shape.before, "«"), "»")).ok());
      REQUIRE(WriteFileAtomically(folder + "/change.diff", change.diff).ok());
      for (const char* const dry : {"--dry-run", "-s"}) {
        const auto done = test::RunProgram(
            {"patch", "-p1", dry, "--fuzz=0", "-d", folder, "-i", folder + "/change.diff"});
        CHECK_MESSAGE(done.exit_code == 0, (done.out + done.err + change.diff));
      }
      CHECK(ReadWholeFile(folder + "/train.py", 1 << 20).value() == shape.after);
      check += "calls = [n for n in ast.walk(ast.parse(open(" + ("'" + folder + "/train.py'") +
               ", newline='').read())) if isinstance(n, ast.Call)]\n"
               "assert any(k.arg in ('num_workers', 'prefetch_factor') and k.value.value == 4 for "
               "c in calls for k in c.keywords) or any(len(c.args) == 6 and c.args[5].value == 4 "
               "for c in calls), " +
               std::to_string(number) + "\n";
    }
    const auto read = test::RunProgram({"python3", "-c", check});
    CHECK_MESSAGE(read.exit_code == 0, read.err);
  }

  TEST_CASE("source change: a value that is not literal is reported, not changed") {
    CheckRefused("l = «DataLoader(ds, num_workers=args.workers)»\n",
                 "set num_workers=4 by hand: the call at train.py:1 passes args.workers for "
                 "num_workers");
    CheckRefused("l = «DataLoader(ds, num_workers=2 * 4)»\n", "passes 2 * 4 for num_workers");
    CheckRefused("l = «DataLoader(ds, 8, True, None, None, n)»\n", "passes n for num_workers");
    CheckRefused("l = «DataLoader(ds, num_workers=f'{n}')»\n", "passes f'{n}' for num_workers");
    CheckRefused("l = «DataLoader(ds, **options)»\n", "passes **options");
    CheckRefused("l = «DataLoader(*args)»\n", "passes *args");
    CheckRefused("l = «DataLoader(x for x in y)»\n", "passes a generator");
    CheckRefused("l = «DataLoader(ds)»\n", "goes to a constructor that takes no in_order",
                 {{SetTo("loader.in_order", false)}});
    CheckRefused("l = «DataLoader(ds, batch_sampler=s)»\n", "passes a batch_sampler",
                 Set("loader.batch_size", 32));
  }

  TEST_CASE("source change: a call to anything but the class is not changed") {
    CheckRefused("l = «make(ds)»\n", "the call at train.py:1 is not a plain call to DataLoader");
    CheckRefused("l = «list(map(DataLoader, sets))»\n", "is not a plain call to DataLoader");
    CheckRefused("l = «partial(DataLoader, ds)()»\n", "is not a plain call to DataLoader");
    CheckRefused("l = «loaders[0](ds)»\n", "is not a plain call to DataLoader");
    CheckRefused("a, b = «DataLoader(x), DataLoader(y)\n", "is not a plain call to DataLoader");
    CheckRefused("l = «DataLoader(ds» , 3)\n", "is not a plain call to DataLoader");
    CheckRefused("l = «DataLoader(ds, 'a)»\n", "is not a plain call to DataLoader");
  }

  TEST_CASE("source change: without the source, or the call, the place is given") {
    model::Loader loader = LoaderOf("l = «DataLoader(ds)»\n");
    loader.info.call.source.clear();
    auto changes = findings::SourceChangesOf(RunOf({loader}), kFourWorkers);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].by_hand ==
          std::vector<std::string>{
              "set num_workers=4 at train.py:1: the trace does not have these lines"});
    loader.info.call = {};
    changes = findings::SourceChangesOf(RunOf({loader}), kFourWorkers);
    CHECK(changes[0].by_hand ==
          std::vector<std::string>{
              "set num_workers=4 where loader is constructed, in code that train.py:1 calls"});
    model::Run trainer = RunOf({loader});
    trainer.info.job.frameworks = {{"torch", "2.9.0"}, {"transformers", "5.0.0"}};
    Patch patch = kFourWorkers;
    patch.changes.emplace_back(SetTo("loader.batch_size", 8));
    changes = findings::SourceChangesOf(trainer, patch);
    CHECK(changes[0].by_hand ==
          std::vector<std::string>{
              "set dataloader_num_workers=4, per_device_train_batch_size=8 in TrainingArguments: "
              "the Trainer constructs loader"});
    CHECK(findings::SourceChangesOf(RunOf({loader}), Set("decode.parallelism", 4)).empty());
    model::Run pipeline = RunOf({loader});
    pipeline.info.job = {};
    CHECK(findings::SourceChangesOf(pipeline, kFourWorkers).empty());
  }

  TEST_CASE("source change: no workers, and no argument that needs them") {
    const Patch none = Set("loader.num_workers", 0);
    CHECK(AfterOf(ChangeOf("l = «DataLoader(ds, num_workers=2, prefetch_factor=4,\n"
                           "               persistent_workers=True, shuffle=True)»\n",
                           none)) == "l = DataLoader(ds, num_workers=0, shuffle=True)\n");
    CheckRefused("l = «DataLoader(\n  ds,\n  num_workers=2,  # few\n  prefetch_factor=2)»\n",
                 "has a comment before prefetch_factor", none);
  }

  TEST_CASE("source change: several settings, and several loaders of a file") {
    Patch patch = kFourWorkers;
    patch.changes.emplace_back(SetTo("loader.multiprocessing_context", "spawn"));
    model::Loader single = LoaderOf("l = «DataLoader(ds, 8, name='x')»\n");
    single.info.call.any_keyword = true;
    auto changes = findings::SourceChangesOf(RunOf({single}), patch);
    CHECK(AfterOf(changes[0]) ==
          "l = DataLoader(ds, 8, name='x', num_workers=4, multiprocessing_context='spawn')\n");

    const std::string file =
        "import torch\na = DataLoader(x)\nb = 1\nc = 2\nd = DataLoader(\n    y,\n    8,\n)\ne = "
        "3\n";
    const std::string first = "import torch\na = «DataLoader(x)»\nb = 1\nc = 2\n";
    std::string second = file;
    second.insert(second.find("DataLoader(\n"), "«");
    second.insert(second.find(")\ne"), "");
    second.insert(second.find(")\ne") + 1, "»");
    patch = kFourWorkers;
    patch.changes.emplace_back(SetTo("loader2.num_workers", 2));
    changes =
        findings::SourceChangesOf(RunOf({LoaderOf(first), LoaderOf(second, "loader2")}), patch);
    REQUIRE(changes.size() == 1);
    CHECK(
        AfterOf(changes[0]) ==
        "import torch\na = DataLoader(x, num_workers=4)\nb = 1\nc = 2\nd = DataLoader(\n    y,\n  "
        "  8,\n    num_workers=2,\n)\ne = 3\n");
    CHECK(changes[0].diff.find("@@ -1,9 +1,10 @@") != std::string::npos);
  }

  TEST_CASE("source change: loaders that one call constructs cannot differ") {
    const std::string marked = "l = «DataLoader(ds)»\n";
    Patch patch = kFourWorkers;
    patch.changes.emplace_back(SetTo("loader2.num_workers", 2));
    const auto changes =
        findings::SourceChangesOf(RunOf({LoaderOf(marked), LoaderOf(marked, "loader2")}), patch);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].by_hand.size() == 1);
    CHECK(Has(changes[0].diff, "+l = DataLoader(ds, num_workers="));
  }

  TEST_CASE("source change: the diff's path is relative to the job's folder, or else to the root") {
    model::Loader loader = LoaderOf("l = «DataLoader(ds)»\n");
    const auto path = [&](const std::string& file) {
      loader.info.file = file;
      const std::string diff = findings::SourceChangesOf(RunOf({loader}), kFourWorkers)[0].diff;
      return diff.substr(0, diff.find('\n'));
    };
    CHECK(path("/home/u/job/a/b.py") == "--- a/a/b.py");
    CHECK(path("/home/u/jobs/b.py") == "--- a/home/u/jobs/b.py");
    CHECK(path("/home/u/job/my file.py") == "--- a/my file.py\t");
    CHECK(path("/home/u/job/a\nb.py").empty());
    CHECK(path("b.py").empty());
  }

  TEST_CASE("source change: in a checkout, the diff's path starts at its root") {
    model::Loader loader = LoaderOf("l = «DataLoader(ds)»\n");
    model::Run run = RunOf({loader});
    run.info.job.checkout = "/home/u";
    CHECK(findings::SourceChangesOf(run, kFourWorkers)[0].diff.starts_with(
        "--- a/job/train.py\n+++ b/job/train.py\n"));
    run.info.job.checkout = "/home/user";
    CHECK(findings::SourceChangesOf(run, kFourWorkers)[0].diff.starts_with("--- a/train.py\n"));
  }

  TEST_CASE("source change: the extent of the call counts UTF-16 code units from 1") {
    const auto extent = [](const std::string& marked) {
      return findings::ExtentOf(LoaderOf(marked).info.call);
    };
    CHECK(extent("l = «DataLoader(ds)»\n") == findings::CodeExtent{5, 1, 19});
    CHECK(extent("a\nl = «DataLoader(\n\tds,\n)»\n") == findings::CodeExtent{5, 4, 2});
    // Two bytes are one unit, four bytes are two.
    CHECK(extent("é, l = 1, «DataLoader('é\U0001F600')»\n") == findings::CodeExtent{11, 1, 28});
    CHECK(extent("l = «DataLoader(ds)\n") == findings::CodeExtent{});  // only its line is known

    const trace::CallSite call = LoaderOf("l = «DataLoader(\nds)»\n").info.call;
    CHECK(ChangeOf("l = «DataLoader(\nds)»\n").extent == findings::ExtentOf(call));
    trace::CallSite cut = call;
    cut.source = "l = DataLoader(\n";
    CHECK(findings::ExtentOf(cut) == findings::CodeExtent{0, 2, 0});
    for (const auto& end : {std::pair(1U, 4U), std::pair(0U, 9U), std::pair(2U, 0U)}) {
      trace::CallSite odd = call;
      std::tie(odd.end_line, odd.end_column) = end;
      CHECK(findings::ExtentOf(odd) == findings::CodeExtent{});
    }
  }

  TEST_CASE("source change: part of a file keeps its line numbers") {
    model::Loader loader = LoaderOf("a\nb\nc\nd\nl = «DataLoader(ds)»\ne\n");
    loader.info.call.source_line = 101;
    loader.info.call.line = loader.info.call.end_line = loader.info.line = 105;
    const auto change = findings::SourceChangesOf(RunOf({loader}), kFourWorkers)[0];
    // Fewer lines below: the end of the file. Fewer above, and it is not its beginning: as below.
    CHECK(Has(change.diff, "@@ -102,5 +102,5 @@\n b\n c\n d\n-l"));
    loader.info.call.source = "d\nl = DataLoader(ds)\ne\nf\ng\nh\n";
    loader.info.call.source_line = 104;
    CHECK(Has(findings::SourceChangesOf(RunOf({loader}), kFourWorkers)[0].diff,
              "@@ -104,3 +104,3 @@\n d\n-l"));
    const auto replaced = findings::ReplacementOf(change.lines[0]);
    CHECK(replaced.first == 105);
    CHECK(replaced.last == 105);
    CHECK(replaced.text == "l = DataLoader(ds, num_workers=4)\n");
  }

  TEST_CASE("source change: shards are set where the job makes the stream") {
    model::Loader loader =
        LoaderOf("s = rows.to_iterable_dataset().map(f)\nl = «DataLoader(s, num_workers=4)»\n");
    loader.info.settings_json = R"({"num_workers":4,"num_shards":1,"num_shards_at":"train.py:1"})";
    const auto changes = findings::SourceChangesOf(
        RunOf({loader}),
        {{SetTo("loader.num_shards", int64_t{8}), SetTo("loader.num_workers", int64_t{8})}});
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].by_hand.empty());
    REQUIRE(changes[0].lines.size() == 1);
    CHECK(changes[0].lines[0].after ==
          "s = rows.to_iterable_dataset(num_shards=8).map(f)\nl = DataLoader(s, num_workers=8)\n");
    const auto alone =
        findings::SourceChangesOf(RunOf({loader}), Set("loader.num_shards", 8)).front();
    CHECK(alone.line == 1);
    CHECK(alone.extent == findings::CodeExtent{});
    CHECK(Has(alone.diff, "+s = rows.to_iterable_dataset(num_shards=8).map(f)\n"));
    const auto by_hand = [&](const std::string& at, const std::string& source) {
      loader.info.settings_json = R"({"num_shards":1,"num_shards_at":)" + at + "}";
      loader.info.call.source = source;
      const auto said = findings::SourceChangesOf(RunOf({loader}), Set("loader.num_shards", 8));
      REQUIRE(said.size() == 1);
      CHECK(said[0].diff.empty());
      REQUIRE(said[0].by_hand.size() == 1);
      return said[0].by_hand[0];
    };
    CHECK(Has(by_hand(R"("train.py:1")", "s = to_iterable_dataset(**more)\nl = DataLoader(s)\n"),
              "set num_shards=8 by hand: the call at train.py:1 passes **more"));
    CHECK(Has(by_hand(R"("train.py:1")", "s = made\nl = DataLoader(s)\n"),
              "not a plain call to to_iterable_dataset"));
    CHECK(Has(by_hand(R"("train.py:90")", "s = made\nl = DataLoader(s)\n"),
              "set num_shards=8 at train.py:90: the trace does not have these lines"));
    CHECK(by_hand(R"("data.py:1")", "l = DataLoader(s)\n") ==
          "set num_shards=8 in to_iterable_dataset(), where loader is built (data.py:1)");
    for (const char* const at : {"null", "7", R"("train.py")", R"("train.py:x")", R"(":")"}) {
      CHECK(by_hand(at, "l = DataLoader(s)\n").starts_with("set num_shards=8 in "));
    }
  }

  TEST_CASE("source change: options of grain are set where the job makes them") {
    model::Loader loader = LoaderOf(
        "options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)\n"
        "data = data.mp_prefetch(grain.MultiprocessingOptions(2))\nfor batch in «data»:\n");
    loader.info.kind = "grain._src.python.dataset.transformations.batch._BatchDatasetIterator";
    loader.info.call.names = {};
    loader.info.settings_json =
        R"({"threads":2,"threads_at":"train.py:1","prefetch":4,"prefetch_at":"train.py:1",
            "num_workers":2,"num_workers_at":"train.py:2"})";
    const auto changed = [&](const Patch& patch) {
      const auto changes = findings::SourceChangesOf(RunOf({loader}), patch);
      REQUIRE(changes.size() == 1);
      CHECK(changes[0].by_hand.empty());
      REQUIRE(changes[0].lines.size() == 1);
      return changes[0].lines[0].after.substr(0, changes[0].lines[0].after.find("for batch"));
    };
    const std::string processes = "data = data.mp_prefetch(grain.MultiprocessingOptions(2))\n";
    CHECK(
        changed({{SetTo("loader.threads", int64_t{3}), SetTo("loader.num_workers", int64_t{4})}}) ==
        "options = grain.ReadOptions(num_threads=3, prefetch_buffer_size=4)\n"
        "data = data.mp_prefetch(grain.MultiprocessingOptions(4))\n");
    // With a buffer for each thread, unless the patch sets the buffer.
    CHECK(changed({{SetTo("loader.threads", int64_t{8})}}) ==
          "options = grain.ReadOptions(num_threads=8, prefetch_buffer_size=8)\n" + processes);
    CHECK(changed({{SetTo("loader.prefetch", int64_t{6}), SetTo("loader.threads", int64_t{8})}}) ==
          "options = grain.ReadOptions(num_threads=8, prefetch_buffer_size=6)\n" + processes);
    const auto by_hand = [&](const char* knob) {
      const auto changes =
          findings::SourceChangesOf(RunOf({loader}), Set(std::string("loader.") + knob, 3));
      REQUIRE(changes.size() == 1);
      CHECK(changes[0].diff.empty());
      return changes[0].by_hand.at(0);
    };
    loader.info.settings_json = R"({"threads":2,"threads_at":"data.py:7","num_workers":0,
        "num_workers_at":"train.py:3"})";
    CHECK(by_hand("threads") ==
          "set num_threads=3 in grain.ReadOptions, where loader is built (data.py:7)");
    CHECK(Has(by_hand("num_workers"), "not a plain call to MultiprocessingOptions"));
    loader.info.kind = "grain._src.python.data_loader.DataLoaderIterator";
    loader.info.settings_json = R"({"num_workers":0,"num_workers_at":"data.py:7"})";
    CHECK(by_hand("num_workers") ==
          "set worker_count=3 in grain.DataLoader, where loader is built (data.py:7)");
    loader.info.settings_json = R"({"num_workers":0,"num_workers_at":"train.py:1"})";
    loader.info.call.source = "data = DataLoader(data_source=s)\n";
    CHECK(changed(Set("loader.num_workers", 3)) ==
          "data = DataLoader(data_source=s, worker_count=3)\n");
  }

  TEST_CASE("source change: a ParallelMapper gets workers where the job makes it") {
    model::Loader loader = LoaderOf(
        "node = ParallelMapper(node, read, num_workers=2)\n"
        "node = ParallelMapper(node, draw, 2, True, 'thread', max_concurrent=2)\n"
        "node = nodes.Mapper(node, torch.stack)\nfor batch in «Loader(node)»:\n");
    loader.info.kind = "torchdata.nodes.loader.LoaderIterator";
    loader.info.call.names = {};
    const auto changed = [&](const char* knob, const char* at, const char* more) {
      loader.info.settings_json = std::string(R"({"threads":2,"threads_at":"train.py:)") + at +
                                  R"(","num_workers":0,"num_workers_at":"train.py:)" + at +
                                  R"(","mappers":[],"mapper":{"method":"thread")" + more + "}}";
      const auto changes =
          findings::SourceChangesOf(RunOf({loader}), Set(std::string("loader.") + knob, 4));
      REQUIRE(changes.size() == 1);
      if (!changes[0].by_hand.empty()) return changes[0].by_hand[0];
      REQUIRE(changes[0].lines.size() == 1);
      const std::string& diff = changes[0].diff;
      const size_t begin = diff.find("\n+node") + 2;
      return diff.substr(begin, diff.find('\n', begin) - begin);
    };
    CHECK(changed("threads", "1", "") == "node = ParallelMapper(node, read, num_workers=4)");
    CHECK(changed("num_workers", "1", "") ==
          "node = ParallelMapper(node, read, num_workers=4, method='process')");
    // torchdata rejects a higher limit, and with a lower one workers are idle.
    CHECK(changed("num_workers", "2", R"(,"max_concurrent":2)") ==
          "node = ParallelMapper(node, draw, 4, True, 'process', max_concurrent=4)");
    CHECK(Has(changed("threads", "3", ""), "not a plain call to ParallelMapper"));
    loader.info.settings_json = R"({"threads_at":"data.py:3","mapper":{"method":"process"}})";
    CHECK(findings::SourceChangesOf(RunOf({loader}), Set("loader.threads", 4))[0].by_hand.at(0) ==
          "set num_workers=4 in ParallelMapper, where loader is built (data.py:3)");
  }

  TEST_CASE("source change: settings of other libraries are described") {
    model::Loader loader = LoaderOf("l = «DataLoader(s)»\n");
    const auto said = [&](const char* kind, const char* knob) {
      loader.info.kind = kind;
      const auto changes =
          findings::SourceChangesOf(RunOf({loader}), Set(std::string("loader.") + knob, 3));
      REQUIRE(changes.size() == 1);
      CHECK(changes[0].line == 1);
      CHECK(changes[0].diff.empty());
      return changes[0].by_hand.at(0);
    };
    CHECK(said("tf.data.Dataset", "prefetch") ==
          "set prefetch(3) at the end of the graph, where loader is built");
    CHECK(Has(said("tf.data.Dataset", "threads"), "private_threadpool_size=3"));
    CHECK(Has(said("grain.DataLoader", "threads"), "num_threads=3 in grain.ReadOptions"));
    CHECK(Has(said("nvidia.dali.plugin.X", "prefetch"), "prefetch_queue_depth=3"));
    CHECK(said("Other", "threads") == "set threads=3, where loader is built");
  }

  TEST_CASE("python call: source that is cut off or nested too deep is refused") {
    const std::string whole = "DataLoader(D(1, [2, {3: 'x)'}]), f\"{a!r:{w}}\", **o)";
    for (size_t size = 0; size < whole.size(); ++size) {
      CHECK_FALSE(findings::ReadCall(whole.substr(0, size), 0).has_value());
    }
    REQUIRE(findings::ReadCall(whole, 0).has_value());
    CHECK(findings::ReadCall(whole, 0)->end == whole.size());
    CHECK_FALSE(findings::ReadCall(whole, whole.size() + 5).has_value());
    const std::string deep = "f(" + std::string(100'000, '(') + std::string(100'001, ')');
    CHECK_FALSE(findings::ReadCall(deep, 0).has_value());
    const std::string fields = "f(f'" + std::string(100'000, '{') + "')";
    static_cast<void>(findings::ReadCall(fields, 0));
    CHECK_FALSE(findings::ReadCall("f(f'" + std::string(1, '{') + "\\", 0).has_value());
  }
}
