-- Renames trigger functions after what they do. Triggers refer to functions by id, so nothing else changes.
ALTER FUNCTION "spread_project_status"() RENAME TO "copy_project_status";
ALTER TRIGGER "projects_spread_status" ON "projects" RENAME TO "projects_copy_status";

ALTER FUNCTION "require_living_user"() RENAME TO "require_existing_user";
ALTER TRIGGER "members_require_living_user" ON "members" RENAME TO "members_require_existing_user";

ALTER FUNCTION "tell_key_change"() RENAME TO "notify_key_change";
ALTER TRIGGER "api_keys_tell_change" ON "api_keys" RENAME TO "api_keys_notify_change";
ALTER FUNCTION "tell_owner_change"() RENAME TO "notify_owner_change";
ALTER TRIGGER "users_tell_change" ON "users" RENAME TO "users_notify_change";

ALTER FUNCTION "only_transitions"() RENAME TO "require_allowed_transition";
ALTER FUNCTION "only_archived"() RENAME TO "require_unchanged_price";
ALTER FUNCTION "same_amount"() RENAME TO "require_unchanged_order";
ALTER FUNCTION "same_money"() RENAME TO "require_unchanged_payment";
ALTER FUNCTION "never"() RENAME TO "refuse_update";
ALTER FUNCTION "outlive_project"() RENAME TO "detach_from_project";
ALTER TRIGGER "orders_outlive" ON "orders" RENAME TO "orders_detach_from_project";
ALTER TRIGGER "subscriptions_outlive" ON "subscriptions" RENAME TO "subscriptions_detach_from_project";
