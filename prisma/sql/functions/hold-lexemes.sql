-- Locks the word counts of a knowledge base until the end of the transaction.
CREATE OR REPLACE FUNCTION hold_lexemes(base text)
RETURNS void
LANGUAGE sql
AS $function$
  SELECT pg_advisory_xact_lock(hashtextextended(base, 7311903266))
$function$;
