// Generation from prisma/sql: the types of parameters and columns, and the place of each mistake.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { readDatabase } from '../../scripts/generate/schema-db-check/database.ts'
import { missingFilters } from '../../scripts/generate/sql/missing-filters.ts'
import { emitSql, type Described } from '../../scripts/generate/sql/emit.ts'
import { readSources } from '../../scripts/generate/sql/source.ts'
import { describeAll } from '../../scripts/generate/sql/sql.ts'
import type { Operation } from '../../scripts/generate/model.ts'
import { createTestDatabase } from '../support/database/database.ts'

let client: pg.Client

t.before(async () => {
  const { url } = await createTestDatabase(t)
  client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
})

/**
 * @param files by their path below prisma/sql, without `.sql`.
 * @param schema the text of prisma/schema.prisma.
 */
async function describeFiles(t: Test, files: Record<string, string>, schema = ''): Promise<Described[]> {
  const root = t.testdir({})
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, 'prisma/sql', `${name}.sql`)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  const { models } = readDatabase({ schema, migrations: [], omitted: '' })
  return await describeAll(client, readSources(root), [...models.values()])
}

/** The columns of a statement as `name: type`, or `name?: type` for a nullable one. */
async function columnsOf(t: Test, select: string): Promise<string[]> {
  const [{ columns }] = await describeFiles(t, { 'projects/x': `-- A statement.\n-- @many\n${select}` })
  return columns.map(({ name, type, nullable }) => `${name}${nullable ? '?' : ''}: ${type}`)
}

t.test('columns have the types of their SQL', async (t) => {
  t.strictSame(
    await columnsOf(
      t,
      `SELECT p.id, p.status, k.scopes, p.version, p.created_at, p.metadata, f.bytes
       FROM projects p, files f, api_keys k`,
    ),
    [
      'id: string',
      "status: 'active' | 'archived' | 'deleted'",
      'scopes: string[]',
      'version: number',
      'created_at: string',
      'metadata: unknown',
      'bytes: number',
    ],
  )
})

const nullability: Record<string, [select: string, columns: string[]]> = {
  'a column without NOT NULL': [
    'SELECT id, description FROM projects',
    ['id: string', 'description?: string'],
  ],
  'an outer join': [
    'SELECT p.id, m.role FROM projects p LEFT JOIN members m ON m.project_id = p.id',
    ['id: string', "role?: 'owner' | 'admin' | 'editor' | 'viewer'"],
  ],
  'the other side of a right join': [
    'SELECT p.id, m.id AS member FROM projects p RIGHT JOIN members m ON m.project_id = p.id',
    ['id?: string', 'member: string'],
  ],
  'both sides of a full join': [
    'SELECT p.id, m.id AS member FROM projects p FULL JOIN members m ON m.project_id = p.id',
    ['id?: string', 'member?: string'],
  ],
  'a column of an outer join that the condition requires': [
    'SELECT m.id FROM projects p LEFT JOIN members m ON m.project_id = p.id WHERE m.id IS NOT NULL',
    ['id: string'],
  ],
  'a comparison that requires a value': [
    'SELECT p.description FROM projects p WHERE p.description = :text',
    ['description: string'],
  ],
  'a condition with OR requires nothing': [
    'SELECT p.description FROM projects p WHERE p.description = :text OR p.id = :text',
    ['description?: string'],
  ],
  'IS NULL, EXISTS and a comparison': [
    `SELECT p.description IS NULL AS a, EXISTS (SELECT 1) AS b, p.id = :id AS c, p.description = :id AS d
     FROM projects p`,
    ['a: boolean', 'b: boolean', 'c: boolean', 'd?: boolean'],
  ],
  'coalesce and CASE': [
    `SELECT coalesce(description, id) AS a, CASE WHEN id = 'x' THEN id END AS b,
      CASE WHEN id = 'x' THEN id ELSE name END AS c FROM projects`,
    ['a: string', 'b?: string', 'c: string'],
  ],
  'count is never null, sum may be': [
    'SELECT count(*) AS a, sum(bytes) AS b, coalesce(sum(bytes), 0)::int AS c FROM files',
    ['a: number', 'b?: string', 'c: number'],
  ],
  'a subquery without a row is null': [
    `SELECT (SELECT id FROM members LIMIT 1) AS a, (SELECT count(*) FROM members) AS b,
       ARRAY(SELECT id FROM members) AS c`,
    ['a?: string', 'b: number', 'c: string[]'],
  ],
  'a column of a CTE': [
    'WITH p AS (UPDATE projects SET version = version + 1 RETURNING *) SELECT id, description FROM p',
    ['id: string', 'description?: string'],
  ],
  'the condition of an UPDATE, for a column that it sets and one that it does not': [
    `UPDATE projects SET category = NULL WHERE category = :a AND description = :b
     RETURNING category, description`,
    ['category?: string', 'description: string'],
  ],
  'a star': [
    'SELECT x.* FROM (SELECT m.id, p.description FROM members m JOIN projects p ON true) x',
    ['id: string', 'description?: string'],
  ],
  'a union is nullable where one arm is': [
    'SELECT id AS a, name AS b FROM projects UNION ALL SELECT description, id FROM projects',
    ['a?: string', 'b: string'],
  ],
  'a recursive query is nullable where one arm is': [
    `WITH RECURSIVE r (a, b) AS (
      SELECT id, name FROM projects UNION ALL SELECT p.description, r.b FROM r JOIN projects p ON true
    ) SELECT a, b FROM r`,
    ['a?: string', 'b: string'],
  ],
  'a CTE with a union that is not recursive': [
    `WITH u AS (SELECT id AS a FROM projects UNION ALL SELECT description FROM projects) SELECT a FROM u`,
    ['a?: string'],
  ],
  'RETURNING with a join': [
    'DELETE FROM members m USING projects p WHERE p.id = m.project_id RETURNING m.id, p.description',
    ['id: string', 'description?: string'],
  ],
  'a mark of the author': [
    'SELECT description AS "description!", id AS "id?" FROM projects',
    ['description: string', 'id?: string'],
  ],
  'a parameter that may be null': ['SELECT :a?::text AS a, :b::text AS b', ['a?: string', 'b: string']],
  'the elements of an array, and their number': [
    'SELECT g.id, g.n FROM unnest(:ids::text[]) WITH ORDINALITY AS g (id, n)',
    ['id?: string', 'n: number'],
  ],
}
for (const [name, [select, columns]] of Object.entries(nullability))
  t.test(`nullable: ${name}`, async (t) => t.strictSame(await columnsOf(t, select), columns))

t.test('the function takes the parameters by name', async (t) => {
  const files = await describeFiles(t, {
    'projects/find-x': [
      '-- Finds a project.',
      '-- @optional',
      '-- @type metadata Record<string, string>',
      'SELECT id, metadata FROM projects WHERE id = :id AND (category = :category? OR :category IS NULL)',
    ].join('\n'),
  })
  const text = emitSql(files).get('projects.ts')!
  t.match(text, '/**\n * Finds a project.\n * @see prisma/sql/projects/find-x.sql\n */')
  t.match(text, 'export const findX = optional<{ id: string; category: string | null }, FindXRow>(')
  t.match(text, "WHERE id = $1 AND (category = $2 OR $2 IS NULL)`,\n  ['id', 'category'],")
  t.match(text, '  metadata: Record<string, string>\n')
})

t.test('text in strings, comments and casts is no parameter', async (t) => {
  const [{ source }] = await describeFiles(t, {
    'projects/x': [
      '-- A statement: with :a.',
      '-- @many',
      `SELECT ':b {c}' AS a, id::text AS "d:e" -- :f`,
      'FROM projects',
    ].join('\n'),
  })
  t.strictSame(source.parameters, [])
  t.match(source.text.sql, `SELECT ':b {c}' AS a, id::text AS "d:e" FROM projects`)
})

t.test('a parameter of an included file may be null in the statement', async (t) => {
  const [{ parameters }] = await describeFiles(t, {
    'projects/x': '-- A statement.\n-- @many\n-- @nullable id\nSELECT id FROM projects WHERE {is-id}',
    'projects/is-id': '-- Whether it is the project.\nid = :id',
  })
  t.strictSame(parameters, [{ name: 'id', type: 'string | null' }])
})

t.test('a list of columns is included as columns, parameters and assignments', async (t) => {
  const files = {
    'projects/fields': '-- A list.\nname, description?',
    'projects/add': `-- Adds.\n-- @none
INSERT INTO projects (id, {fields}, owner_id) SELECT :id, {:fields}, p.owner_id FROM projects p`,
    'projects/set': '-- Sets.\n-- @many\nUPDATE projects p SET {=fields} WHERE id = :id RETURNING {p.fields}',
  }
  const [add, set] = (await describeFiles(t, files)).map(({ source, parameters }) => ({
    sql: source.text.sql.trim(),
    parameters: parameters.map(({ name, type, optional }) => `${name}${optional ? '?' : ''}: ${type}`),
  }))
  t.strictSame(add, {
    sql:
      'INSERT INTO projects (id, name, description, owner_id) ' +
      'SELECT $1, $2, $3, p.owner_id FROM projects p',
    parameters: ['id: string', 'name: string', 'description?: string | null'],
  })
  t.strictSame(set, {
    sql: 'UPDATE projects p SET name = $1, description = $2 WHERE id = $3 RETURNING p.name, p.description',
    parameters: ['name: string', 'description: string | null', 'id: string'],
  })
})

t.test('a file includes others, with arguments', async (t) => {
  const [{ source, columns }] = await describeFiles(t, {
    'projects/x':
      '-- A statement.\n-- @many\nSELECT {columns row=p}, {users/names row=u} FROM projects p, users u',
    'projects/columns': '-- Columns.\n-- @type id `prj_${string}`\n{row}.id, {tags}',
    'projects/tags': '-- Tags.\n{row}.tags',
    'users/names': '-- Names.\n{row}.name',
  })
  t.match(source.text.sql, 'SELECT p.id, p.tags, u.name FROM projects p, users u')
  t.strictSame(
    columns.map(({ type }) => type),
    ['`prj_${string}`', 'string[]', 'string'],
  )
})

const start = '-- A statement.\n-- @many\n'
const list = '-- A list.\n-- @page\nSELECT id FROM projects WHERE true\n'
const mistakes: Record<string, [text: string, expected: RegExp]> = {
  'an unknown column': [`${start}SELECT id,\n  nam FROM projects`, /x\.sql:4:3: column "nam" does not exist/],
  'an unknown table': [`${start}SELECT id FROM project`, /x\.sql:3:16: relation "project" does not exist/],
  'an unknown alias': [
    `${start}SELECT q.id FROM projects p`,
    /x\.sql:3:8: missing FROM-clause entry for table "q"/,
  ],
  'an ambiguous column': [
    `${start}SELECT id FROM projects, members`,
    /x\.sql:3:8: column reference "id" is ambiguous/,
  ],
  'a syntax error': [`${start}SELECT id FRM projects p`, /x\.sql:3:\d+: syntax error at or near/],
  'a comparison of two types': [
    `${start}SELECT id FROM projects WHERE version = tags`,
    /x\.sql:3:\d+: operator does not exist: integer = text\[\]/,
  ],
  'a label that an enum does not have': [
    `${start}SELECT id FROM projects WHERE status = 'gone'`,
    /x\.sql:3:\d+: invalid input value for enum "ProjectStatus": "gone"/,
  ],
  'a type that does not exist': [
    `${start}SELECT id::txt FROM projects`,
    /x\.sql:3:12: type "txt" does not exist/,
  ],
  'a function that does not exist': [
    `${start}SELECT lowr(id) AS a FROM projects`,
    /x\.sql:3:8: function lowr\(text\) does not/,
  ],
  'a column of the wrong type in an INSERT': [
    '-- A statement.\n-- @none\nINSERT INTO projects (id, version)\nVALUES (:id, true)',
    /x\.sql:4:14: column "version" is of type integer but expression is of type boolean/,
  ],
  'one parameter with two types': [
    `${start}SELECT id FROM projects WHERE id = :a AND version = :a`,
    /x\.sql:3:\d+: operator does not exist|inconsistent types/,
  ],
  'a parameter without a type': [
    `${start}SELECT id FROM projects WHERE :a IS NULL`,
    /x\.sql:3:\d+: could not determine data type/,
  ],
  'too many values in an INSERT': [
    '-- A statement.\n-- @none\nINSERT INTO projects (id)\nVALUES (:id, :name)',
    /x\.sql:4:14: INSERT has more expressions than target columns/,
  ],
  'an aggregate beside a column': [
    `${start}SELECT id, count(*) AS n FROM projects`,
    /x\.sql:3:8: column "projects\.id" must appear/,
  ],
  'a mistake in an included file': [
    `${start}SELECT {columns} FROM projects`,
    /columns\.sql:2:5: column "nam" does not exist/,
  ],
  'an include that does not exist': [
    `${start}SELECT {colums} FROM projects`,
    /x\.sql:3:8: there is no file prisma\/sql\/projects\/colums\.sql/,
  ],
  'a form of a file that is no list': [
    `${start}SELECT {:x}`,
    /x\.sql:3:8: the file prisma\/sql\/projects\/x\.sql is no list of columns, as \{:x\} needs/,
  ],
  'a file that includes itself': [`${start}{x}`, /x\.sql:3:1: the file .* includes itself/],
  'an unknown annotation': [
    '-- A statement.\n-- @some\nSELECT 1',
    /x\.sql:2:1: there is no annotation @some/,
  ],
  'no purpose': ['-- @many\nSELECT 1 AS a', /x\.sql:1:1: a comment must state the purpose/],
  'columns where none are declared': [
    '-- A statement.\n-- @none\nSELECT 1 AS a',
    /x\.sql:2:1: a statement with @none returns no columns/,
  ],
  'no columns where some are declared': [
    `${start}DELETE FROM projects`,
    /x\.sql:2:1: a statement with @many returns columns/,
  ],
  'two columns of one name': [
    `${start}SELECT id, name AS id FROM projects`,
    /x\.sql:3:12: two columns are named id/,
  ],
  'a @type of a column that the statement lacks': [
    `-- A statement.\n-- @many\n-- @type nam string\nSELECT id FROM projects`,
    /x\.sql:3:1: there is no column nam/,
  ],
  'a @nullable parameter that the statement lacks': [
    `-- A statement.\n-- @many\n-- @nullable nam\nSELECT id FROM projects`,
    /x\.sql:3:1: there is no parameter nam/,
  ],
  'a type that rows do not convert': [
    `${start}SELECT ARRAY[status] AS a FROM projects`,
    /x\.sql:3:8: the column a has the type ProjectStatus\[\], which rows do not convert/,
  ],
  'a filter with an unknown column': [
    `${list}-- @filter a\nnam = :a\n-- @sort id\nid\n-- @id\nid`,
    /x\.sql:5:1: column "nam" does not exist/,
  ],
  'a sort key that does not exist': [
    `${list}-- @sort a\nnam\n-- @id\nid`,
    /x\.sql:5:1: column "nam" does not exist/,
  ],
  'a condition without a filter': [
    `${list}-- @otherwise\nname = 'a'\n-- @sort id\nid\n-- @id\nid`,
    /x\.sql:4:1: @otherwise follows a @filter/,
  ],
  'a total with an unknown filter': [
    `${list}-- @sort id\nid\n-- @id\nid\n-- @total status\nSELECT 1 AS total`,
    /x\.sql:8:1: there is no filter status before this @total/,
  ],
  'a list without a sort key': [`${list}-- @id\nid`, /x\.sql:2:1: a @page states an @id/],
}
for (const [name, [text, expected]] of Object.entries(mistakes))
  t.test(`mistake: ${name}`, async (t) => {
    const files = { 'projects/x': text, 'projects/columns': '-- Columns.\nid, nam' }
    await t.rejects(describeFiles(t, files), { message: expected })
  })

t.test('the mistakes of all files are reported at once, and that of an included file once', async (t) => {
  const files = {
    'projects/columns': '-- Columns.\nid, nam',
    'projects/x': `${start}SELECT {columns} FROM projects`,
    'projects/y': `${start}SELECT {columns} FROM projects`,
    'projects/z': `${start}SELECT id FROM project`,
  }
  const expected = /^.*columns\.sql:2:5: .*\n.*\n.*\n.*z\.sql:3:16: .*\n.*\n.*$/
  await t.rejects(describeFiles(t, files), { message: expected })
})

/** Changes of the schema that a migration could make, and the statement that each breaks or retypes. */
const changes: Record<string, [change: string, expected: RegExp | string]> = {
  'a renamed column': [
    'ALTER TABLE projects RENAME category TO kind',
    /x\.sql:3:12: column "category" does not exist/,
  ],
  'a dropped column': ['ALTER TABLE projects DROP category', /x\.sql:3:12: column "category" does not exist/],
  'a renamed table': [
    'ALTER TABLE projects RENAME TO plans',
    /x\.sql:3:\d+: relation "projects" does not exist/,
  ],
  'a column of another type': [
    'ALTER TABLE projects ALTER category TYPE int USING 1',
    /x\.sql:3:\d+: operator does not exist: integer = text|could not|inconsistent/,
  ],
  'a column that becomes nullable': ['ALTER TABLE projects ALTER name DROP NOT NULL', 'name: string | null'],
  'a column that becomes NOT NULL': [
    'ALTER TABLE projects ALTER category SET NOT NULL',
    'category: string\n',
  ],
  'a label more of an enum': [`ALTER TYPE "ProjectStatus" RENAME VALUE 'archived' TO 'frozen'`, "'frozen'"],
  'a dropped function': [
    'DROP FUNCTION payments_now CASCADE',
    /x\.sql:3:\d+: function payments_now\(\) does not exist/,
  ],
}
for (const [name, [change, expected]] of Object.entries(changes))
  t.test(`a change of the schema: ${name}`, async (t) => {
    const text =
      `${start}SELECT id, category, name, status, payments_now() AS now FROM projects ` +
      'WHERE category = :category::text OR category IS NULL'
    await client.query('BEGIN')
    try {
      await client.query(change)
      const described = describeFiles(t, { 'projects/x': text })
      if (expected instanceof RegExp) await t.rejects(described, { message: expected })
      else t.match(emitSql(await described).get('projects.ts'), expected)
    } finally {
      await client.query('ROLLBACK')
    }
  })

t.test('a table or a column that no migration makes is reported once, at its model', async (t) => {
  const schema = `model Task {
  id  String @id
  @@map("tasks")
}
model Project {
  id  String @id
  due DateTime @db.Date
  @@map("projects")
}
`
  const statement = (text: string): string => `-- A statement.\n-- @many\n${text}`
  const files = {
    'tasks/find': statement('SELECT t.id FROM tasks t'),
    'tasks/list': statement('SELECT id FROM tasks'),
    'projects/due': statement('SELECT p.due FROM projects p'),
    'projects/other': statement('SELECT id FROM other'),
  }
  const error = await describeFiles(t, files, schema).then(
    () => '',
    ({ message }: Error) => message,
  )
  t.strictSame(
    error
      .split('\n')
      .filter((line) => !line.startsWith(' '))
      .sort(),
    [
      'prisma/schema.prisma:1:1: no migration makes the table tasks of the model Task: ' +
        'run `npm run migrate -- --create tasks`',
      'prisma/schema.prisma:7:1: no migration makes the column due of the model Project: ' +
        'run `npm run migrate -- --create projects_due`',
      'prisma/sql/projects/other.sql:3:16: relation "other" does not exist',
    ],
  )
})

t.test('a date is a string in rows and parameters', async (t) => {
  t.strictSame(await columnsOf(t, 'SELECT current_date AS day, ARRAY[current_date] AS days'), [
    'day: string',
    'days: string[]',
  ])
})

t.test('a filter that a list lacks is reported, with what to write', async (t) => {
  const list = '-- The things.\n-- @page\nSELECT 1\n-- @filter colour\ntrue\n-- @sort id\nid\n-- @id\nid\n'
  const handler =
    'export const things = { listThings: () => sql.listThings(db, { name: query.q, status: 200 }) }'
  const folder = t.testdir({
    app: {},
    infra: {},
    scripts: {},
    services: {},
    handlers: { 'things.ts': handler },
    prisma: { sql: { things: { 'list-things.sql': list } } },
  })
  const names = ['page', 'created_after', 'colour', 'q', 'status', 'size']
  const query = names.map((name) => ({ name })) as Operation['queryParameters']
  const found = missingFilters(folder, [{ id: 'listThings', tag: 'things', queryParameters: query }])
  t.strictSame(
    found.map((line) => line.split('\n')[0]),
    ['status', 'size'].map(
      (name) =>
        `prisma/sql/things/list-things.sql:1:1: no condition for the parameter \`${name}\` of listThings: ` +
        `write \`-- @filter ${name}\` and its condition above \`-- @sort\``,
    ),
  )
})
