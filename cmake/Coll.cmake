# The functions with which every directory declares what it builds.
#
#   coll_add_library(NAME SOURCES... [MLIR | LLVM] [LINK LIBS...] [DEPENDS TARGETS...])
#     A static library.  MLIR: uses MLIR and LLVM (shared libraries, headers, the
#     precompiled header).  LLVM: uses LLVM only.  Neither: no LLVM at all.
#     LINK is public; DEPENDS names targets to build first (generated headers).
#   coll_add_tool(NAME SOURCES... [MLIR | LLVM] [LINK LIBS...] [DEPENDS TARGETS...])
#     A program in bin/.
#   coll_add_unittest(NAME SOURCES... [MLIR | LLVM] [LINK LIBS...] [TIER all|nightly])
#     A GoogleTest program in bin/unit/, known to ctest and to lit.
#   coll_tablegen(TARGET FILE.td OUTPUT1 "ARGS..." OUTPUT2 "ARGS..." ...)
#     Runs mlir-tblgen once per output; TARGET depends on all of them.
#   coll_add_subdirectories(DIRS...)
#     Adds those of the directories that have a CMakeLists.txt.

function(coll_add_subdirectories)
  foreach(dir IN LISTS ARGN)
    # A glob and not EXISTS: it is looked at anew by every build.
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt")
    if(found)
      add_subdirectory(${dir})
    endif()
  endforeach()
endfunction()

function(_coll_setup_target name uses_mlir uses_llvm scope link depends)
  if(uses_mlir)
    target_link_libraries(${name} ${scope} CollMLIR)
    if(COLL_PCH)
      target_precompile_headers(${name} REUSE_FROM CollPch)
    endif()
  elseif(uses_llvm)
    target_link_libraries(${name} ${scope} CollLLVM)
  endif()
  if(link)
    target_link_libraries(${name} ${scope} ${link})
  endif()
  if(depends)
    add_dependencies(${name} ${depends})
  endif()
endfunction()

function(coll_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "MLIR;LLVM" "" "LINK;DEPENDS")
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  _coll_setup_target(${name} ${ARG_MLIR} ${ARG_LLVM} PUBLIC "${ARG_LINK}" "${ARG_DEPENDS}")
endfunction()

function(coll_add_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "MLIR;LLVM" "" "LINK;DEPENDS")
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  _coll_setup_target(${name} ${ARG_MLIR} ${ARG_LLVM} PRIVATE "${ARG_LINK}" "${ARG_DEPENDS}")
endfunction()

function(coll_add_unittest name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "MLIR;LLVM" "TIER" "LINK;DEPENDS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  find_package(GTest REQUIRED)
  if(NOT ARG_TIER)
    set(ARG_TIER quick)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  _coll_setup_target(${name} ${ARG_MLIR} ${ARG_LLVM} PRIVATE
                     "${ARG_LINK};GTest::gtest_main" "${ARG_DEPENDS}")
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/unit")
  add_test(NAME unit.${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY COLL_UNITTESTS ${ARG_TIER}:${name})
endfunction()

function(coll_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS "${td}")
  set(TABLEGEN_OUTPUT)
  set(outputs ${ARGN})
  while(outputs)
    list(POP_FRONT outputs file args)
    separate_arguments(args)
    mlir_tablegen(${file} ${args})
  endwhile()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()

# Generated documentation: `./dev docs` builds coll-docs and copies the result to
# docs/generated, where a test keeps it fresh.
#   coll_add_doc(NAME.md COMMAND... [DEPENDS TARGETS...])   COMMAND prints the page
#   coll_add_tablegen_doc(NAME.md FILE.td ARGS...)          by mlir-tblgen
add_custom_target(coll-docs)

function(_coll_register_doc page)
  string(MAKE_C_IDENTIFIER "coll-doc-${page}" target)
  add_custom_target(${target} DEPENDS "${PROJECT_BINARY_DIR}/docs/generated/${page}")
  add_dependencies(coll-docs ${target})
endfunction()

function(coll_add_doc page)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "COMMAND;DEPENDS")
  set(output "${PROJECT_BINARY_DIR}/docs/generated/${page}")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/docs/generated"
    COMMAND ${ARG_COMMAND} > "${output}"
    DEPENDS ${ARG_DEPENDS} VERBATIM)
  _coll_register_doc(${page})
endfunction()

function(coll_add_tablegen_doc page td)
  set(LLVM_TARGET_DEFINITIONS "${td}")
  mlir_tablegen(${page} ${ARGN})
  set(output "${PROJECT_BINARY_DIR}/docs/generated/${page}")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_CURRENT_BINARY_DIR}/${page}" "${output}"
    DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/${page}")
  _coll_register_doc(${page})
endfunction()
