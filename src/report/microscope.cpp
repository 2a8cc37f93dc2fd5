#include "report/microscope.h"

#include "assets.h"
#include "report/document.h"

namespace darope::report {

std::string microscope_page(const nlohmann::ordered_json& data) {
  return to_html({.title = "Position microscope",
                  .styles = {assets::page_css, assets::microscope_css},
                  .body = std::string(assets::microscope_html),
                  .data = data,
                  .scripts = {assets::microscope_js}});
}

}  // namespace darope::report
