// Removes secrets from a command line before it is stored, and finds lines of source that may
// contain one: anyone who gets a trace can read it.
//
// By their names (`--api-token X`, `--password=X`, `WANDB_API_KEY=X`, also inside an argument of
// several words, as `sh -c` takes it), by their form (`hf_...`, `ghp_...`, `sk-...`, `AKIA...`),
// and in URLs (`https://user:X@host`). Pure.
#pragma once

#include <string>
#include <vector>

namespace stallscope::job {

std::vector<std::string> Masked(std::vector<std::string> arguments);

// For a line of Python: the same rules, and an assignment to a name of a secret (`api_key = "X"`,
// `"token": "X"`).
bool MayHoldSecret(const std::string& line);

}  // namespace stallscope::job
