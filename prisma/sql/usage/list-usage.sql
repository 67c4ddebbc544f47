-- What was used on some days, in groups: by a user, or by all in a project or in those of an organization.
-- @page
-- @type meter Schemas['UsageMeter']
SELECT g.id, g.day, g.project_id, g.model, g.credential_id, g.meter, g.quantity
FROM (
  SELECT
    concat_ws('/', coalesce(:project_id?, :organization_id?, :user_id), coalesce(k.day::text, '-'),
      coalesce(k.project_id, '-'), coalesce(k.credential_id, '-'), k.meter, coalesce(k.model, '-')) AS "id!",
    coalesce(k.day::text, '') AS day_or_none, k.*
  FROM (
    SELECT CASE WHEN 'day' = ANY(:group_by::text[]) THEN c.day END AS day,
      CASE WHEN 'project_id' = ANY(:group_by::text[]) THEN nullif(c.project_id, '') END AS project_id,
      CASE WHEN 'model' = ANY(:group_by::text[]) THEN nullif(c.model, '') END AS model,
      CASE WHEN 'credential_id' = ANY(:group_by::text[]) THEN nullif(c.credential_id, '') END
        AS credential_id,
      m.meter, sum(m.quantity)::bigint AS "quantity!"
    FROM (
      SELECT * FROM usage_counts
      WHERE user_id = :user_id AND :project_id?::text IS NULL AND :organization_id?::text IS NULL
        AND day BETWEEN :from::text::date AND :to::text::date
      UNION ALL
      SELECT * FROM usage_counts
      WHERE project_id = :project_id? AND day BETWEEN :from::text::date AND :to::text::date
        AND (:organization_id? IS NULL OR project_id IN ({projects-of-organization}))
      UNION ALL
      SELECT * FROM usage_counts
      WHERE project_id IN ({projects-of-organization}) AND :project_id? IS NULL
        AND day BETWEEN :from::text::date AND :to::text::date
    ) c
    CROSS JOIN LATERAL (VALUES ('requests', c.requests), ('errors', c.errors),
      ('downloaded_bytes', c.downloaded_bytes), ('answers', c.answers), ('prompt_tokens', c.prompt_tokens),
      ('completion_tokens', c.completion_tokens), ('cost_micros', c.cost_micros)) AS m(meter, quantity)
    WHERE m.meter = ANY(:meters::text[])
      AND (:key_projects?::text[] IS NULL OR c.project_id = ANY(:key_projects?))
    GROUP BY 1, 2, 3, 4, 5
    HAVING sum(m.quantity) <> 0
  ) k
) g
WHERE true
-- @sort day
g.day_or_none
-- @id
g.id
