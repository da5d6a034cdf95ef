-- For which call sites threads wait longest, over all runs: the holder of the lock, or the thread
-- that ended the wait; holder 0: not known.
SELECT kind, holder, sum(waits) AS waits, sum(wait_ns) AS wait_ns, max(longest_ns) AS longest_ns,
	count(DISTINCT run) AS runs,
	coalesce(function, '') AS function, coalesce(stack, '') AS stack
FROM (SELECT run, kind, holder, waits, wait_ns, longest_ns FROM waits)
LEFT JOIN sites ON site = holder
GROUP BY kind, holder ORDER BY sum(wait_ns) DESC, kind, holder LIMIT 20;
