-- Deletes what belongs to a user alone, apart from memberships. The webhook endpoints get the state of
-- deleted ones.
-- @none
WITH sign_ins_of_user AS (DELETE FROM sign_ins WHERE user_id = :id),
  passwords AS (DELETE FROM user_passwords WHERE user_id = :id),
  second_factors AS (DELETE FROM user_totp WHERE user_id = :id),
  codes AS (DELETE FROM recovery_codes WHERE user_id = :id),
  identities_of_user AS (DELETE FROM identities WHERE user_id = :id),
  passkeys_of_user AS (DELETE FROM passkeys WHERE user_id = :id),
  challenges AS (DELETE FROM passkey_challenges WHERE user_id = :id),
  tokens AS (DELETE FROM one_time_tokens WHERE user_id = :id OR email = :email),
  mails_to_user AS (DELETE FROM mails WHERE user_id = :id OR recipient = :email),
  exports AS (DELETE FROM account_exports WHERE user_id = :id),
  keys AS (DELETE FROM api_keys WHERE user_id = :id),
  -- The usage of a project stays the sum of what all have used in it.
  usage_outside_projects AS (DELETE FROM usage_counts WHERE user_id = :id AND project_id = ''),
  answers AS (DELETE FROM idempotency_records WHERE owner_id = :id),
  turns AS (DELETE FROM source_turns WHERE owner_id = :id),
  invitations_of_user AS (DELETE FROM invitations WHERE user_id = :id OR email = :email),
  endpoints AS (
    UPDATE webhook_endpoints SET {webhooks/deleted-endpoint} WHERE user_id = :id AND deleted_at IS NULL
  ),
  customers_of_user AS (
    UPDATE customers SET {customers/forgotten} WHERE user_id = :id
  ),
  settings_of_user AS (DELETE FROM settings WHERE user_id = :id)
DELETE FROM avatars WHERE user_id = :id
