# SPDX-License-Identifier: MIT
#
# Flags of all targets. Floating-point contraction is off so that encoders and references give the same bytes with
# every compiler; kernels, whose results have a bound and not a byte pattern, switch it on for themselves.
find_package(Threads REQUIRED)

function(graft_target target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -ffp-contract=off
                           $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
    if(GRAFT_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    if(GGML_MAX_NAME)
        target_compile_definitions(${target} PUBLIC GGML_MAX_NAME=${GGML_MAX_NAME})
    endif()
    if(GRAFT_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${GRAFT_SANITIZE} -fno-omit-frame-pointer -g)
        if(GRAFT_SANITIZE MATCHES "undefined")
            target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined)
        endif()
        target_link_options(${target} PRIVATE -fsanitize=${GRAFT_SANITIZE})
    endif()
endfunction()

# A shared library from its sources; the objects are a target of their own (<target>-objects).
function(graft_library target)
    add_library(${target}-objects OBJECT ${ARGN})
    graft_target(${target}-objects)
    target_include_directories(${target}-objects PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/module
                               ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/cpu)
    target_compile_options(${target}-objects PRIVATE -fexceptions) # a client's callback may throw through us
    add_library(${target} SHARED $<TARGET_OBJECTS:${target}-objects>)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                          LINKER_LANGUAGE CXX LINK_DEPENDS ${GRAFT_EXPORTS})
    target_link_options(${target} PRIVATE -Wl,--version-script=${GRAFT_EXPORTS})
    if(GGML_MAX_NAME)
        target_compile_definitions(${target} PUBLIC GGML_MAX_NAME=${GGML_MAX_NAME})
    endif()
    if(GRAFT_SANITIZE)
        target_link_options(${target} PRIVATE -fsanitize=${GRAFT_SANITIZE})
    else()
        target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
endfunction()
