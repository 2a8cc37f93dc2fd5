#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace darope {

// While it lives, whoever else takes the same lock is refused with an Error that names this process, its host
// and since when it has been at work. Works between processes and, where the file system passes locks on,
// between machines. A lock left by a process that is gone is taken over; one left on another machine cannot
// be told from one that is held there, so the Error says how old it is and how to remove it.
class Lock {
 public:
  // `what` is being done, such as "training in runs/a".
  Lock(std::filesystem::path file, const std::string& what);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  bool take(const std::string& what);  // false: another was at it meanwhile
  std::filesystem::path path_;
  std::unique_ptr<Descriptor> file_;
};

// The same Error where somebody holds the lock of this file; takes nothing. Two that hold locks of their own
// and then ask for each other's never both go on.
void refuse_held(const std::filesystem::path& file);

std::filesystem::path lock_beside(const std::filesystem::path& file);  // for a file that is written anew

}  // namespace darope
