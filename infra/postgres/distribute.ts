// Distributes the tables that grow over the nodes of Citus, an extension of PostgreSQL that keeps the rows
// with one value of a column together on one node. All other tables stay on the coordinator.
import { openConnection } from '../database/client.ts'
import { MigrationError } from './migrations.ts'

interface Table {
  name: string
  /** The rows with one value of the column stay together, also those of tables with the same column. */
  column: string
  /** Drops what only servers of version 1.12 need, and Citus refuses. */
  before?: string[]
}

const tables: Table[] = [
  { name: 'chunks', column: 'knowledge_base_id' },
  {
    name: 'document_texts',
    column: 'knowledge_base_id',
    before: [
      'DROP TRIGGER document_texts_complete ON document_texts',
      'DROP INDEX document_texts_document_id_key',
    ],
  },
  { name: 'lexemes', column: 'knowledge_base_id' },
  { name: 'removed_chunks', column: 'knowledge_base_id' },
  {
    name: 'api_requests',
    column: 'user_id',
    before: ['DROP INDEX api_requests_id_key', 'CREATE INDEX api_requests_id_idx ON api_requests (id)'],
  },
  { name: 'usage_days', column: 'user_id' },
]

/** Functions that run where the rows of their argument are. */
const functions = [{ signature: 'similar_lexemes(text, text[], int)', argument: 'base', table: 'lexemes' }]

/**
 * Distributes each table that is not distributed yet, with its rows. Each waits until no transaction uses it,
 * and blocks its readers and writers meanwhile.
 */
export async function distribute(url: string, onProgress: (message: string) => void): Promise<void> {
  const client = await openConnection({ url, name: 'distribute', target: 'read-write' })
  try {
    await client.query('SET statement_timeout = 0')
    const { rowCount } = await client.query("SELECT FROM pg_extension WHERE extname = 'citus'")
    if (rowCount === 0)
      throw new MigrationError(
        'The database has no Citus: install it on each node, run CREATE EXTENSION citus there, and add the ' +
          'nodes with citus_add_node.',
      )
    for (const { name, column, before = [] } of tables) {
      const first = tables.find((table) => table.column === column)!.name
      const { rows } = await client.query<{ distributed: boolean }>(
        `SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass) AS distributed`,
        [name],
      )
      if (rows[0].distributed) {
        onProgress(`${name}: is distributed by ${column}`)
        continue
      }
      await client.query('BEGIN')
      for (const statement of before) await client.query(statement)
      await client.query('SELECT create_distributed_table($1, $2, colocate_with => $3)', [
        name,
        column,
        name === first ? 'none' : first,
      ])
      await client.query('COMMIT')
      // The rows that were copied to the nodes.
      await client.query('SELECT truncate_local_data_after_distributing_table($1)', [name])
      onProgress(`${name}: distributed by ${column}`)
    }
    for (const { signature, argument, table } of functions)
      await client.query('SELECT create_distributed_function($1, $2, colocate_with => $3)', [
        signature,
        argument,
        table,
      ])
    onProgress('All other tables stay on the coordinator.')
  } finally {
    await client.end()
  }
}
