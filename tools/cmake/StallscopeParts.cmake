# The libraries that rooms may link, by the short names that the room table uses.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt 9 REQUIRED)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET GLOBAL libisal)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)

set(STALLSCOPE_PART_threads Threads::Threads)
set(STALLSCOPE_PART_protobuf protobuf::libprotobuf)
set(STALLSCOPE_PART_json nlohmann_json::nlohmann_json)
set(STALLSCOPE_PART_cli11 CLI11::CLI11)
set(STALLSCOPE_PART_fmt fmt::fmt)
set(STALLSCOPE_PART_isal PkgConfig::isal)
set(STALLSCOPE_PART_xxhash PkgConfig::xxhash)
set(STALLSCOPE_PART_dl ${CMAKE_DL_LIBS})
