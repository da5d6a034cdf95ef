-- Which programs came closest to a limit of descriptors: the most that one process had open, and
-- how many were left open at exit.
SELECT program, max(peak) AS peak, max(open) AS open, sum(opened) AS opened,
	count(DISTINCT run) AS runs, count(*) AS processes
FROM descriptors GROUP BY program ORDER BY max(peak) DESC, program LIMIT 20;
