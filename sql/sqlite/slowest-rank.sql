-- In each job, how long each rank ran and waited, the rank that waited least first, and the call
-- site of its longest wait. If ranks wait for each other in calls that block (files, sockets, locks),
-- the first one is the rank that the others wait for. MPI libraries that poll do not block.
SELECT job, rank, host, duration_ns, total_ns AS wait_ns, coalesce(waits.longest_ns, 0) AS longest_ns,
	coalesce(sites.function, '') AS function, coalesce(sites.stack, '') AS stack
FROM (
	SELECT run, job, rank, host, duration_ns, coalesce(sum(wait_ns), 0) AS total_ns,
		max(longest_ns) AS most_ns
	FROM runs LEFT JOIN waits USING (run)
	WHERE rank IS NOT NULL GROUP BY run) AS ranks
LEFT JOIN waits ON waits.run = ranks.run AND waits.longest_ns = most_ns
LEFT JOIN sites USING (site)
GROUP BY ranks.run ORDER BY job, wait_ns, rank LIMIT 20;
