-- The lowest id with this prefix of a time: ids begin with their time of creation, in milliseconds.
CREATE OR REPLACE FUNCTION id_at(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
IMMUTABLE
STRICT
PARALLEL SAFE
AS $function$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> (5 * digit)) & 31)::int, 1), '' ORDER BY digit DESC
  ) || repeat('0', 16)
  FROM (SELECT least(greatest(ceil(extract(epoch FROM at) * 1000), 0), 281474976710655)::bigint AS ms) times,
    generate_series(0, 9) AS digit
$function$;
