-- Which programs came closest to a limit of descriptors: the most that one process had open, and
-- how many were left open at exit.
SELECT program, max(peak) AS peak, max(open) AS open, sum(opened) AS opened,
	uniqExact(run) AS runs, count() AS processes
FROM holdtrace.descriptors FINAL GROUP BY program ORDER BY peak DESC, program LIMIT 20
