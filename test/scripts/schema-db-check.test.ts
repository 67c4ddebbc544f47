// Mismatches introduced into a copy of the spec or the database schema: each is reported with both places,
// and nothing else is.
import t from 'tap'
import { bundle, createConfig, type Document, type Source } from '@redocly/openapi-core'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SpecResolver } from '../../scripts/generate/crud.ts'
import { GenerateError } from '../../scripts/generate/error.ts'
import { generate } from '../../scripts/generate/main.ts'
import { mismatchesOf, removeDatabaseNotes } from '../../scripts/generate/schema-db-check.ts'
import { isLongForm } from '../support/long-form.ts'

const root = resolve(import.meta.dirname, '../..')
const schema = 'prisma/schema.prisma'
/** The baseline. */
const [migration] = globSync('prisma/migrations/*_init/migration.sql', { cwd: root })

/** A project with a copy of the spec and the database schema. No test changes its statements. */
function copyOf(folder: string): string {
  for (const part of ['spec', 'prisma/schema.prisma', 'prisma/migrations', 'infra/database/prisma.ts'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'prisma/sql'), join(folder, 'prisma/sql'))
  return folder
}

/** Replaces the first occurrence of `text` behind `after`. @returns its line. */
function change(folder: string, file: string, after: string, text: string | RegExp, by: string): number {
  const whole = readFileSync(join(folder, file), 'utf8')
  const start = whole.indexOf(after)
  const rest = whole.slice(start)
  const at = typeof text === 'string' ? rest.indexOf(text) : rest.search(text)
  if (start < 0 || at < 0) throw new Error(`${file} has no ${text} after ${after}`)
  writeFileSync(join(folder, file), whole.slice(0, start) + rest.replace(text, by))
  return whole.slice(0, start + at).split('\n').length
}

/** The document of the spec in `folder`. Files that no test has changed are parsed once. */
async function documentOf(folder: string): Promise<any> {
  const config = await createConfig({})
  const {
    bundle: { parsed },
  } = await bundle({
    ref: join(folder, 'spec/openapi.yaml'),
    config,
    externalRefResolver: new CachingResolver(config.resolve),
  })
  return parsed
}

const parsedFiles = new Map<string, unknown>()

class CachingResolver extends SpecResolver {
  override parseDocument(source: Source): Document {
    if (!parsedFiles.has(source.body)) parsedFiles.set(source.body, super.parseDocument(source).parsed)
    // A copy, because `bundle` changes it.
    return { source, parsed: structuredClone(parsedFiles.get(source.body)) as never }
  }
}

/** Of a folder without changes in spec/. */
const unchanged = await documentOf(root)

async function found(folder: string, document?: object): Promise<string[]> {
  return await mismatchesOf(folder, document ?? (await documentOf(folder)))
}

type Mistake = [file: string, after: string, text: string | RegExp, by: string, says: RegExp]

/** Each change with the reported message. The changed place is one of the two reported places. */
const mistakes: Record<string, Mistake> = {
  'the spec forgets that a column may be null': [
    'spec/projects.yaml',
    '    Project:',
    /type: \[string, 'null'\](,?\s+maxLength: 5000)/,
    'type: string$1',
    /Project\.description is not nullable, the column is/,
  ],
  'the spec lets be null what never is': [
    'spec/payments.yaml',
    '    Product:',
    /name:(\s*\{?\s*)type: string/,
    "name:$1type: [string, 'null']",
    /Product\.name is nullable, the column is not/,
  ],
  'a request takes null for a column that does not': [
    'spec/projects.yaml',
    '    ProjectUpdate:',
    /name:(\s*\{?\s*)\$ref: '#\/components\/schemas\/ProjectName'(,?)/,
    "name:$1type: [string, 'null']$2",
    /ProjectUpdate\.name accepts null, the column does not/,
  ],
  'a column becomes nullable': [
    schema,
    'model Member {',
    'role          MemberRole\n',
    'role          MemberRole?\n',
    /Member\.role is not nullable, the column is/,
  ],
  'a column is nullable no more': [
    schema,
    'model Session {',
    'title            String?',
    'title            String',
    /Session\.title is nullable, the column is not/,
  ],
  'a creation may leave out what a column needs': [
    'spec/projects.yaml',
    '    ProjectCreate:',
    'required: [name]',
    'required: []',
    /ProjectCreate\.name may be left out, the column is NOT NULL without a default/,
  ],
  'a column loses the default that a creation relies on': [
    schema,
    'model Project {',
    'metadata    Json          @default("{}")',
    'metadata    Json',
    /ProjectCreate\.metadata may be left out, the column is NOT NULL without a default/,
  ],
  'an enum of the spec lacks a value': [
    'spec/payments.yaml',
    '    OrderStatus:',
    'pending, paid, partially_refunded, refunded, canceled',
    'pending, paid, refunded, canceled',
    /Order\.status does not allow partially_refunded, the column does/,
  ],
  'an enum of the spec has one too many': [
    'spec/storage.yaml',
    '    Visibility:',
    '[private, public]',
    '[private, public, unlisted]',
    /File\.visibility allows unlisted, the column does not/,
  ],
  'an enum of the database gets a value': [
    schema,
    'enum SessionStatus {',
    '  archived\n',
    '  archived\n  hidden\n',
    /Session\.status does not allow hidden, the column does/,
  ],
  'a CHECK has other values than the spec': [
    migration,
    'webhook_endpoints_disabled_reason',
    "'failing'",
    "'failed'",
    /WebhookEndpoint\.disabled_reason allows failing, the column does not/,
  ],
  'a text is longer than its column': [
    schema,
    'model Project {',
    'name        String',
    'name        String        @db.VarChar(100)',
    /Project\w*\.name has maxLength 200, the column 100/,
  ],
  'a text has no longest length, its column has': [
    schema,
    'model Product {',
    'name        String',
    'name        String   @db.VarChar(150)',
    /Product\w*\.name has maxLength 200, the column 150/,
  ],
  'a CHECK is shorter than the spec': [
    'prisma/migrations/20261127170857_payments_shapes/migration.sql',
    'prices_amount',
    'unit_amount <= 999999999',
    'unit_amount <= 99999',
    /PriceCreate\.unit_amount has maximum 999999999, the column 99999/,
  ],
  'a number is larger than its column': [
    'spec/storage.yaml',
    '    FileLinkCreate:',
    'maximum: 1000000000',
    'maximum: 3000000000',
    /FileLinkCreate\.max_downloads has maximum 3000000000, the column 2147483647/,
  ],
  'a number of the spec is a text in the database': [
    schema,
    'model Project {',
    'memberCount Int           @default(0)',
    'memberCount String        @default("0")',
    /Project\.member_count is integer, the column is String/,
  ],
  'a time has no format': [
    'spec/user.yaml',
    '    ApiKey:',
    /(last_used_at:\s*\{?\s*type: \[string, 'null'\]),?\s+format: date-time/,
    '$1',
    /ApiKey\.last_used_at has no format, the column needs date-time/,
  ],
  'a list of the spec is none in the database': [
    schema,
    'model Project {',
    'tags        String[]      @default([])',
    'tags        String',
    /Project\w*\.tags is array, the column is String/,
  ],
  'a time of the database is a text of the spec': [
    schema,
    'model FileLink {',
    'expiresAt     DateTime ',
    'expiresAt     String   ',
    /FileLink\w*\.expires_at is a date-time, the column is String/,
  ],
  'an answer holds a digest': [
    'spec/user.yaml',
    '    ApiKey:',
    /( {8})name:/,
    '$1digest: { type: string }\n$1name:',
    /ApiKey\.digest leaks the column ApiKey\.digest/,
  ],
  'an answer holds what the client leaves out of rows': [
    'spec/events.yaml',
    '    WebhookEndpoint:',
    /( {8})enabled:/,
    "$1previous_secret: { type: [string, 'null'] }\n$1enabled:",
    /WebhookEndpoint\.previous_secret leaks the column WebhookEndpoint\.previousSecret/,
  ],
  'a column has another name': [
    schema,
    'model File {',
    '@map("declared_content_type")',
    '@map("content_type_declared")',
    /File\.declared_content_type has no column File\.declared_content_type/,
  ],
  'a property is misspelt': [
    'spec/payments.yaml',
    '    Refund:',
    /reason:(\s)/,
    'raeson:$1',
    /Refund\.raeson has no column Refund\.raeson/,
  ],
}

t.test('the spec and the database of this project match', async (t) => {
  t.same(await found(copyOf(t.testdir())), [])
})

/** One copy of the project has all mistakes. In the long form each has a copy of its own. */
const copies = isLongForm
  ? Object.entries(mistakes).map(([name, mistake]) => ({ [name]: mistake }))
  : [mistakes]

t.test('each mismatch is reported with both places, and nothing else is', async (t) => {
  t.ok(Object.keys(mistakes).length >= 20)
  for (const copy of copies) {
    const folder = copyOf(t.testdir())
    const lineOf = new Map(
      Object.entries(copy).map(([name, [file, after, text, by]]) => [
        name,
        change(folder, file, after, text, by),
      ]),
    )
    const isOfSpec = Object.values(copy).some(([file]) => file.startsWith('spec/'))
    const lines = await found(folder, isOfSpec ? undefined : unchanged)
    const properties = new Set<string | undefined>()
    for (const [name, [file, , , , says]] of Object.entries(copy)) {
      const line = lineOf.get(name)!
      const own = lines.filter((each) => says.test(each))
      t.ok(own.length > 0, `${name}: ${lines.join('\n')}`)
      for (const each of own) t.match(each, /^spec\/\w+\.yaml:\d+:[1-9]\d* .* \(prisma\/[\w/.]+:\d+\)$/, name)
      properties.add(propertyOf(own[0]))
      const places = own.flatMap((each) =>
        [...each.matchAll(/([\w/.]+):(\d+)/g)]
          .filter(([, named]) => named === file)
          .map(([, , at]) => Number(at)),
      )
      // The place of an enum is its start, of a missing column the model, and of a component the reference to
      // it.
      t.ok(
        places.some((at) => at >= line - 20 && at <= line + 2) || /an enum of the spec/.test(name),
        `${name}: ${places.join()} for ${line}`,
      )
    }
    // The same property of other schemas has the same mismatch.
    t.same(
      lines.filter((each) => !properties.has(propertyOf(each))),
      [],
      `${Object.keys(copy)[0]}: nothing else`,
    )
  }
})

t.test('the last migration says which CHECK a column has', async (t) => {
  const folder = copyOf(t.testdir())
  const replace = async (values: string): Promise<string[]> => {
    const migration = join(folder, 'prisma/migrations/99990101000000_reasons')
    mkdirSync(migration, { recursive: true })
    const sql =
      `ALTER TABLE "webhook_endpoints" DROP CONSTRAINT "webhook_endpoints_disabled_reason",\n` +
      `  ADD CONSTRAINT "webhook_endpoints_disabled_reason" CHECK ("disabled_reason" IN (${values}));\n`
    writeFileSync(join(migration, 'migration.sql'), sql)
    return await found(folder, unchanged)
  }
  t.same(await replace("'failing', 'gone'"), [])
  const [line] = await replace("'failing'")
  t.match(line, /WebhookEndpoint\.disabled_reason allows gone, the column does not .*99990101000000_reasons/)
})

/** Without its schema. */
function propertyOf(line: string): string | undefined {
  return /^\S+ \w+\.(\w+) /.exec(line)?.[1]
}

t.test('x-differs suppresses a mismatch, and the database notes are not published', async (t) => {
  const folder = copyOf(t.testdir())
  change(
    folder,
    'spec/payments.yaml',
    '    Product:',
    /name:(\s*\{?\s*)type: string(,?\s*)/,
    "name:$1type: [string, 'null']$2x-differs: no reason at all$2",
  )
  t.same(await found(folder), [])
  const document = {
    components: {
      schemas: {
        Thing: {
          'x-model': 'Thing',
          properties: { a: { type: 'string', 'x-column': 'b', 'x-computed': 'c', 'x-differs': 'd' } },
        },
      },
    },
  }
  removeDatabaseNotes(document)
  t.same(document, { components: { schemas: { Thing: { properties: { a: { type: 'string' } } } } } })
  t.notMatch(
    readFileSync(join(root, 'generated/openapi.json'), 'utf8'),
    /"x-(model|column|computed|differs)"/,
  )
})

t.test('a mismatch makes the generator fail and write nothing', async (t) => {
  const folder = copyOf(t.testdir())
  for (const part of ['generated/openapi.json', 'package.json']) cpSync(join(root, part), join(folder, part))
  change(
    folder,
    'spec/payments.yaml',
    '    OrderStatus:',
    'pending, paid, partially_refunded, refunded, canceled',
    'pending, paid, partially_refunded, refunded, canceled, lost',
  )
  const before = readFileSync(join(folder, 'generated/openapi.json'), 'utf8')
  // The command prints the message of a GenerateError without a stack trace.
  const error = await generate({ root: folder, out: join(folder, 'generated') }).catch(
    (caught: unknown) => caught,
  )
  t.ok(error instanceof GenerateError, String(error))
  const { message } = error as Error
  t.match(message, /^spec\/payments\.yaml:\d+:9 Order\.status allows lost, the column does not \(/)
  t.match(message, /^[^\n]+ the column does not \(prisma\/schema\.prisma:\d+\)\n/)
  t.match(message, /1 mismatch between the spec and the database; nothing was written\.$/)
  t.notMatch(message, /^ +at /m)
  t.equal(readFileSync(join(folder, 'generated/openapi.json'), 'utf8'), before)
})
