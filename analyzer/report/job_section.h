// What reports and the window say of a job: its command, loaders and processes, in the same words.
// Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/document.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

// Sections on the job and its processes; nothing for another run.
void AddJob(const Report& report, Document& document);

// The processes with what they used; condensed, those of a kind have two rows: the
// least and the most that any of them used.
Table ProcessTable(const std::vector<ProcessRow>& processes, bool condensed);

// A loader's settings in the words of its code, {"num_workers", "2"}, what decides its speed first.
// Without those that are None.
std::vector<std::pair<std::string, std::string>> SettingsInCode(const trace::LoaderInfo& loader);
// "DataLoader of Images": its class without the modules, and its data set's.
std::string LoaderPhrase(const trace::LoaderInfo& loader);
// "fed 60 steps"; among loaders of several ranks "fed 60 steps of rank 1".
std::string FedPhrase(const model::Loader& loader, std::span<const model::Loader> all);
// "1200 steps"; "38 to 40 steps on each of 4 ranks".
std::string StepsPhrase(const model::Run& run);
// As a fact: "1,200"; of several ranks the phrase.
std::string StepsFact(const model::Run& run);
// "Python 3.13.0, torch 2.15.0"; empty where neither was seen.
std::string SoftwareOf(const trace::JobInfo& job);

}  // namespace stallscope::report
