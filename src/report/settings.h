#pragma once
#include <map>
#include <string>

namespace darope::report {

// Settings by their whole names, from a config.yaml as runs write it: one on a line, sections by two spaces.
std::map<std::string, std::string> settings_of(const std::string& yaml);

}  // namespace darope::report
