-- Removes the settings that nothing read. The language and the time zone of a user are in the profile: a
-- choice in the settings moves there, unless the profile has one.
UPDATE users u SET locale = s.language FROM settings s
WHERE s.user_id = u.id AND u.locale = 'en' AND s.language <> 'en';
UPDATE users u SET timezone = s.timezone FROM settings s
WHERE s.user_id = u.id AND u.timezone = 'UTC' AND s.timezone <> 'UTC';
ALTER TABLE "settings" DROP COLUMN "language", DROP COLUMN "timezone", DROP COLUMN "notify_email",
  DROP COLUMN "notify_in_app", DROP COLUMN "profile_visibility";
DROP TYPE "ProfileVisibility";
