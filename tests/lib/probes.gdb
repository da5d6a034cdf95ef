# SPDX-License-Identifier: MIT
# Prints a line for each sampled block that the two probes of libholdtrace.so report.
set breakpoint pending on
break -probe-stap otel_memory:alloc
commands
silent
printf "alloc %lu %lu %lu\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "free %lu\n", $_probe_arg0
continue
end
run
