# Writes SOURCE: the bytes of FILE as NAMESPACE::NAME.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${SOURCE}
  "#include <string_view>\n\nnamespace ${NAMESPACE} {\n"
  "static const unsigned char bytes[] = {${bytes}0};\n"
  "extern const std::string_view ${NAME};\n"
  "const std::string_view ${NAME}(reinterpret_cast<const char*>(bytes), sizeof bytes - 1);\n"
  "}  // namespace ${NAMESPACE}\n")
