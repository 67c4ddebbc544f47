// A resource with a field for each row of the table of types in docs/adding-a-resource.md, and another for
// each that may be null.

interface Sample {
  name: string
  /** The declaration in the table. */
  declared: string
  column: string
  /** Two values, in ascending order where there is one. */
  values: [unknown, unknown]
  /** Lists and objects have no order and no filter. */
  isPlain: boolean
  mayBeNull: boolean
}

/** By the beginning of what the table has. */
const values: Record<string, [unknown, unknown]> = {
  'type: string, format: date-time': ['2024-02-29T23:59:59.999Z', '2026-11-21T09:30:00.000Z'],
  'type: string, format: date': ['0001-01-01', '2024-02-29'],
  'type: string, format: uuid': [
    '0195c3a0-0000-7000-8000-000000000001',
    '0195c3a0-0000-7000-8000-000000000002',
  ],
  'type: string, format: uri': ['https://example.com/a', 'https://example.com/b'],
  'type: string, enum': ['high', 'low'],
  'type: string': ['', `a 'text' with {"signs"}`],
  'type: integer, format: int32': [0, 100],
  'type: integer, format: int64': [0, 9007199254740991],
  'type: number': [-0.1, 1.5],
  'type: boolean': [false, true],
  'type: array, items: { type: string, format: date': [[], ['2024-02-29', '0001-01-01']],
  'type: array, items: { type: string': [[], ['a,b', '{"c"}', '', 'NULL', '\\']],
  'type: array, items: { type: integer': [[], [3, 1]],
  'type: array, items: { type: object': [[], [{ n: true }, {}]],
  'type: object': [{}, { n: false }],
}

/** The rows of the table, and for each with one value another field that may be null. */
export function samplesOf(page: string): Sample[] {
  const table = [...page.matchAll(/^\| `(type: [^|]*)` +\| `([^`]+)` +\|$/gm)]
  const rows = [
    ...table.map(([, text, column]) => [text, column]),
    ['type: string, enum: [low, high]', 'Level'],
  ]
  return rows.flatMap(([text, column], i): Sample[] => {
    const start = Object.keys(values)
      .sort((a, b) => b.length - a.length)
      .find((each) => text.startsWith(each))
    if (start === undefined) throw new Error(`there are no values for \`${text}\``)
    const declared = text.replace('…', '{ n: { type: boolean, description: A flag., examples: [true] } }')
    const isPlain = !/^type: (array|object)/.test(declared)
    // The values of an enum have the order of their declaration.
    const [first, second] = values[start]
    const ordered: Sample['values'] = column === 'Level' ? [second, first] : [first, second]
    const own = { name: `field_${i}`, declared, column, values: ordered, isPlain, mayBeNull: false }
    const [, type, rest] = /^type: (\w+)(.*)$/.exec(declared)!
    const orNull = rest.replace(/enum: \[(.*?)\]/, 'enum: [$1, null]')
    const nullable = {
      ...own,
      name: `${own.name}_or_null`,
      declared: `type: [${type}, 'null']${orNull}`,
      column: column.replace(/^\w+/, '$&?'),
      mayBeNull: true,
    }
    return column.includes('[]') ? [own] : [own, nullable]
  })
}

/** The path item and the schema, as the file of the spec has them. */
export function specOf(samples: Sample[]): string {
  const required = samples.filter(({ mayBeNull }) => !mayBeNull).map(({ name }) => name)
  const plain = samples.filter(({ isPlain }) => isPlain).map(({ name }) => name)
  const properties = samples.map(
    ({ name, declared, values: [, value] }) =>
      `        ${name}: { ${declared}, description: A field., examples: [${JSON.stringify(value)}] }\n`,
  )
  return `paths:
  samples:
    x-crud:
      schema: Sample
      prefix: smp
      tag: notes
      scopes: { read: projects:read, write: projects:write }
      roles: { read: viewer, write: editor }
      sort: [${plain.filter((name) => required.includes(name)).join(', ')}]
      filters: [${plain.join(', ')}]
components:
  schemas:
    Sample:
      description: A field of each type.
      required: [${required.join(', ')}]
      properties:
${properties.join('')}`
}

export function modelOf(samples: Sample[]): string {
  const columns = samples.map(({ name, column }) => `  ${name} ${column}\n`)
  return `
/// A field of each type.
model Sample {
  id          String   @id
  projectId   String   @map("project_id")
  createdById String   @map("created_by")
  createdAt   DateTime @default(now()) @map("created_at") @db.Timestamptz(3)
  updatedAt   DateTime @default(now()) @map("updated_at") @db.Timestamptz(3)
${columns.join('')}
  project   Project @relation(fields: [projectId], references: [id], onDelete: Cascade)
  createdBy User    @relation(fields: [createdById], references: [id])

  @@index([projectId, id])
  @@index([createdById])
  @@map("samples")
}

enum Level {
  low
  high
}
`
}
