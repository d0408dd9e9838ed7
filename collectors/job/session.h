// The folder in which a job and the program that records it meet (collectors/recorder/RING.md).
//
// Nobody else can enter it, and it goes away with this object; if this process is killed, a helper
// process removes it, and if that is killed too, the next session of the same user does. In memory
// (/dev/shm) only where that is large: a job's own processes need the room there. Make one before
// the process has threads: the helper is a fork. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/folders.h"
#include "analyzer/base/result.h"

namespace stallscope::job {

// A file of the shim, embedded in this program (generated from python/).
struct ShimFile {
  const char* path;
  std::string_view content;
};
const std::vector<ShimFile>& ShimFiles();

struct SessionOptions {
  std::string memory = "/dev/shm";
  uint64_t least_free_bytes = uint64_t{512} << 20;
  std::string settings_json = "{}";
};

class Session {
 public:
  static Result<Session> Make(const SessionOptions& options);
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;

  const std::string& path() const { return folder_.path(); }
  std::string shim() const { return path() + "/shim"; }
  int fd() const { return fd_; }  // of the folder

 private:
  explicit Session(ScratchFolder folder) : folder_(std::move(folder)) {}
  Status Fill(const SessionOptions& options);
  Status StartRemover();

  ScratchFolder folder_;
  int fd_ = -1;
  int alive_ = -1;  // closed by whatever ends this process
  pid_t remover_ = -1;
};

}  // namespace stallscope::job
