-- A new id with this prefix of a time, as `newIdAt` of infra/ids.ts makes it: a UUIDv7 in base32.
CREATE OR REPLACE FUNCTION new_id(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
VOLATILE
STRICT
PARALLEL SAFE
AS $function$
  SELECT left(id_at(prefix, at), -16) || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * digit FOR 5)::int, 1), ''
    ORDER BY digit)
  FROM (SELECT ('x7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::bit(80) AS bits) random,
    generate_series(0, 15) AS digit
$function$;
