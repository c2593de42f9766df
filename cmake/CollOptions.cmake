# Compilers' options for all of the project's own code.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
# libMLIR lies where the dynamic linker does not look by itself.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Asserts stay on in every build: a bug is an assert here, and CMake's own
# -DNDEBUG would turn the tests blind to it.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

# One precompiled header serves libraries and programs alike, so all must be
# compiled with the same -fPIC; CMake would say -fPIE for programs.
add_compile_options(-fPIC -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What g++ 12 says of correct code: LLVM's SmallVector, GoogleTest's macros, and
  # a std::move that converts an llvm::Error on return.
  add_compile_options(-Wno-maybe-uninitialized
                      "$<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-else;-Wno-redundant-move>")
endif()
if(COLL_WERROR)
  add_compile_options(-Werror)
endif()
if(COLL_SANITIZE)
  # vptr and function need the type information of libMLIR's own build.
  add_compile_options(-fsanitize=${COLL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COLL_SANITIZE})
  if(COLL_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=vptr)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()

# GNU ld takes 2.7 s where lld takes 0.5 s to link against libMLIR.
if(EXISTS "${COLL_LLVM_DIR}/bin/ld.lld")
  add_link_options(-fuse-ld=lld -B${COLL_LLVM_DIR}/bin)
endif()

include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}"
                    "${PROJECT_SOURCE_DIR}/runtime/include")

find_program(COLL_CCACHE ccache)
mark_as_advanced(COLL_CCACHE)
if(COLL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for to cache compilations that use a precompiled header.
  set(launcher "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
      "${COLL_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()
