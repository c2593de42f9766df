# coll_embed_text(OUTPUT.cpp FUNCTION FILES...)
#   Makes OUTPUT.cpp, which defines llvm::ArrayRef<EmbeddedText> coll::FUNCTION()
#   with one element per file, in the order given (lib/Support/Embedded.h).
#
# C++ 20 has no #embed and string literals cannot hold arbitrary text, so every
# byte is written as an escape. The file is also the script that does it.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(COLL_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")
  function(coll_embed_text output function)
    set(paths)
    foreach(file IN LISTS ARGN)
      get_filename_component(path "${file}" ABSOLUTE)
      list(APPEND paths "${path}")
    endforeach()
    # "|" instead of ";", which a command line cannot carry.
    string(REPLACE ";" "|" joined "${paths}")
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFUNCTION=${function}"
              "-DFILES=${joined}" -P "${COLL_EMBED_SCRIPT}"
      DEPENDS ${paths} "${COLL_EMBED_SCRIPT}"
      COMMENT "Embedding ${function}" VERBATIM)
  endfunction()
  return()
endif()

string(REPLACE "|" ";" FILES "${FILES}")
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${hex}")
  # One line per line of the file, for the sake of those who have to look at it.
  string(REPLACE "\\x0a" "\\x0a\"\n     \"" text "${text}")
  string(APPEND entries "    {\"${name}\",\n     {\"${text}\", ${bytes}}},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by Embed.cmake.
#include \"lib/Support/Embedded.h\"

namespace coll {
llvm::ArrayRef<EmbeddedText> ${FUNCTION}();
} // namespace coll

llvm::ArrayRef<coll::EmbeddedText> coll::${FUNCTION}() {
  static const EmbeddedText texts[] = {
${entries}  };
  return texts;
}
")
