-- Whether an event of this type that is in no project needs a key for all projects. `unlimitedKeyTypes` of
-- services/events/log.ts is the value of :unlimited_key_types.
{type} = ANY(:unlimited_key_types::text[])
