# cmake -DOUTPUT=shim_files.cpp -DFOLDER=python "-DFILES=a.py|b/c.py" -P embed.cmake
# A C++ file with the shim's files in it. As numbers: a literal has a greatest length.
set(content "#include \"collectors/job/session.h\"\n\nnamespace stallscope::job {\nnamespace {\n\n")
set(rows "")
set(number 0)
string(REPLACE "|" ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND content "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND rows "      {\"${file}\", {reinterpret_cast<const char*>(kFile${number}), sizeof kFile${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND content "\n}  // namespace\n\nconst std::vector<ShimFile>& ShimFiles() {\n"
  "  static const std::vector<ShimFile> files{\n${rows}  };\n  return files;\n}\n\n"
  "}  // namespace stallscope::job\n")
file(WRITE "${OUTPUT}" "${content}")
