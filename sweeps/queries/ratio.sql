-- The cost of adaptive over that of the best other, seed by seed, by how waits follow each
-- other: the geometric mean of the cells, and the worst. Other columns do as well as waits.
WITH rows AS (
    SELECT * FROM read_ndjson('model=*/rows.ndjson', hive_partitioning = true)
),
others AS (
    SELECT key, weight, arg_min(subject, cost_ns) AS other, arg_min(by_seed, cost_ns) AS best
    FROM rows
    WHERE subject <> 'adaptive'
    GROUP BY key, weight
),
ratios AS (
    SELECT
        rows.*,
        other,
        list_aggregate(list_transform(by_seed, lambda cost, i: cost / best[i]), 'median') AS ratio
    FROM rows JOIN others USING (key, weight)
    WHERE subject = 'adaptive'
)
SELECT
    waits,
    count(*) AS cells,
    exp(avg(ln(ratio))) AS mean_ratio,
    max(ratio) AS worst_ratio,
    arg_max(other, ratio) AS worst_beside
FROM ratios
GROUP BY waits
ORDER BY mean_ratio DESC;
