-- The caller and the filter of a read, as columns. In FROM, a subquery with OFFSET 0 hides the values from
-- the planner, so that the plan for the values costs no less than the generic one, and PostgreSQL keeps that.
-- Otherwise it would plan the statement for each call, which takes longer than to run it.
:user_id::text AS user_id, :scopes::text[] AS scopes, :types?::text[] AS types,
:all_projects::boolean AS all_projects, :project_ids::text[] AS project_ids,
:in_project::boolean AS in_project, :operator::boolean AS operator, :limit::bigint AS page,
:first_block::bigint AS first_block, :unlimited_key_types::text[] AS unlimited_key_types,
NULL::bigint AS no_limit
