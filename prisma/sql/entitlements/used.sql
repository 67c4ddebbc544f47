-- What is used of the limit l in the period m.
m.used AS "used?",
CASE WHEN l.maximum < m.used THEN 0 ELSE trim_scale(l.maximum - m.used) END AS "remaining?",
m.resets_at AS "resets_at?"
