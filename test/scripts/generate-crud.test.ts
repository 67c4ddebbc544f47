// Mistakes in a resource with x-crud are reported once, where they were made, and not in what is derived from
// it. The resource is that of docs/adding-a-resource.md.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ContractError, readContract } from '../../scripts/generate/contract.ts'
import { mismatchesOf } from '../../scripts/generate/schema-db-check.ts'

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

/** @returns each problem as its source line, `|` at its column, and the message. */
async function problemsOf(t: Test, text: string): Promise<string[]> {
  const folder = t.testdir({})
  for (const part of ['spec', 'prisma', 'infra/database'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  const spec = join(folder, 'spec/openapi.yaml')
  // The paths of two areas, so that the lint costs less.
  const others = /^  \/.*\$ref: '(?!system|projects)\w+\.yaml#.*\n/gm
  const comment = '/projects/{id}/notes/{note_id}/comments'
  const isNested = text.includes('noteComments:')
  writeFileSync(
    spec,
    readFileSync(spec, 'utf8')
      .replace(others, '')
      .replace(
        /^paths:\n/m,
        `$&  ${route}\n${isNested ? `  ${comment}: { $ref: 'notes.yaml#/paths/noteComments' }\n` : ''}`,
      )
      .replace(/^tags:\n/m, '$&  - { name: notes, x-displayName: Notes, description: Notes. }\n')
      .replace('tags: [projects, ', 'tags: [notes, projects, '),
  )
  writeFileSync(join(folder, 'spec/notes.yaml'), text)
  const schema = join(folder, 'prisma/schema.prisma')
  writeFileSync(schema, `${readFileSync(schema, 'utf8')}\n${model}`)
  const lines = await mistakesIn(folder, spec)
  return lines.map((line) => {
    const [, file, row, column, message] = /^(\S+?):(\d+):(\d+) (.*)$/.exec(line)!
    const source = readFileSync(join(folder, file), 'utf8').split('\n')[Number(row) - 1]
    const at = Number(column) - 1
    return `${`${source.slice(0, at)}|${source.slice(at)}`.trim()}: ${message}`
  })
}

async function mistakesIn(folder: string, spec: string): Promise<string[]> {
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
  t.strictSame(await problemsOf(t, resource), [])
})

t.test('mistakes in the schema and in x-crud', async (t) => {
  const found = await problemsOf(
    t,
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
  t.strictSame(await problemsOf(t, wrong), [
    'sort: [title, |titel, text]: `titel` is not a property of `Note`',
    'sort: [title, titel, |text]: a list cannot be sorted by `text`: it can be null, or has no order',
    'filters: [|pined]: `pined` is not a property of `Note`',
    'parent: |Nota: no x-crud of this file has the schema `Nota`',
  ])
  t.strictSame(await problemsOf(t, changed(resource, [['schema: Note', 'schema: Noted']])), [
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
  const [colour, pinned, ...others] = await problemsOf(t, wrong)
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
