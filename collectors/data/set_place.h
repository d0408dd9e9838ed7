// Inside this room: brings a new data set to its folder, whole or not at all.
//
// The set is written into a scratch folder beside its place and moved there when it is complete, so
// that a run that fails, is interrupted or is killed changes nothing that others can see. What was
// there is removed only then, and only if it was a data set of ours and nothing else. Where that
// takes more than one step and the process is killed between two of them, the next Open() of the
// same place puts the older set back. A manifest is data from outside: what it names counts as ours
// only where the name is one that the generator gives, and the file a regular one of that size. One
// thread.
#pragma once

#include <memory>
#include <string>

#include "analyzer/base/result.h"

namespace stallscope::data {

// The seam: what is called instead of the kernel. As the system calls, errno included.
class FolderOps {
 public:
  virtual ~FolderOps() = default;
  virtual int Exchange(const char* one, const char* other);  // renameat2 with RENAME_EXCHANGE
  virtual int Rename(const char* from, const char* to);
  static FolderOps& Kernel();
};

class SetPlace {
 public:
  // Creates missing parent folders, and removes what Resume() has left for this place. kUsage: the
  // place holds something other than a data set of ours. `ops` must outlive the object.
  static Result<SetPlace> Open(const std::string& folder, FolderOps& ops = FolderOps::Kernel());
  // The same for a set that continues where another process was stopped or killed: work() then
  // holds that process's files, if it had the same `plan`. Until Publish(), only Discard() removes
  // them.
  static Result<SetPlace> Resume(const std::string& folder, const std::string& plan,
                                 FolderOps& ops = FolderOps::Kernel());
  SetPlace(SetPlace&&) noexcept;
  SetPlace& operator=(SetPlace&&) = delete;
  // Without Publish(), after Open(): removes the new files, and the parent folders that it created
  // unless someone has put anything into them.
  ~SetPlace();

  // A folder for the new set; after Open() it is empty.
  const std::string& work() const;
  // After Resume(): the destructor will remove the new files after all.
  void Discard();
  // In one step where the file system can exchange two folders. File by file where the folder has
  // to stay the same: the current one, a mount point, one below a folder that cannot be written.
  Status Publish();
  // An error about a file in work(), as one about the folder that the user named.
  Error Renamed(Error error) const;

 private:
  struct Parts;
  explicit SetPlace(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace stallscope::data
