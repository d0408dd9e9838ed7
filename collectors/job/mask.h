// Takes secrets out of a command line before it is stored, and finds the lines of source that may
// have one: anyone who is sent a trace can read what it contains.
//
// By their names (`--api-token X`, `--password=X`, `WANDB_API_KEY=X`, also inside an argument of
// several words, as `sh -c` takes it), by their form (`hf_...`, `ghp_...`, `sk-...`, `AKIA...`),
// and in URLs (`https://user:X@host`). Pure.
#pragma once

#include <string>
#include <vector>

namespace stallscope::job {

std::vector<std::string> Masked(std::vector<std::string> arguments);

// A line of Python: by the same rules, and where a name of a secret is given a value
// (`api_key = "X"`, `"token": "X"`).
bool MayHoldSecret(const std::string& line);

}  // namespace stallscope::job
