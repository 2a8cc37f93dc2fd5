#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

struct SourceFile {
  std::filesystem::path path;
  std::string name;  // below the source
};

// The files of a source whose names end so (in any case), by name: all that lie in or below a folder, or the
// one that is given, whatever its name. An Error where there is none.
std::vector<SourceFile> source_files(const std::filesystem::path& source,
                                     const std::vector<std::string_view>& endings);

}  // namespace darope
