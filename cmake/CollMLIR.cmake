# Finds LLVM and MLIR 22 and defines what targets that use them link:
#   CollLLVM   libLLVM.so and its headers
#   CollMLIR   the same and libMLIR.so
#   CollPch    holds the precompiled MLIR headers, shared by all users of CollMLIR
#
# Debian builds both shared libraries, but MLIRConfig does not say so: the usual
# mlir_target_link_libraries would link the static archives beside them, and two
# copies of MLIR in one process do not work.  So the libraries are named by hand.

find_package(MLIR REQUIRED CONFIG HINTS "${COLL_LLVM_DIR}/lib/cmake/mlir")
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "LLVM 22 is needed, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# AddLLVM and friends set these for LLVM's own layout.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

add_library(CollLLVM INTERFACE)
target_include_directories(CollLLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_options(CollLLVM INTERFACE -Wno-unused-parameter)
target_link_libraries(CollLLVM INTERFACE LLVM)

add_library(CollMLIR INTERFACE)
target_include_directories(CollMLIR SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_link_libraries(CollMLIR INTERFACE MLIR CollLLVM)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Else ccache never finds a file compiled with the precompiled header again.
  target_compile_options(CollMLIR INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

if(COLL_PCH)
  add_library(CollPch STATIC "${PROJECT_SOURCE_DIR}/cmake/Pch.cpp")
  target_link_libraries(CollPch PRIVATE CollMLIR)
  target_precompile_headers(CollPch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/Pch.h")
endif()
