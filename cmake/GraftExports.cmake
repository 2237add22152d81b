# SPDX-License-Identifier: MIT
#
# The export list: what public and module headers declare with GGML_API or GGML_BACKEND_API, and nothing else (weak
# instances of C++ templates would be visible without it). One list serves all libraries: a name that a library does
# not define is ignored. It is written at configuration, which runs again when a header changes.
file(GLOB EXPORT_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h ${CMAKE_SOURCE_DIR}/include/module/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${EXPORT_HEADERS})

# Names of the functions that text declares, appended to the list out, one a line in the form of a version script.
function(graft_exported_names text out)
    set(name_of "GGML_(BACKEND_)?API[^;(]*[^A-Za-z0-9_]([A-Za-z0-9_]+) *[(]")
    string(REGEX MATCHALL "${name_of}" declarations "${text}")
    set(lines ${${out}})
    foreach(declaration IN LISTS declarations)
        string(REGEX REPLACE "${name_of}" "\\2" name "${declaration}")
        list(APPEND lines ${name}${ARGN})
    endforeach()
    set(${out} ${lines} PARENT_SCOPE)
endfunction()

set(EXPORTS_C "")
set(EXPORTS_CXX "")
foreach(header IN LISTS EXPORT_HEADERS)
    file(READ ${header} text)
    string(REGEX REPLACE "[][]" " " text "${text}") # brackets and semicolons mean something in CMake's lists
    string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/" " " text "${text}")
    string(REGEX REPLACE "\n#[ \t]*define[^\n]*" "" text "${text}")
    # what follows the end of extern "C" has C++ linkage
    string(FIND "${text}" "#ifdef __cplusplus\n}" end)
    string(SUBSTRING "${text}" 0 ${end} c_text)
    graft_exported_names("${c_text}" EXPORTS_C)
    if(end GREATER -1)
        string(SUBSTRING "${text}" ${end} -1 cxx_text)
        graft_exported_names("${cxx_text}" EXPORTS_CXX "*")
    endif()
endforeach()
list(SORT EXPORTS_C)
string(REPLACE ";" ";\n        " EXPORTS_C "${EXPORTS_C}")
string(REPLACE ";" ";\n            " EXPORTS_CXX "${EXPORTS_CXX}")

set(GRAFT_EXPORTS ${CMAKE_BINARY_DIR}/exports.map)
file(CONFIGURE OUTPUT ${GRAFT_EXPORTS} @ONLY CONTENT [[
{
    global:
        @EXPORTS_C@;
        extern "C++" {
            @EXPORTS_CXX@;
        };
    local:
        *;
};
]])
