# The Debian package, made by CPack: both programs, their Python module, the menu entry, the samples.
# tools/release builds it together with the wheel and the tar, which tools/packages/ packs.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stallscope)
set(CPACK_PACKAGE_VENDOR stallscope)
set(CPACK_PACKAGE_CONTACT "stallscope maintainers <maintainers@stallscope.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler for the input pipelines of training jobs")
set(CPACK_PACKAGE_DESCRIPTION
"stallscope records what the input pipeline of a training job does, process
by process and thread by thread, and reports why its steps wait for data,
what to change and how much that would gain. It reads profiles of PyTorch,
TensorFlow, JAX and Nsight Systems, checks runs against budgets in CI, and
shows them in a window.")
set(CPACK_COMPONENTS_ALL programs desktop)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME stallscope)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded on demand: by runs on the device `host`, and by recorded programs.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0, python3")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Files that Debian requires in a package, and no other installation needs.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/debian_files.cmake")
include(CPack)
