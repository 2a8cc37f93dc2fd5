# embed(TARGET NAMESPACE name=file ...): each file becomes `extern const std::string_view name` of the
# namespace, declared in assets.h of the target's binary folder. Plain arrays of numbers: no limit on length,
# no escaping.
function(embed target namespace)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/generated/assets.h)
  set(declarations "")
  foreach(entry IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.+)$" _ ${entry})
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cpp)
    add_custom_command(OUTPUT ${source} DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed_one.cmake VERBATIM
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DSOURCE=${source} -DNAME=${name} -DNAMESPACE=${namespace}
              -P ${CMAKE_SOURCE_DIR}/cmake/embed_one.cmake)
    target_sources(${target} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    string(APPEND declarations "extern const std::string_view ${name};\n")
  endforeach()
  set(text "#pragma once\n#include <string_view>\n\n")
  string(APPEND text "namespace ${namespace} {\n\n${declarations}\n}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT ${header} CONTENT "${text}" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
