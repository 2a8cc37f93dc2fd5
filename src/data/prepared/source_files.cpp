#include "data/prepared/source_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace darope {

namespace fs = std::filesystem;

std::vector<SourceFile> source_files(const fs::path& source, const std::vector<std::string_view>& endings) {
  if (!fs::exists(source))
    throw Error(fmt::format("cannot read {}: no such file or folder", source.string()));
  if (!fs::is_directory(source)) return {{source, source.filename().string()}};
  std::vector<SourceFile> out;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(source, problem); at != fs::recursive_directory_iterator();
       at.increment(problem)) {
    if (problem) break;
    const fs::directory_entry& entry = *at;
    std::string name = entry.path().filename().string();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool wanted = std::any_of(endings.begin(), endings.end(),
                                    [&](std::string_view ending) { return name.ends_with(ending); });
    if (wanted && entry.is_regular_file())
      out.push_back({entry.path(), entry.path().lexically_relative(source).string()});
  }
  if (problem)
    throw Error(fmt::format("cannot read all of {}: {}", source.string(), problem.message()), kFailed);
  if (out.empty())
    throw Error(fmt::format("{} has no file that ends in {}", source.string(), fmt::join(endings, ", ")));
  std::sort(out.begin(), out.end(), [](const SourceFile& a, const SourceFile& b) { return a.name < b.name; });
  return out;
}

}  // namespace darope
