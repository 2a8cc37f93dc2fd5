#pragma once
#include <string>

namespace darope {

std::string csv_cell(const std::string& text);  // quoted where it must be, as RFC 4180 has it

}  // namespace darope
