// The generated part of docs/database.md: what it shows of the database, and which comments it requires.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { databasePage, generatedPart, pageFile, writePage } from '../../scripts/generate/sql/database-page.ts'
import { createTestDatabase } from '../support/database/database.ts'

const root = join(import.meta.dirname, '../..')
let client: pg.Client

t.before(async () => {
  const { url } = await createTestDatabase(t)
  client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
})

const model = `
/// A parcel. Its weight is in \`weightGrams\`.
model Parcel {
  id          String  @id
  projectId   String? @map("project_id")
  /// In grams.
  weightGrams Int     @map("weight_grams")
  status      String

  @@map("parcels")
}
`
const functionText = '-- Writes a line to the log\n-- of the warehouse.\nCREATE FUNCTION log_parcel()'

/** The page of the database with a table \`parcels\`, its trigger and its function. */
async function pageOf(
  t: Test,
  { schema = model, comment = functionText }: { schema?: string; comment?: string },
): Promise<string> {
  const folder = t.testdir({})
  mkdirSync(join(folder, 'prisma/sql'), { recursive: true })
  cpSync(join(root, 'prisma/sql/functions'), join(folder, 'prisma/sql/functions'), { recursive: true })
  writeFileSync(join(folder, 'prisma/sql/functions/log-parcel.sql'), comment)
  const current = readFileSync(join(root, 'prisma/schema.prisma'), 'utf8')
  writeFileSync(join(folder, 'prisma/schema.prisma'), current + schema)
  await client.query('BEGIN')
  try {
    await client.query(`
      CREATE TABLE parcels (
        id text PRIMARY KEY,
        project_id text REFERENCES projects (id) ON DELETE SET NULL,
        weight_grams integer NOT NULL DEFAULT 0 CONSTRAINT parcels_weight CHECK (weight_grams >= 0),
        status text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'sent'))
      );
      CREATE UNIQUE INDEX parcels_new_idx ON parcels (lower(status), project_id) WHERE status = 'new';
      CREATE FUNCTION log_parcel() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER parcels_log AFTER INSERT OR DELETE ON parcels
        FOR EACH ROW EXECUTE FUNCTION log_parcel('a > b')`)
    return await databasePage(client, folder)
  } finally {
    await client.query('ROLLBACK')
  }
}

/** The text from the heading to the next heading, with single spaces. */
function section(page: string, heading: string): string[] {
  const from = page.indexOf(`\n${heading}\n`) + 1
  const next = page.indexOf('\n#', from)
  return page
    .slice(from, next === -1 ? undefined : next)
    .replace(/ +/g, ' ')
    .replace(/\n (?=\S)/g, ' ')
    .split('\n')
    .filter((line) => line !== '')
}

t.test('a table with its columns, indexes, constraints and triggers', async (t) => {
  const page = await pageOf(t, {})
  t.strictSame(section(page, '### parcels'), [
    '### parcels',
    'A parcel. Its weight is in `weight_grams`.',
    '| column | type | null | default | comment |',
    '| -------------- | --------- | ---- | ------- | --------- |',
    '| `id` | `text` | | | |',
    '| `project_id` | `text` | yes | | |',
    '| `weight_grams` | `integer` | | `0` | In grams. |',
    "| `status` | `text` | | `'new'` | |",
    '- Index `parcels_pkey`: `PRIMARY KEY (id)`',
    "- Index `parcels_new_idx`: `UNIQUE (lower(status), project_id) WHERE status = 'new'`",
    "- Check `parcels_status_check`: `status = ANY (ARRAY['new', 'sent'])`",
    '- Check `parcels_weight`: `weight_grams >= 0`',
    '- Foreign key `project_id` to [projects](#projects) (`id`): `ON DELETE SET NULL ON UPDATE NO ACTION`',
    '- Trigger `parcels_log`: `AFTER INSERT OR DELETE FOR EACH ROW` calls [log_parcel](#log_parcel) with ' +
      "`'a > b'`",
  ])
  t.match(section(page, '### projects').at(-1), /^- Referenced by .*`parcels\.project_id`/)
  t.strictSame(section(page, '### log_parcel'), [
    '### log_parcel',
    'Writes a line to the log of the warehouse.',
    'Triggers: `parcels_log` of [parcels](#parcels). [Source](../prisma/sql/functions/log-parcel.sql)',
  ])
  t.match(page, '[parcels](#parcels)', 'the table is in the contents')
})

t.test('the page shows the schema `public` only, without the table of Prisma and pg_trgm', async (t) => {
  const page = await pageOf(t, {})
  t.notMatch(page, /^### (_prisma_migrations|job|similarity)$/m)
})

t.test('every table and every function needs a comment', async (t) => {
  const lines = readFileSync(join(root, 'prisma/schema.prisma'), 'utf8').split('\n').length
  await t.rejects(pageOf(t, { schema: model.replace(/^\/\/\/ A .*$/m, '') }), {
    message: `prisma/schema.prisma:${lines + 2}: the model Parcel needs a comment (///)`,
  })
  await t.rejects(pageOf(t, { schema: '' }), {
    message: 'prisma/schema.prisma: no model describes the table parcels',
  })
  await t.rejects(pageOf(t, { comment: 'CREATE FUNCTION log_parcel()' }), {
    message: 'prisma/sql/functions/log-parcel.sql:1: the function log_parcel needs a comment (--)',
  })
})

t.test('only the generated part of the page is replaced', async (t) => {
  const page = readFileSync(join(root, pageFile), 'utf8')
  const folder = t.testdir({ docs: { 'database.md': page } })
  t.strictSame(writePage(folder, generatedPart(folder)), [], 'the same text')
  t.strictSame(writePage(folder, '## New\n'), [pageFile])
  const written = readFileSync(join(folder, pageFile), 'utf8')
  t.equal(written, page.replace(generatedPart(root), '## New\n'))
  writeFileSync(join(folder, pageFile), '# Database\n')
  t.throws(() => generatedPart(folder), { message: /^docs\/database\.md: the page needs the lines/ })
})
