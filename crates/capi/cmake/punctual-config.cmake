# find_package(punctual): the target punctual::punctual, for C and for C++17 (punctual.hpp).
# With punctual_USE_STATIC it is the static library; a build folder may switch it. The two kinds are
# cached apart: punctual_STATIC_LIBRARY and punctual_SHARED_LIBRARY.

get_filename_component(punctual_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_path(punctual_INCLUDE_DIR punctual.h HINTS "${punctual_PREFIX}/include" NO_DEFAULT_PATH)
set(punctual_KIND SHARED)
set(punctual_NAMES punctual)
if(punctual_USE_STATIC)
  set(punctual_KIND STATIC)
  set(punctual_NAMES libpunctual.a punctual.lib)
endif()
find_library(punctual_${punctual_KIND}_LIBRARY NAMES ${punctual_NAMES} HINTS "${punctual_PREFIX}"
  PATH_SUFFIXES lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}" lib64 NO_DEFAULT_PATH)
set(punctual_LIBRARY "${punctual_${punctual_KIND}_LIBRARY}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(punctual
  REQUIRED_VARS punctual_${punctual_KIND}_LIBRARY punctual_INCLUDE_DIR VERSION_VAR punctual_VERSION)

if(punctual_FOUND AND NOT TARGET punctual::punctual)
  add_library(punctual::punctual UNKNOWN IMPORTED)
  set_target_properties(punctual::punctual PROPERTIES
    IMPORTED_LOCATION "${punctual_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${punctual_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
  if(punctual_USE_STATIC AND UNIX)
    find_package(Threads REQUIRED)
    set_property(TARGET punctual::punctual APPEND PROPERTY
      INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
  endif()
endif()
mark_as_advanced(punctual_INCLUDE_DIR punctual_${punctual_KIND}_LIBRARY)
