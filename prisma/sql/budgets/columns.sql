-- The columns of a budget, from budgets t. An answer without a heartbeat for 30 s reserves nothing.
-- @type subject_type Schemas['Budget']['subject_type']
-- @type unit Schemas['Budget']['unit']
-- @type period Schemas['Budget']['period']
-- @type thresholds Schemas['Budget']['thresholds']
-- @type metadata Schemas['Budget']['metadata']
-- @type created_by Schemas['Budget']['created_by']
t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds!", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used!",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved!",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at?",
t.metadata, t.created_by, t.created_at, t.updated_at
