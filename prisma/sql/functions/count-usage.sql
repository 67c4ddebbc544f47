-- Adds to the usage of a user on a day, of one credential, project and model, and returns 1. A user has at
-- most 1,000 rows with a credential on a day, and 2,000 with a project: further ones count without them.
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
  RETURN 1;
END $function$;
