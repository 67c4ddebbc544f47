// Mistakes in a resource with x-crud are reported once, where they were made, and not in what is derived from
// it. The resource is that of docs/adding-a-resource.md.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compareWithList } from '../../scripts/constraints/main.ts'
import { bundledContract, ContractError, readContract } from '../../scripts/generate/contract.ts'
import { readDatabase } from '../../scripts/generate/schema-db-check/database.ts'
import { mismatchesOf, sourcesOf } from '../../scripts/generate/schema-db-check.ts'
import { enumChecks } from '../../scripts/migrate/enum-checks.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8')
const resource = /^```yaml\n(# spec\/notes\.yaml[^]*?)^```$/m.exec(page)![1]
const model = /^```prisma\n(\/\/\/ A note[^]*?)^```$/m.exec(page)![1]
const route = "/projects/{id}/notes: { $ref: 'notes.yaml#/paths/notes' }"

/** A schema that requests have a closed copy of, and a resource in a note. */
const more = `    Shape:
      oneOf: [{ $ref: '#/components/schemas/Circle' }]
      description: A shape.
      discriminator: { propertyName: kind }
    Circle:
      type: object
      description: A circle.
      required: [kind]
      properties:
        kind: { type: string, const: circle, description: The kind. }
        radius: { type: integer, format: int32, description: The radius., examples: [1] }
    NoteComment:
      description: A comment.
      required: [text]
      properties:
        text: { type: string, maxLength: 9, description: The text., examples: [Yes] }
`
const comments = `  noteComments:
    x-crud:
      schema: NoteComment
      parent: Note
      prefix: ncom
      tag: notes
      scopes: { read: projects:read, write: projects:write }
      roles: { read: viewer, write: editor }
`
const shape = "        shape: { $ref: '#/components/schemas/Shape' }\n"
const complete =
  resource.replace('components:\n', `${comments}components:\n`).replace('        metadata:', `${shape}$&`) +
  more

interface Options {
  /** The model of the resource. */
  table?: string
  /** Files of prisma/sql/notes. */
  conditions?: string[]
}

/** The copy of the project that the tests share. Each writes the files of its resource. */
const folder = t.testdir({})
for (const part of ['spec', 'prisma', 'infra/database'])
  cpSync(join(root, part), join(folder, part), { recursive: true })
const spec = join(folder, 'spec/openapi.yaml')

/** Gives the project the resource. */
function writeResource(text: string, { table = model, conditions = [] }: Options = {}): void {
  // The paths of one area, so that the lint costs less.
  const others = /^  \/.*\$ref: '(?!system)[\w-]+\.yaml#.*\n/gm
  // Events of resources in the areas that are left out.
  const partial = /^ {2}\w+\.\w+:\n(?: {4}(?:audience|description|example|organization): .*\n)+(?! {4})/gm
  const comment = '/projects/{id}/notes/{note_id}/comments'
  const isNested = text.includes('noteComments:')
  writeFileSync(
    spec,
    readFileSync(join(root, 'spec/openapi.yaml'), 'utf8')
      .replace(others, '')
      .replace(partial, '')
      .replace(
        /^paths:\n/m,
        `$&  ${route}\n${isNested ? `  ${comment}: { $ref: 'notes.yaml#/paths/noteComments' }\n` : ''}`,
      )
      .replace(/^tags:\n/m, '$&  - { name: notes, x-displayName: Notes, description: Notes. }\n')
      .replace('tags: [projects, ', 'tags: [notes, projects, '),
  )
  writeFileSync(join(folder, 'spec/notes.yaml'), text)
  const schema = 'prisma/schema.prisma'
  writeFileSync(join(folder, schema), `${readFileSync(join(root, schema), 'utf8')}\n${table}`)
  rmSync(join(folder, 'prisma/sql/notes'), { recursive: true, force: true })
  mkdirSync(join(folder, 'prisma/sql/notes'))
  for (const name of conditions)
    writeFileSync(join(folder, 'prisma/sql/notes', name), '-- A condition.\ntrue\n')
}

/** @returns each problem as its source line, `|` at its column, and the message. */
async function problemsOf(text: string, options?: Options): Promise<string[]> {
  writeResource(text, options)
  const lines = await mistakes()
  return lines.map((line) => {
    const [, file, row, column, message] = /^(\S+?):(\d+):(\d+) (.*)$/.exec(line)!
    const source = readFileSync(join(folder, file), 'utf8').split('\n')[Number(row) - 1]
    const at = Number(column) - 1
    return `${`${source.slice(0, at)}|${source.slice(at)}`.trim()}: ${message}`
  })
}

async function mistakes(): Promise<string[]> {
  try {
    return await mismatchesOf(folder, await readContract(spec))
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    return error.problems.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`)
  }
}

/** The text with each replacement, which must be there. */
function changed(text: string, changes: Array<[from: string, to: string]>): string {
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`there is no ${from}`)
    return before.replace(from, () => to)
  }, text)
}

t.test('the resource has no mistake', async (t) => {
  t.strictSame(await problemsOf(resource), [])
})

t.test('mistakes in the schema and in x-crud', async (t) => {
  const found = await problemsOf(
    changed(complete, [
      ['tag: notes', 'tag: note'],
      ['{ read: projects:read', '{ read: projectz:read'],
      ['{ read: viewer', '{ read: viewr'],
      ['minLength: 1', 'minLenght: 1'],
      ["pattern: '\\S'", "pattern: '^(a+)+$'"],
      ['          examples: [We open at nine.]\n', ''],
      ['default: false', 'default: 5'],
      ['examples: [1]', 'examples: [one]'],
    ]),
  )
  const wanted = [
    '|tag: note: Operation tags should be defined',
    'scopes: { |read: projectz:read, write: projects:write }: unknown scope `projectz:read`',
    `|${route}: unknown scope \`projectz:read\``,
    'roles: { |read: viewr, write: editor }: unknown role `viewr`',
    '|minLenght: 1: Property `minLenght` is not expected here.',
    "pattern: |'^(a+)+$': the pattern can take exponential",
    'examples: [|Opening hours]: Example value must conform',
    '|text:: `text` of',
    'default: |5, description: Whether the note is pinned. }: the default 5 is invalid',
    'description: The radius., examples: [|one] }: Example value must conform',
  ]
  for (const each of wanted) t.equal(found.filter((line) => line.includes(each)).length, 1, each)
  // Redocly reports the default as an example, too.
  t.equal(found.length, wanted.length + 1, 'nothing else is reported')
})

t.test('names in x-crud that do not exist', async (t) => {
  const wrong = changed(complete, [
    ['sort: [title]', 'sort: [title, titel, text]'],
    ['filters: [pinned]', 'filters: [pined]'],
    ['parent: Note', 'parent: Nota'],
  ])
  t.strictSame(await problemsOf(wrong), [
    'sort: [title, |titel, text]: `titel` is not a property of `Note`',
    'sort: [title, titel, |text]: a list cannot be sorted by `text`: it can be null, or has no order',
    'filters: [|pined]: `pined` is not a property of `Note`',
    'parent: |Nota: no x-crud of this file has the schema `Nota`',
  ])
  const elsewhere = changed(complete, [['prefix: note\n', 'prefix: note\n      parent: organization\n']])
  t.strictSame(await problemsOf(changed(elsewhere, [['sort: [title]', 'without: [remove]']])), [
    'without: [|remove]: `remove` is not one of create, update, delete',
    'parent: |Note: a resource in another one is in a project, and `Note` is not',
  ])
  t.strictSame(await problemsOf(changed(resource, [['schema: Note', 'schema: Noted']])), [
    'schema: |Noted: there is no schema `Noted` with properties in this file',
  ])
})

t.test('differences from the table', async (t) => {
  const wrong = changed(resource, [
    [
      '        metadata:',
      '        colour: { type: boolean, default: true, description: A. }\n        metadata:',
    ],
    ['default: false, ', ''],
  ])
  const [colour, pinned, ...others] = await problemsOf(wrong)
  t.match(
    pinned,
    '|pinned: { type: boolean, description: Whether the note is pinned. }: Note.pinned may be left out',
  )
  t.match(
    colour,
    '|colour: { type: boolean, default: true, description: A. }: Note.colour has no column Note.colour',
  )
  t.strictSame(others, [])
})

t.test('columns that the statements cannot read or write', async (t) => {
  const example = "examples: ['2026-11-21']"
  const time = "examples: ['2026-11-21T09:30:00Z']"
  const wrong: Array<[property: string, column: string, message: RegExp]> = [
    [
      `type: string, format: date, ${example}`,
      'DateTime',
      /is a date, which x-crud stores in `DateTime @db.Date`/,
    ],
    [
      `type: string, format: date-time, ${time}`,
      'DateTime',
      /`DateTime @db.Timestamptz\(3\)`: the column is `Da/,
    ],
    [
      "type: string, format: time, examples: ['10:00:00Z']",
      'DateTime @db.Time',
      /is a time, .*`String`, as text/,
    ],
    ['type: number, examples: [1.5]', 'Decimal', /is a number, which .* `Float`: the column is `Decimal`/],
    ['type: string, maxLength: 9, examples: [a]', 'String @db.Uuid', /the column is `String @db.Uuid`/],
    [
      'type: array, maxItems: 9, items: { type: integer, format: int64, description: B. }, examples: [[1]]',
      'BigInt[]',
      /is a list of integer, which x-crud stores in `Json`: the column is `BigInt\[\]`/,
    ],
    ['examples: [1]', 'Json', /has no type that x-crud stores/],
  ]
  const properties = wrong.map(([property], i) => `        extra${i}: { ${property}, description: A. }\n`)
  const columns = wrong.map(([, column], i) => `  extra${i} ${column}\n`)
  const found = await problemsOf(
    changed(resource, [['        metadata:', `${properties.join('')}        metadata:`]]),
    {
      table: changed(model, [['  metadata ', `${columns.join('')}  metadata `]]),
    },
  )
  t.equal(found.length, wrong.length)
  for (const [i, [, , message]] of wrong.entries()) {
    t.ok(found[i]?.startsWith(`|extra${i}: {`), 'at the property')
    t.match(found[i], message)
  }
})

t.test('a table that the statements do not fit', async (t) => {
  t.strictSame(await problemsOf(resource, { table: '' }), [
    '|schema: Note: Note has no table: add a model Note with `@@map("notes")` to prisma/schema.prisma ' +
      '(prisma/schema.prisma:1)',
  ])
  const [unnamed] = await problemsOf(resource, { table: changed(model, [['  @@map("notes")\n', '']]) })
  t.match(unnamed, '|schema: Note: Note is stored in the table notes: add `@@map("notes")` to the model Note')
  const [unknown, pinned] = await problemsOf(changed(resource, [['default: false, ', '']]), {
    table: changed(model, [['pinned      Boolean', 'colour String\n  pinned      Boolean @default(false)']]),
  })
  t.match(unknown, '|schema: Note: Note has no property for the column Note.colour, which is NOT NULL')
  t.match(pinned, 'Note.pinned may be left out of a creation: add it to `required`, or a `default`')
})

t.test('a parameter of the list has its condition in a file', async (t) => {
  const parameter = `      parameters:
        - name: longer_than
          in: query
          description: Returns only notes with a longer text.
          schema: { type: integer, format: int32, minimum: 0, maximum: 5000 }
`
  const text = changed(resource, [['      filters: [pinned]\n', `      filters: [pinned]\n${parameter}`]])
  t.strictSame(await problemsOf(text), [
    '- |name: longer_than: the list has no condition for `longer_than`: write it to a file of its own ' +
      '(prisma/sql/notes/filter-longer-than.sql:1)',
  ])
  t.strictSame(await problemsOf(text, { conditions: ['filter-longer-than.sql'] }), [])
  const [path] = await problemsOf(changed(text, [['in: query', 'in: path']]))
  t.match(path, '- |name: longer_than: a parameter of a list needs a `name` in snake_case, `in: query`')
  const [wrong] = await problemsOf(changed(text, [['minimum: 0', 'minimum: 5001']]))
  t.match(wrong, '|minimum: 5001')
  t.strictSame(await problemsOf(changed(complete, [['filters: [pinned]', 'filters: [shape]']])), [
    'filters: [|shape]: a list cannot be filtered by the object `shape`: write one of `parameters`',
  ])
})

t.test('a migration has a CHECK for each enum whose column it makes', async (t) => {
  const kinds = `        kind: { type: [string, 'null'], enum: ["it's", b, null], description: A kind. }
        level: { type: string, enum: [low, high], default: low, readOnly: true, description: A level. }
`
  writeResource(changed(resource, [['        metadata:', `${kinds}        metadata:`]]), {
    table:
      changed(model, [['  metadata ', '  kind String?\n  level Level\n  metadata ']]) +
      '\nenum Level { low high }\n',
  })
  const database = readDatabase(await sourcesOf(folder))
  const document = await bundledContract(spec)
  const table = 'CREATE TABLE "notes" (\n    "id" TEXT,\n    "kind" TEXT,\n    "level" "Level" NOT NULL\n);\n'
  const check = `
-- AddCheck
ALTER TABLE "notes" ADD CONSTRAINT "notes_kind_check"
  CHECK ("kind" IN ('it''s', 'b'));
`
  t.equal(enumChecks(table, document, database), check, 'an enum of Prisma needs none')
  t.equal(enumChecks('ALTER TABLE "notes" ADD COLUMN     "kind" TEXT;', document, database), check)
  t.equal(enumChecks('ALTER TABLE "notes" ALTER COLUMN "kind" SET NOT NULL;', document, database), '')
  t.equal(enumChecks(table.replaceAll('notes', 'other'), document, database), '')
})

t.test('a constraint is listed at the part of the spec that it is derived from', async (t) => {
  writeResource(complete)
  const { lines } = await compareWithList(spec, join(folder, 'none.json'))
  const sourceOf = (constraint: string): string => {
    const found = lines.find((line) => line.endsWith(` ${constraint} added`))
    const [, file, row] = /^(\S+):(\d+) /.exec(found ?? '') ?? []
    return file === undefined
      ? ''
      : readFileSync(join(folder, file), 'utf8').split('\n')[Number(row) - 1].trim()
  }
  const schemas = '/components/schemas'
  const list = '/paths/~1projects~1{id}~1notes'
  const item = `${list}~1{note_id}`
  t.equal(sourceOf(`${schemas}/NoteUpdate/properties/title/minLength`), 'title:')
  t.equal(sourceOf(`${schemas}/NoteCreate/required/title`), 'Note:')
  t.equal(sourceOf(`${schemas}/NoteId/pattern`), 'prefix: note')
  t.match(sourceOf(`${schemas}/CircleInput/properties/radius/type`), /^radius: /)
  t.match(sourceOf(`${list}/get/parameters/query pinned/schema/type`), /^pinned: /)
  t.equal(sourceOf(`${list}/get/parameters/query sort/schema/enum`), 'sort: [title]')
  t.equal(sourceOf(`${item}/put/requestBody/required`), 'x-crud:')
})
