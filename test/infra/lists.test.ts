// Every statement that a list of prisma/sql can become: PostgreSQL accepts it, and plans it without reading a
// large table from beginning to end. A cursor is a range of an index, not a number of rows to skip.
import { readdirSync } from 'node:fs'
import pg from 'pg'
import t, { type Test } from 'tap'
import { choicesOf, compose, type Choice, type ListQuery } from '../../infra/database/list.ts'
import { createTestDatabase } from '../support/database/database.ts'

type AnyList = ListQuery<any, any, any, any>

const folder = new URL('../../generated/sql/', import.meta.url)
const lists: AnyList[] = []
for (const name of readdirSync(folder).filter((name) => name.endsWith('.ts')))
  for (const exported of Object.values(await import(new URL(name, folder).href)))
    if ('list' in (exported as object)) lists.push(exported as AnyList)

/** Tables that have a row for each thing that users create. */
const largeTables =
  /Seq Scan on (members|files|uploads|documents|ai_\w+|orders|\w+_deliveries|events|subscriptions)\b/

t.test('every combination of filters, sort keys and directions', async (t) => {
  const client = await connect(t)
  // An empty table is always cheap to scan. Now a scan is planned only where no index helps.
  await client.query('SET enable_seqscan = off')
  t.ok(lists.length > 0)
  for (const { label, list } of lists) {
    const choices = choicesOf(list)
    const scanned = new Set<string>()
    for (const choice of choices) {
      const [scan] = largeTables.exec(await planOf(client, { label, list }, choice)) ?? []
      if (scan !== undefined) scanned.add(`${scan}: ${JSON.stringify(choice)}`)
    }
    t.strictSame([...scanned], [], `${label}: ${choices.length} statements`)
  }
})

/**
 * Lists of which an owner has few items, so that the sort key needs no index: all items of the owner are read
 * and sorted. The groups of a usage report are computed.
 */
const sorted = [
  // A subject has at most ten budgets.
  'budgets/list updated_at',
  'custom_roles/list name',
  'custom_roles/list updated_at',
  // A seller has at most 1,000 features and 1,000 meters.
  'entitlements/list feature',
  'features/list key',
  'metering/list-meter-usage start',
  'meters/list key',
  'organizations/list-organization-members updated_at',
  'organizations/list-organizations created_at',
  'organizations/list-organizations name',
  'organizations/list-organizations updated_at',
  'organizations/list-service-accounts created_at',
  'organizations/list-service-accounts name',
  'organizations/list-service-accounts updated_at',
  // A customer has few cards.
  'payments/list-payment-methods updated_at',
  'projects/list-invitations updated_at',
  'projects/list-members name',
  'projects/list-members updated_at',
  'projects/list-my-invitations created_at',
  'projects/list-my-invitations updated_at',
  'projects/list-projects name',
  'projects/list-projects updated_at',
  'storage/list-all-links created_at',
  'storage/list-all-links expires_at',
  'storage/list-all-links updated_at',
  'storage/list-folders name',
  'storage/list-links expires_at',
  'storage/list-links updated_at',
  'storage/list-upload-links updated_at',
  'usage/list-usage day',
  'users/list-api-keys name',
  'users/list-api-keys updated_at',
  'webhooks/list-endpoints updated_at',
]

t.test('a cursor reads a range of an index', async (t) => {
  const client = await connect(t)
  await client.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off')
  const unranged: string[] = []
  for (const { label, list } of lists)
    for (const sort of Object.keys(list.sorts)) {
      const plan = await planOf(
        client,
        { label, list },
        { filters: [], sort, order: 'desc', start: 'cursor' },
      )
      t.notMatch(
        compose(label, list, { filters: [], sort, order: 'desc', start: 'cursor' }).statement.text,
        'OFFSET',
      )
      if (!/Index Cond: .*[<>]/.test(plan) || /(?<!Incremental )Sort {2}\(/.test(plan))
        unranged.push(`${label} ${sort}`)
    }
  t.strictSame(unranged.sort(), sorted.toSorted())
})

async function connect(t: Test): Promise<pg.Client> {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

async function planOf(
  client: pg.Client,
  { label, list }: Pick<AnyList, 'label' | 'list'>,
  choice: Choice,
): Promise<string> {
  const { statement } = compose(label, list, choice)
  const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${statement.text}`)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}
