// Takes secrets out of a command line before it is stored: anyone who is sent a trace can read what
// it contains.
//
// By their names (`--api-token X`, `--password=X`, `WANDB_API_KEY=X`, also inside an argument of
// several words, as `sh -c` takes it), by their form (`hf_...`, `ghp_...`, `sk-...`, `AKIA...`),
// and in URLs (`https://user:X@host`). Pure.
#pragma once

#include <string>
#include <vector>

namespace stallscope::job {

std::vector<std::string> Masked(std::vector<std::string> arguments);

}  // namespace stallscope::job
