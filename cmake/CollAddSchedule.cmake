# coll_add_schedule: compile a schedule with colc and link it into a target.
#
#   coll_add_schedule(TARGET FILE.coll [SCHEDULE NAME] RANKS N|M,G|A..B ...
#                     [DEFINE K=V ...] [DTYPES ...] [OPS ...] [OPTIONS ...] [DEPENDS FILES...])
#
# Compiles FILE.coll (relative to the current source folder) for the given rank
# counts into FILE.o and FILE.h, links the object and Coll::runtime into TARGET, and
# puts the header on its include path: `#include "FILE.h"`.  With SCHEDULE the outputs
# are named FILE_NAME, so that one file can give several schedules.  OPTIONS go to
# colc as they stand, and so does the variable COLL_OPTIONS, for all schedules: an application is
# built for devices by -DCOLL_OPTIONS=--target=host,cuda:sm_90.  DEPENDS names the files that
# FILE.coll imports, to compile anew when one changes.

function(coll_add_schedule target file)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "SCHEDULE" "RANKS;DEFINE;DTYPES;OPS;OPTIONS;DEPENDS")
  if(NOT TARGET ${target})
    message(FATAL_ERROR "coll_add_schedule: there is no target '${target}'")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "coll_add_schedule: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  foreach(value IN LISTS ARG_RANKS ARG_DTYPES ARG_OPS)
    if(value MATCHES "^[A-Z_]+$") # a keyword that there is not went into the list before it
      message(FATAL_ERROR "coll_add_schedule: there is no '${value}': there are SCHEDULE, RANKS, DEFINE, DTYPES, OPS, OPTIONS and DEPENDS")
    endif()
  endforeach()
  if(NOT ARG_RANKS)
    message(FATAL_ERROR "coll_add_schedule: RANKS is missing: for which rank counts?")
  endif()

  get_filename_component(source "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${source}")
    message(FATAL_ERROR "coll_add_schedule: there is no file '${source}'")
  endif()
  get_filename_component(name "${source}" NAME_WE)
  set(arguments "${source}")
  if(ARG_SCHEDULE)
    string(APPEND name "_${ARG_SCHEDULE}")
    list(APPEND arguments --schedule "${ARG_SCHEDULE}")
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    list(APPEND arguments --ranks "${ranks}")
  endforeach()
  foreach(definition IN LISTS ARG_DEFINE)
    list(APPEND arguments -D "${definition}")
  endforeach()
  foreach(choice DTYPES OPS)
    if(ARG_${choice})
      string(TOLOWER "--${choice}" option)
      string(REPLACE ";" "," values "${ARG_${choice}}")
      list(APPEND arguments "${option}=${values}")
    endif()
  endforeach()
  list(APPEND arguments ${COLL_OPTIONS} ${ARG_OPTIONS})

  # A folder per target: two targets may compile one file for different ranks.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/coll/${target}")
  file(MAKE_DIRECTORY "${folder}")
  set(object "${folder}/${name}.o")
  set(header "${folder}/${name}.h")
  add_custom_command(OUTPUT "${object}" "${header}"
    COMMAND Coll::colc ${arguments} -o "${object}"
    DEPENDS "${source}" Coll::colc ${ARG_DEPENDS}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Compiling ${name}.o from ${file}"
    VERBATIM)
  add_custom_target(${target}-${name} DEPENDS "${object}" "${header}")
  add_dependencies(${target} ${target}-${name})

  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE "${object}")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE Coll::runtime)
endfunction()

# coll_add_standard(TARGET RANKS N|A..B ... [DTYPES ...] [OPS ...])
#
# Compiles the library's schedules (standard.coll) for these ranks and links them into
# TARGET, which includes "coll/use_standard.h" and calls coll_use_standard.
function(coll_add_standard target)
  set(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/standard.coll")
  if(NOT EXISTS "${file}") # the source tree
    set(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../lib/Library/standard.coll")
  endif()
  coll_add_schedule(${target} "${file}" ${ARGN})
endfunction()
