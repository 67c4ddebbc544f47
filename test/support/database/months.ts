// Old months of events in a test database, which begins with the present month.
import type { Database } from '../../../infra/database/database.ts'

/** Makes the three months before this one. The table of everything earlier must be empty. */
export async function makeOldMonths({ pool }: Database): Promise<void> {
  await pool.query(`DO $$
    DECLARE
      base text;
      prefix text;
      old text;
      month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') - interval '3 months';
      bound text;
    BEGIN
      FOR base, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
        SELECT p.name INTO STRICT old FROM month_partitions() p WHERE p.name ~ ('^' || base || '_before_');
        bound := id_at(prefix, month AT TIME ZONE 'UTC');
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', base, old);
        EXECUTE format('ALTER TABLE %I RENAME TO %I', old, base || '_before' || to_char(month, '_YYYY_MM'));
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', base,
          base || '_before' || to_char(month, '_YYYY_MM'), bound);
        FOR n IN 0..2 LOOP
          old := base || to_char(month + n * interval '1 month', '_YYYY_MM');
          EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', old, base || '_default');
          EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', base, old,
            id_at(prefix, (month + n * interval '1 month') AT TIME ZONE 'UTC'),
            id_at(prefix, (month + (n + 1) * interval '1 month') AT TIME ZONE 'UTC'));
        END LOOP;
      END LOOP;
    END $$`)
}

/** Gives events and their deliveries the ids and times of the second day of an earlier month. */
export async function moveToMonth({ pool }: Database, ids: string[], monthsAgo: 1 | 2 | 3): Promise<void> {
  const at = `(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '${monthsAgo} months' +
    interval '1 day') AT TIME ZONE 'UTC'`
  const moved = (column: string, prefix: string): string =>
    `substr(id_at('${prefix}', ${at}), 1, 14) || substr(${column}, 15)`
  await pool.query(
    `UPDATE webhook_deliveries SET id = ${moved('id', 'whd')}, event_id = ${moved('event_id', 'evt')},
       created_at = ${at} WHERE event_id = ANY($1)`,
    [ids],
  )
  await pool.query(`UPDATE events SET id = ${moved('id', 'evt')}, created_at = ${at} WHERE id = ANY($1)`, [
    ids,
  ])
}
