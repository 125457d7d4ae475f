# The version of the header that is installed with this; 0.x goes with the same 0.x only.

set(version "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../../include/punctual.h" line
    REGEX "^#define PUNCTUAL_VERSION_${part} ")
  string(REGEX REPLACE ".* " "" number "${line}")
  list(APPEND version ${number})
endforeach()
list(JOIN version "." PACKAGE_VERSION)
list(GET version 0 major)
list(GET version 1 minor)

if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(PACKAGE_FIND_VERSION_MAJOR EQUAL major AND PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION
    AND (major GREATER 0 OR PACKAGE_FIND_VERSION_MINOR EQUAL minor))
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
