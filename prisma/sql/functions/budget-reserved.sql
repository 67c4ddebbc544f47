-- What answers in progress have reserved of a budget, in the units that it counts. Answers whose process died
-- reserve nothing.
CREATE OR REPLACE FUNCTION budget_reserved(budget text, unit text, heartbeat_timeout double precision)
RETURNS numeric
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce(sum(CASE unit
    WHEN 'answers' THEN 1 WHEN 'tokens' THEN m.reserved_tokens ELSE m.reserved_cost_micros END), 0)
  FROM ai_messages m
  WHERE m.status = 'in_progress' AND m.heartbeat_at > now() - make_interval(secs => heartbeat_timeout)
    AND m.budget_ids @> ARRAY[budget]
$function$;
