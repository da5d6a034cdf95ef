# SPDX-License-Identifier: MIT
#
# Tests with limits on what they may leave behind:
#
#   include(HoldtraceTest)        # CMAKE_MODULE_PATH has the directory of this file
#   holdtrace_add_test(NAME parser COMMAND test_parser file.txt
#                      LIMITS leak>0 fd>0 wait>200ms
#                      OPTIONS --source-root=${CMAKE_SOURCE_DIR})
#
# COMMAND is as for add_test(), and may be a target. Without LIMITS, those of holdtrace-test apply.
# The test fails if a limit is broken or unknown. Without holdtrace, it is not run.

set(HOLDTRACE_CI_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})
find_program(HOLDTRACE_COMMAND holdtrace)

function(holdtrace_add_test)
	cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME" "COMMAND;LIMITS;OPTIONS")
	if(test_LIMITS)
		list(JOIN test_LIMITS "," limits)
		list(APPEND test_OPTIONS "--fail-on=${limits}")
	endif()
	list(POP_FRONT test_COMMAND program)
	if(TARGET ${program})
		set(program $<TARGET_FILE:${program}>)
	endif()
	add_test(NAME ${test_NAME}
		COMMAND ${HOLDTRACE_CI_DIRECTORY}/holdtrace-test ${test_OPTIONS} -- ${program} ${test_COMMAND})
	set_tests_properties(${test_NAME} PROPERTIES ENVIRONMENT "HOLDTRACE=${HOLDTRACE_COMMAND}")
	if(NOT HOLDTRACE_COMMAND)
		set_tests_properties(${test_NAME} PROPERTIES DISABLED TRUE)
	endif()
endfunction()
