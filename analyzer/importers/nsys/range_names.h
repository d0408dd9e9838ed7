// What a range that somebody marked means, by its text. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_NSYS_RANGE_NAMES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_NSYS_RANGE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope::importers::nsys {

// "Train Step 12" -> "train step": in lower case, without numbers and what joins them to the text.
std::string RangeKey(std::string_view text);
// The last number in the text.
std::optional<uint64_t> RangeNumber(std::string_view text);

// How surely ranges of this key are steps of the trainer: 0 not at all. Of several kinds the
// surest is taken: "ProfilerStep#3" before "step 3" before "iteration 3" before "batch 3".
int StepRank(std::string_view key);
// The trainer fetches a batch: "enumerate(DataLoader)", "data_loading", "next batch".
bool IsLoader(std::string_view key);
// An op that a framework marks by itself, tens of thousands of times: "aten::copy_, op_id = 7".
bool IsFrameworkOp(std::string_view text);

}  // namespace stallscope::importers::nsys

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_NSYS_RANGE_NAMES_H_
