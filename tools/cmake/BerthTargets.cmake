# berth_library, berth_program and berth_test; warnings, options and sanitizers as interface targets.

find_package(Threads REQUIRED)

set(BERTH_SANITIZE "" CACHE STRING "sanitizers, as in -fsanitize=: address,undefined or thread")

# The cache works across checkouts: paths are relative to the project, the folder is not hashed. It looks up the headers that the
# compiler names (CCACHE_DEPEND): no unit is preprocessed for the cache alone.
find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 ${BERTH_CCACHE})
endif()
find_program(BERTH_MOLD mold)
if(BERTH_MOLD AND NOT CMAKE_CROSSCOMPILING)  # Debian's cross compiler looks for a mold with the name of its processor
  add_link_options(-fuse-ld=mold)
endif()

add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(berth_options INTERFACE Threads::Threads)
# GCC collects garbage from this heap size (KiB) on: a quarter of the time of a large unit at the default of 128 MiB.
target_compile_options(berth_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=600000>)
# The same decisions as on x86-64: there char has a sign, and a product is rounded before it is added to something. The note about
# GCC 10.1 (psabi) is for objects of earlier compilers.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(berth_options INTERFACE -fsigned-char -ffp-contract=off -Wno-psabi)
endif()
if(BERTH_SANITIZE)
  target_compile_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # GCC's manual: with sanitizers this warning is often wrong (here in Boost.Beast's headers).
  target_compile_options(berth_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()

add_library(berth_warnings INTERFACE)
target_compile_options(berth_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wno-missing-field-initializers -Werror>)

# A unit is several sources of one target, compiled together: headers are parsed once for all of them.
# Names of one unit share a scope, anonymous namespaces too. A build of single sources (0) recompiles less.
set(BERTH_UNIT_SOURCES 0 CACHE STRING "how many sources a translation unit has, at most; 0: one each")

# berth_units(<variable> <target> SOURCE…) sets <variable> to the files to compile for these sources.
# Paths in a unit are relative to the project, so that the compiler's cache works across checkouts.
# Generated sources, and sources with options of their own, stay alone.
function(berth_units variable target)
  set(single "")
  set(pending "")
  foreach(source IN LISTS ARGN)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" generated)
    if(BERTH_UNIT_SOURCES LESS 2 OR generated OR options OR definitions
       OR NOT source MATCHES "[.]cc$")
      list(APPEND single "${source}")
    else()
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
      list(APPEND pending "${path}")
    endif()
  endforeach()
  list(LENGTH pending count)
  if(count LESS 2)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  # Units of equal size: 9 sources at 8 a unit are 5 and 4.
  math(EXPR units "(${count} + ${BERTH_UNIT_SOURCES} - 1) / ${BERTH_UNIT_SOURCES}")
  math(EXPR size "(${count} + ${units} - 1) / ${units}")
  math(EXPR last "${units} - 1")
  set(files ${single})
  foreach(number RANGE ${last})
    math(EXPR first "${number} * ${size}")
    list(SUBLIST pending ${first} ${size} members)
    set(text "")
    foreach(member IN LISTS members)
      string(APPEND text "#include \"${member}\"\n")
    endforeach()
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${number}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
    # GCC warns about classes with members from an anonymous namespace outside the main file.
    set_source_files_properties("${unit}" PROPERTIES
      COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    list(APPEND files "${unit}")
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# Code that runs once for a command or an object, and code of tests: the optimisation takes two thirds of the time.
set(berth_quick_options $<$<CONFIG:Release>:-O1>)

# berth_library(<name> [PURE] [QUICK] [SOURCES …] [DEPS …]) -> target berth_<name>, alias berth::<name>.
# Without sources: headers only. PURE: tools/check verifies with nm that the archive is pure. QUICK: compiled with berth_quick_options.
function(berth_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PURE;QUICK" "" "SOURCES;DEPS")
  if(arg_SOURCES)
    berth_units(files ${name} ${arg_SOURCES})
    add_library(berth_${name} STATIC ${files})
    target_link_libraries(berth_${name} PUBLIC berth_options ${arg_DEPS} PRIVATE berth_warnings)
    if(arg_QUICK)
      target_compile_options(berth_${name} PRIVATE ${berth_quick_options})
    endif()
  else()
    add_library(berth_${name} INTERFACE)
    target_link_libraries(berth_${name} INTERFACE berth_options ${arg_DEPS})
  endif()
  add_library(berth::${name} ALIAS berth_${name})
  if(arg_PURE)
    set_property(GLOBAL APPEND PROPERTY BERTH_PURE_TARGETS berth_${name})
  endif()
endfunction()

# berth_program(<name> SOURCES … [DEPS …]) -> program <name> at the top of the build folder, part of
# the target `programs`, which tools/build builds.
add_custom_target(programs)
function(berth_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  berth_units(files ${name} ${arg_SOURCES})
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE berth_options berth_warnings ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  add_dependencies(programs ${name})
endfunction()

# Writes <build>/pure_archives.txt for tools/check: one line per PURE target, name and archive.
function(berth_write_pure_archives)
  get_property(targets GLOBAL PROPERTY BERTH_PURE_TARGETS)
  set(lines "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      string(APPEND lines "${target} $<TARGET_FILE:${target}>\n")
    endif()
  endforeach()
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/pure_archives.txt" CONTENT "${lines}")
endfunction()

# Writes <build>/test_programs.txt for tools/test: one line per berth_test, NAME|LABEL|SOURCE…, paths from the project's root.
function(berth_write_test_programs)
  get_property(lines GLOBAL PROPERTY BERTH_TEST_PROGRAMS)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/test_programs.txt" CONTENT "${lines}")
endfunction()

# berth_test(<name> SOURCES … [DEPS …] [LABEL unit] [TIMEOUT 60] [ENVIRONMENT A=B …] [NO_MAIN] [WHOLE]
#            [NO_CASES] [PURE]) -> program test_<name>.
# ctest sees every case as NAME.SUITE.CASE, in a process of its own. WHOLE: one case for the program,
# where its tests share an expensive setup. NO_CASES: the caller adds the cases.
# PURE: the outcome depends on the program alone; a pass is remembered, as that of a property
# (tools/lib/remember.py).
# TIMEOUT is for one case of ctest. A skipped test is reported as skipped (tools/test).
include(GoogleTest)
# Skipped tests and no failed ones: GoogleTest lists failures last. The same for Python's unittest.
set(BERTH_GTEST_SKIPPED "SKIPPED \\] [0-9]+ tests?, listed below:\n([^\n]*SKIPPED[^\n]*\n)+\n*$")
set(BERTH_UNITTEST_SKIPPED "\nOK \\(.*skipped=")
function(berth_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MAIN;WHOLE;NO_CASES;PURE" "LABEL;TIMEOUT"
                        "SOURCES;DEPS;ENVIRONMENT")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  berth_units(files test_${name} ${arg_SOURCES})
  add_executable(test_${name} ${files})
  target_link_libraries(test_${name} PRIVATE berth_options berth_warnings ${arg_DEPS} GTest::gmock)
  if(arg_LABEL STREQUAL unit)
    # A third of the time to compile; the tested libraries are optimised as usual.
    target_compile_options(test_${name} PRIVATE -O0)
  else()
    target_compile_options(test_${name} PRIVATE ${berth_quick_options})
  endif()
  if(NOT arg_NO_MAIN)
    target_link_libraries(test_${name} PRIVATE GTest::gmock_main)
  endif()
  if(arg_NO_CASES)
    return()
  endif()
  set(line "${name}|${arg_LABEL}")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    string(APPEND line "|${source}")
  endforeach()
  string(REPLACE "${PROJECT_SOURCE_DIR}/" "" line "${line}")
  set_property(GLOBAL APPEND_STRING PROPERTY BERTH_TEST_PROGRAMS "${line}\n")
  set(properties LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${berth_slots_compute})
  if(arg_ENVIRONMENT)
    string(REPLACE ";" "\\;" environment "${arg_ENVIRONMENT}")
    list(APPEND properties ENVIRONMENT "${environment}")
  endif()
  if(arg_PURE OR arg_LABEL STREQUAL property)
    set_target_properties(test_${name} PROPERTIES CROSSCOMPILING_EMULATOR "${BERTH_REMEMBER}")
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES ${properties}
                         SKIP_REGULAR_EXPRESSION "${BERTH_GTEST_SKIPPED}")
  else()
    gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST NO_PRETTY_TYPES
                         NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  endif()
endfunction()
