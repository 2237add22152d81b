# SPDX-License-Identifier: MIT
#
# Installation: headers, libraries, the CMake package `ggml` with the targets and variables that clients read, pkg-config.
# The installed tree may be moved: every path in it is relative.
include(CMakePackageConfigHelpers)

file(GLOB PUBLIC_HEADERS ${CMAKE_SOURCE_DIR}/include/*.h)
file(GLOB MODULE_HEADERS ${CMAKE_SOURCE_DIR}/include/module/*.h)
install(FILES ${PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${MODULE_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/module)

foreach(library ggml ggml-base ggml-cpu)
    set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
endforeach()
install(TARGETS ggml ggml-base ggml-cpu EXPORT ggml-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(GGML_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ggml)
set(GGML_INCLUDE_INSTALL_DIR ${CMAKE_INSTALL_INCLUDEDIR})
set(GGML_LIB_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ggml-targets NAMESPACE ggml:: DESTINATION ${GGML_PACKAGE_DIR})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/ggml-config.cmake.in ${CMAKE_BINARY_DIR}/ggml-config.cmake
                              INSTALL_DESTINATION ${GGML_PACKAGE_DIR}
                              PATH_VARS GGML_INCLUDE_INSTALL_DIR GGML_LIB_INSTALL_DIR)
# ggml-version.cmake is upstream's name of this file; find_package itself looks for ggml-config-version.cmake.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ggml-config-version.cmake VERSION ${PROJECT_VERSION}
                                 COMPATIBILITY SameMajorVersion)
configure_file(${CMAKE_BINARY_DIR}/ggml-config-version.cmake ${CMAKE_BINARY_DIR}/ggml-version.cmake COPYONLY)
install(FILES ${CMAKE_BINARY_DIR}/ggml-config.cmake ${CMAKE_BINARY_DIR}/ggml-config-version.cmake
              ${CMAKE_BINARY_DIR}/ggml-version.cmake DESTINATION ${GGML_PACKAGE_DIR})

# Folders of the .pc file, relative to it where they lie below the prefix (an absolute one was asked for: it stays).
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(GGML_PKGCONFIG_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up /prefix/${pkgconfig_dir} /prefix)
    string(REGEX REPLACE "/$" "" GGML_PKGCONFIG_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(kind INCLUDE LIB)
    set(GGML_PKGCONFIG_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
    if(IS_ABSOLUTE ${CMAKE_INSTALL_${kind}DIR})
        set(GGML_PKGCONFIG_${kind} ${CMAKE_INSTALL_${kind}DIR})
    endif()
endforeach()
if(GGML_MAX_NAME)
    set(GGML_PKGCONFIG_CFLAGS " -DGGML_MAX_NAME=${GGML_MAX_NAME}")
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/ggml.pc.in ${CMAKE_BINARY_DIR}/ggml.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/ggml.pc DESTINATION ${pkgconfig_dir})
