-- The cost of the first strategy over that of the best other, by how waits follow each other: the
-- geometric mean of the cells, and the worst. Other columns do as well as waits. Run in the folder
-- of a sweep of strategies.
SELECT
    waits,
    count(*) AS cells,
    count(*) FILTER (verdict = 'dearer') AS dearer_in,
    exp(avg(ln(value))) AS mean_ratio,
    max(value) AS worst_ratio,
    arg_max(best_other, value) AS worst_beside
FROM 'cells.csv'
GROUP BY waits
ORDER BY mean_ratio DESC;
