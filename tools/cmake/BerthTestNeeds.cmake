# What tests need of the machine. ctest runs as many of them at once as their slots fit into those that tools/test
# offers: BERTH_SLOTS_PER_CORE for each core. The longest of those that fit starts first.
set(BERTH_SLOTS_PER_CORE 4)  # tools/test and tools/sanitize read the number here
set(berth_slots_compute 4)   # a program that computes: a core
set(berth_slots_up 2)        # `berth up` and its clients: half a core, the rest is waiting
set(berth_slots_browser 3)   # a browser on `berth up`
set(berth_slots_plane 3)     # a control plane of Kubernetes and a controller
set(berth_slots_alone 4)     # strangers' programs that take nodes back when the machine is busy

# Before the command of a pure test: a pass is taken from an earlier run of the same bytes (tools/lib/remember.py).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(BERTH_REMEMBER ${Python3_EXECUTABLE} -B "${PROJECT_SOURCE_DIR}/tools/lib/remember.py" --)

# berth_test_needs(<test> NEEDS compute|up|browser|plane|alone SECONDS s [MEMORY GiB] [PROGRAMS name…])
#   SECONDS   how long the test runs on two cores; a busy machine may take five times as long, and four minutes more
#   MEMORY    tools/test says how much the machine has
#   PROGRAMS  of other projects, that tools/test builds or installs for the test: tools/lib/test_programs.py; those that Go builds give the test
#             the label go
function(berth_test_needs test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NEEDS;SECONDS;MEMORY" "PROGRAMS")
  math(EXPR limit "240 + 5 * ${arg_SECONDS}")
  set_tests_properties(${test} PROPERTIES PROCESSORS ${berth_slots_${arg_NEEDS}} COST ${arg_SECONDS} TIMEOUT ${limit})
  if(arg_MEMORY)
    set_tests_properties(${test} PROPERTIES RESOURCE_GROUPS "memory:${arg_MEMORY}")
  endif()
  if(arg_PROGRAMS)
    list(JOIN arg_PROGRAMS "," programs)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "BERTH_NEEDS=${programs}")
    list(REMOVE_ITEM arg_PROGRAMS dask java openid promtool site)
    if(arg_PROGRAMS)
      set_property(TEST ${test} APPEND PROPERTY LABELS go)
    endif()
  endif()
endfunction()

# berth_python_test(<folder name> <name> NEEDS … SECONDS s [CLASSES class…] [PARTS n] [WITH name…] [ENVIRONMENT A=B…] …): the test
# <folder name>.<name> is test_<name>.py in this folder, with a label of the folder. With CLASSES each class of the file is a test of ctest,
# which has its own cluster and runs beside the others; SECONDS are those of the longest. With PARTS each n-th test of the file is one,
# <folder name>.<name>.part<k>. WITH names further files of the same process,
# which share what the harness keeps (tests/py/run.py); the test has the names of all. Further arguments are those of berth_test_needs.
function(berth_python_test folder name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PARTS" "CLASSES;WITH;ENVIRONMENT;NEEDS;SECONDS;MEMORY;PROGRAMS")
  set(files ${name} ${arg_WITH})
  list(TRANSFORM files PREPEND ${folder}. OUTPUT_VARIABLE tests)
  list(JOIN tests "," tests)
  list(TRANSFORM files REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/test_\\1.py")
  if(arg_CLASSES)
    list(TRANSFORM arg_CLASSES PREPEND ${folder}.${name}. OUTPUT_VARIABLE tests)
  endif()
  if(arg_PARTS)
    set(tests "")
    foreach(part RANGE 1 ${arg_PARTS})
      list(APPEND tests ${folder}.${name}.part${part})
    endforeach()
  endif()
  foreach(test IN LISTS tests)
    string(REGEX MATCH "[A-Z][A-Za-z]*$" class ${test})
    set(part "")
    if(test MATCHES "part([0-9]+)$")
      set(part --part ${CMAKE_MATCH_1}/${arg_PARTS})
    endif()
    add_test(NAME ${test} COMMAND ${Python3_EXECUTABLE} -B "${PROJECT_SOURCE_DIR}/tests/py/run.py" -v ${part} ${files} ${class})
    set_tests_properties(${test} PROPERTIES LABELS ${folder}
      SKIP_REGULAR_EXPRESSION "${BERTH_UNITTEST_SKIPPED}" ENVIRONMENT "${arg_ENVIRONMENT}")
    berth_test_needs(${test} NEEDS ${arg_NEEDS} SECONDS ${arg_SECONDS} MEMORY ${arg_MEMORY} PROGRAMS ${arg_PROGRAMS})
  endforeach()
endfunction()
