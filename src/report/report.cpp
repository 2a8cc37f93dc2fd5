#include "report/report.h"

#include <fmt/format.h>

#include "base/files.h"
#include "report/page.h"
#include "report/results.h"
#include "runs/lock.h"
#include "runs/run_folder.h"

namespace darope::report {
namespace {

// A folder's name need not be text; JSON has to be.
std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Summary write_report(const std::filesystem::path& out, const std::vector<std::filesystem::path>& comparisons,
                     const Options& options) {
  const ComparisonFolder folder(out);
  const Gathered all = gather(comparisons, options.order, options.settings);
  const Lock lock(folder.report_lock(), fmt::format("writing the report in {}", out.string()));
  Summary summary = summarise(all, options);
  const std::string results = dumped(results_json(summary, all)), page = render_page(summary, all);
  for (const std::filesystem::path& file : {folder.results(), folder.page()}) remove_leftovers_of(file);
  write_file(folder.results(), results);
  write_file(folder.page(), page);
  return summary;
}

}  // namespace darope::report
