-- Its condition follows from a key, so that meters are found by their keys.
DROP INDEX meters_key_idx;
CREATE UNIQUE INDEX meters_key_idx ON meters (key, organization_id) NULLS NOT DISTINCT
  WHERE key IS NOT NULL;

-- Adds to the usage of a user on a day, of one credential, project and model, and returns 1. A user has at
-- most 1,000 rows with a credential on a day, and 2,000 with a project: further ones count without them. What
-- meters with a source measure counts for a customer, too: the organization of the project, or that of a
-- service account, or the user whose limits the user shares.
CREATE OR REPLACE FUNCTION count_usage(
  of_user text, on_day date, credential text, project text, of_model text, more_requests bigint,
  more_errors bigint, more_downloads bigint, more_answers bigint, more_prompt_tokens bigint,
  more_completion_tokens bigint, more_cost bigint
)
RETURNS integer
LANGUAGE plpgsql
AS $function$
DECLARE
  existing bigint;
  in_project text := project;
  payer text;
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM usage_counts c
    WHERE (c.user_id, c.day, c.credential_id, c.project_id, c.model)
      = (of_user, on_day, credential, project, of_model)
  ) THEN
    SELECT count(*) INTO existing FROM usage_counts c WHERE c.user_id = of_user AND c.day = on_day;
    IF existing >= 1000 THEN credential := ''; END IF;
    IF existing >= 2000 THEN project := ''; END IF;
  END IF;
  INSERT INTO usage_counts AS c (user_id, day, credential_id, project_id, model, requests, errors,
    downloaded_bytes, answers, prompt_tokens, completion_tokens, cost_micros)
  VALUES (of_user, on_day, credential, project, of_model, more_requests, more_errors, more_downloads,
    more_answers, more_prompt_tokens, more_completion_tokens, more_cost)
  ON CONFLICT (user_id, day, credential_id, project_id, model) DO UPDATE SET
    requests = c.requests + excluded.requests,
    errors = c.errors + excluded.errors,
    downloaded_bytes = c.downloaded_bytes + excluded.downloaded_bytes,
    answers = c.answers + excluded.answers,
    prompt_tokens = c.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = c.completion_tokens + excluded.completion_tokens,
    cost_micros = c.cost_micros + excluded.cost_micros;
  IF EXISTS (SELECT FROM meters m WHERE m.source IS NOT NULL AND m.active) THEN
    -- The organization of the project, or that of a service account, pays before the user.
    payer := coalesce(
      (SELECT k.id FROM customers k JOIN projects p ON p.organization_id = k.buyer_organization_id
        WHERE p.id = in_project AND k.organization_id IS NULL AND k.deleted_at IS NULL),
      (SELECT k.id FROM customers k WHERE k.buyer_organization_id = account_of(of_user)
        AND k.organization_id IS NULL AND k.deleted_at IS NULL),
      (SELECT k.id FROM customers k WHERE k.user_id = limits_of(of_user)
        AND k.organization_id IS NULL AND k.deleted_at IS NULL));
    INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity)
    SELECT m.id, k.id,
      date_trunc('hour', payments_now() + k.clock_offset * interval '1 millisecond', 'UTC'),
      CASE WHEN m.dimensions = '{}' THEN '' ELSE (
        SELECT jsonb_agg(CASE d.name WHEN 'model' THEN nullif(of_model, '') ELSE nullif(in_project, '') END
          ORDER BY d.place)::text
        FROM unnest(m.dimensions) WITH ORDINALITY d (name, place)) END,
      u.quantity
    FROM customers k
      CROSS JOIN (VALUES ('requests', more_requests), ('downloaded_bytes', more_downloads),
        ('answers', more_answers), ('prompt_tokens', more_prompt_tokens),
        ('completion_tokens', more_completion_tokens),
        ('tokens', more_prompt_tokens + more_completion_tokens), ('cost_micros', more_cost))
        u (source, quantity)
      JOIN meters m ON m.source = u.source AND m.active
    WHERE k.id = payer AND u.quantity <> 0;
  END IF;
  RETURN 1;
END $function$;
