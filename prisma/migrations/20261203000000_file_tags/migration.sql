-- A tag of a file has no commas and no surrounding spaces, and does not start with `[`. Tags that were stored
-- otherwise, such as `a,b` or `["a","b"]`, are split.
CREATE FUNCTION pg_temp.split_tags (tags TEXT[]) RETURNS TEXT[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(tag ORDER BY first), '{}')
  FROM (
    SELECT tag, min(n * 1000 + at) AS first
    FROM unnest(tags) WITH ORDINALITY AS stored (whole, n)
    CROSS JOIN LATERAL regexp_split_to_table(whole, ',') WITH ORDINALITY AS split (part, at)
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN whole ~ ',|^[[:space:][]|[[:space:]]$' THEN btrim(part, E' \t\r\n"[]')
        ELSE part
      END AS tag
    ) cleaned
    WHERE tag ~ '[^[:space:]]'
    GROUP BY tag
    ORDER BY first
    LIMIT 20
  ) kept
$$;

UPDATE files SET tags = pg_temp.split_tags(tags)
WHERE EXISTS (SELECT FROM unnest(tags) AS tag WHERE tag ~ ',|^[[:space:][]|[[:space:]]$');

UPDATE uploads SET tags = pg_temp.split_tags(tags)
WHERE EXISTS (SELECT FROM unnest(tags) AS tag WHERE tag ~ ',|^[[:space:][]|[[:space:]]$');
