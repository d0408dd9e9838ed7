// Row 24: most of what steps wait for comes from one file.
#include <map>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::slow_shard {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  struct Waits {
    size_t count = 0;
    int64_t ns = 0;
  };
  std::map<trace::StringId, Waits> files;
  size_t all = 0;
  for (const auto& straggler : c.attribution.stragglers) {
    if (straggler.file == trace::StringId::None()) continue;
    Waits& waits = files[straggler.file];
    ++waits.count;
    waits.ns += straggler.element_ns;
    ++all;
  }
  for (const auto& [file, waits] : files) {
    const std::optional<size_t> shard = ShardOf(c, file);
    if (!shard.has_value() || waits.count < kFewestOfShard) continue;
    if (static_cast<double>(waits.count) < kShardShare * static_cast<double>(all)) continue;
    // A single file is no choice.
    if (files.size() == 1 && c.run.rows.elements.size() == all) continue;
    const double share =
        static_cast<double>(waits.ns) / static_cast<double>(c.attribution.window.ns());
    Draft draft = About(c, StageId::None(), share,
                        fmt::format("{} of the {} longest waits are for elements of shard {} ({})",
                                    waits.count, all, *shard, c.run.Text(file)));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of waiting", c.run.Text(file),
                     Duration(static_cast<double>(waits.ns))));
    RecommendUnpriced(draft,
                      "check where this file is stored and what it holds; write shards of equal "
                      "size, and spread large elements over them",
                      {}, "the data must change: record a run on the new shards, and compare");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "slow-shard", .row = 24, .shortens = Parts(Category::kInputStall), .check = Check};

}  // namespace stallscope::findings::slow_shard
