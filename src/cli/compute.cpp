#include "cli/compute.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "assets.h"
#include "base/error.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

const nlohmann::ordered_json& tables() {
  static const nlohmann::ordered_json json = nlohmann::ordered_json::parse(assets::compute_json);
  return json;
}

}  // namespace

const std::vector<VerbTable>& compute_verbs() {
  static const std::vector<VerbTable> verbs = [] {
    std::vector<VerbTable> out;
    for (const auto& each : tables().at("verbs")) out.push_back(table_from(each));
    return out;
  }();
  return verbs;
}

const nlohmann::ordered_json& encoding_rows() { return tables().at("encodings"); }

std::vector<std::string> encoding_order() {
  std::vector<std::string> names;
  for (const auto& row : encoding_rows()) names.push_back(row.at("name"));
  return names;
}

std::vector<Field> with_names(std::vector<Field> settings) {
  const Allowed encodings{
      .names = encoding_order(), .pattern = "[^:;]+(-[0-9]+k|[:;].+)", .or_else = "with options"};
  for (Field& each : settings) {
    if (each.key == "encodings" || each.key == "model.encoding") each.allowed = encodings;
    if (each.key == "model.feed_forward")
      each.allowed = {.names = tables().at("feed_forwards"), .empty = true};
  }
  return settings;
}

void compute(char** argv) {
  // Threads that wait for work sleep: spinning, they would take the core from whoever else wants it. OpenMP
  // reads this when torch brings it in.
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  constexpr const char* kProgram = "darope-compute";
  for (const fs::path& program : {here / kProgram, here / "../lib/darope" / kProgram})
    ::execv(program.c_str(), argv);
  throw Error(
      fmt::format("'{}' needs {}, which is not beside this program, in {}", argv[1], kProgram, here.string()),
      kFailed);
}

}  // namespace darope
