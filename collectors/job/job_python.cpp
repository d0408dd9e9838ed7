#include "collectors/job/job_python.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/lines.h"
#include "analyzer/base/program.h"
#include "analyzer/base/units.h"

namespace stallscope::job {

// python/README.md has the same; a test compares them.
const std::array<TestedVersions, 4> kTestedVersions = {{{"Python", "3.8", "3.13"},
                                                        {"torch", "1.13", "2.15"},
                                                        {"TensorFlow", "2.21", "2.21"},
                                                        {"JAX", "0.11", "0.12"}}};

namespace {

using system::Check;
using system::CheckState;

// "NAME VERSION" lines. Also for a Python that has no importlib.metadata yet. Not from the current
// folder: a job's own email.py would be imported, and run.
constexpr const char* kAsk = R"(
import sys
sys.path = [folder for folder in sys.path if folder]
sys.stdout.write("\nPython %d.%d.%d\nprefix %s\n" % (sys.version_info[:3] + (sys.prefix,)))
try:
    from importlib.metadata import version
except ImportError:
    sys.exit(0)
for name, distributions in (("torch", ["torch"]), ("JAX", ["jax"]),
                            ("TensorFlow", ["tensorflow", "tensorflow_cpu", "tf_nightly",
                                            "tensorflow_rocm", "intel_tensorflow"])):
    for distribution in distributions:
        try:
            sys.stdout.write("%s %s\n" % (name, version(distribution)))
            break
        except Exception:
            pass
)";

// What the program prints; nothing if it cannot be started, prints nothing or takes too long.
std::optional<std::string> AnswerOf(const std::string& program, int time_limit_ms) {
  constexpr size_t kMost = 65'536;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A group of its own, so that the end of a wrapper script is the end of its Python.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::array<const char*, 4> arguments = {program.c_str(), "-c", kAsk, nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, &attributes,
                                 const_cast<char* const*>(arguments.data()), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string answer;
  bool ended = false;
  const int64_t until_ns = MonotonicNs() + time_limit_ms * (kNsPerSecond / 1000);
  while (failed == 0 && !ended && answer.size() < kMost) {
    const int64_t left_ms = (until_ns - MonotonicNs()) / (kNsPerSecond / 1000);
    pollfd ready{ends[0], POLLIN, 0};
    const int polled = left_ms > 0 ? poll(&ready, 1, static_cast<int>(left_ms)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) break;
    std::array<char, 4096> part;
    const ssize_t size = read(ends[0], part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    ended = size <= 0;
    if (size > 0) answer.append(part.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  if (failed != 0) return std::nullopt;
  // It may close its output and go on.
  kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended || answer.empty()) return std::nullopt;
  return answer;
}

// "2.15.0+cu130" as {2, 15}; nothing if it is no version.
std::optional<std::pair<int, int>> MajorMinor(std::string_view version) {
  const char* const end = version.data() + version.size();
  std::pair<int, int> parts;
  const auto major = std::from_chars(version.data(), end, parts.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, parts.second).ec != std::errc()) return std::nullopt;
  return parts;
}

// Why jobs with this version are not known to be recorded whole; empty: they are.
std::string Untested(const TestedVersions& tested, const std::string& version) {
  const auto have = MajorMinor(version);
  if (!have.has_value()) return fmt::format("{} has no version that can be read", tested.name);
  if (have < MajorMinor(tested.oldest)) {
    return fmt::format("{} before {} is untested", tested.name, tested.oldest);
  }
  if (have > MajorMinor(tested.newest)) {
    return fmt::format("{} after {} is untested", tested.name, tested.newest);
  }
  return "";
}

using Versions = std::map<std::string, std::string, std::less<>>;

// One of the lines that kAsk prints for each: {"torch": "2.15.0"}.
Versions VersionsIn(const std::string& answer) {
  Versions versions;
  for (const std::string_view line : SplitLines(answer)) {
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      versions.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return versions;
}

Check DidNotAnswer(const std::string& program) {
  return {"python", CheckState::kLimited, program + " does not print its version as Python does",
          "see what it does: " + program + " --version"};
}

Check CheckOf(const std::string& program, const Versions& versions) {
  if (!versions.contains("Python")) return DidNotAnswer(program);
  Check check{"python", CheckState::kOk, program, ""};
  std::string untested;
  bool frameworks = false;
  for (const TestedVersions& tested : kTestedVersions) {
    const auto found = versions.find(tested.name);
    if (found == versions.end()) continue;
    const bool python = tested.name == "Python";
    check.detail += fmt::format("{}{} {}", python ? ": " : ", ", tested.name, found->second);
    frameworks = frameworks || !python;
    if (const std::string why = Untested(tested, found->second); !why.empty()) {
      untested += (untested.empty() ? "" : "; ") + why;
    }
  }
  if (MajorMinor(versions.at("Python")) < MajorMinor(kTestedVersions[0].oldest)) {
    check.state = CheckState::kLimited;
    check.advice = fmt::format(
        "use Python {} or later: of an older one, only processes and "
        "threads are recorded",
        kTestedVersions[0].oldest);
  } else if (!untested.empty()) {
    check.state = CheckState::kLimited;
    check.advice = untested +
                   ": stallscope run records what it knows of it, and the trace's limits list the "
                   "rest";
  } else if (!frameworks) {
    check.detail += ", without torch, TensorFlow and JAX";
    check.advice = "a job with another Python: stallscope run -- FOLDER/bin/python train.py";
  }
  return check;
}

}  // namespace

Check CheckPython(const PythonPlace& place) {
  std::string program = FindProgram("python", place.search_path);
  if (program.empty()) program = FindProgram("python3", place.search_path);
  if (program.empty()) {
    return {"python", CheckState::kMissing, "neither python nor python3 is on PATH",
            "of programs in other languages, processes and threads are recorded"};
  }
  const auto answer = AnswerOf(program, place.time_limit_ms);
  if (!answer.has_value()) return DidNotAnswer(program);
  const Versions versions = VersionsIn(*answer);
  Check check = CheckOf(program, versions);
  const std::string& active = place.virtual_environment;
  const auto prefix = versions.find("prefix");
  std::error_code unknown;
  if (!active.empty() && prefix != versions.end() &&
      !std::filesystem::equivalent(prefix->second, active, unknown)) {
    check.state = CheckState::kLimited;
    check.advice = "PATH has it before the environment that is active, VIRTUAL_ENV=" + active +
                   ": start the job with that one's python";
  }
  return check;
}

}  // namespace stallscope::job
