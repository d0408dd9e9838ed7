// What machine this is, and how much of it the process may use: the part of a trace's RunInfo that
// the operating system knows. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/trace/events.h"
#include "collectors/system/source.h"

namespace stallscope::system {

// What cannot be read below `root` stays empty or 0.
trace::HostInfo ReadHost(const std::string& root = "/");

// Cores that are online and in the affinity of the process's main thread. The affinity alone also
// names cores that the machine could have but does not.
std::optional<uint32_t> CoresAllowed(const std::string& root = "/");
std::optional<uint32_t> CoresOnline(const std::string& root = "/");

// The cores, CPU quota and memory that the process may use, which seldom change.
std::unique_ptr<Source> MakeLimits(const std::string& root);

}  // namespace stallscope::system
