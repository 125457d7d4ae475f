-- Which subject costs least, in how many cells. Run in the folder of a sweep of strategies.
WITH ranked AS (
    SELECT subject, cost_ns, min(cost_ns) OVER (PARTITION BY key, weight) AS least
    FROM read_ndjson('model=*/rows.ndjson', hive_partitioning = true)
)
SELECT subject, count(*) FILTER (cost_ns = least) AS cheapest_in, count(*) AS cells
FROM ranked
GROUP BY subject
ORDER BY cheapest_in DESC, subject;
