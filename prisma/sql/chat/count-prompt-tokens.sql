-- Adds tokens for embeddings and their cost to what a user used on a day, and to the periods of budgets at
-- the time `at`.
count_usage(:user_id, day, coalesce(:credential_id?, ''), coalesce(:project_id?, ''), :model, 0, 0, 0, 0,
  :tokens::bigint, 0, :cost_micros::bigint)
  + count_budgets(:user_id, coalesce(:credential_id?, ''), coalesce(:project_id?, ''), 0, :tokens::bigint,
    :cost_micros::bigint, {at})
