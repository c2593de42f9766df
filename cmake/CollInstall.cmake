# What an installation holds, and the package `find_package(Coll)` finds there or in
# this build folder.  Included after the tools: it needs the targets.

include(CMakePackageConfigHelpers)

# What an importer sees, for the targets of this tree too.
if(NOT TARGET Coll::colc)
  add_executable(Coll::colc ALIAS colc)
endif()
include(CollAddSchedule)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Coll")

install(TARGETS CollRuntime CollRuntimeShared colc EXPORT CollTargets)
if(TARGET coll-run)
  install(TARGETS coll-run)
endif()
install(DIRECTORY runtime/include/coll TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT CollTargets NAMESPACE Coll:: DESTINATION "${package_dir}")
export(EXPORT CollTargets NAMESPACE Coll:: FILE "${PROJECT_BINARY_DIR}/CollTargets.cmake")

configure_package_config_file(cmake/CollConfig.cmake.in "${PROJECT_BINARY_DIR}/CollConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/CollConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
configure_file(cmake/CollAddSchedule.cmake "${PROJECT_BINARY_DIR}/CollAddSchedule.cmake" COPYONLY)
configure_file(lib/Library/standard.coll "${PROJECT_BINARY_DIR}/standard.coll" COPYONLY)
install(FILES
  "${PROJECT_BINARY_DIR}/CollConfig.cmake"
  "${PROJECT_BINARY_DIR}/CollConfigVersion.cmake"
  cmake/CollAddSchedule.cmake
  lib/Library/standard.coll
  DESTINATION "${package_dir}")
