// Reads models, columns, their comments and CHECK constraints from the text of schema.prisma and the
// migrations, with the line of each for error messages. Prisma itself validates the syntax.
export interface Place {
  file: string
  line: number
}

export interface Column extends Place {
  /** The name in Prisma. */
  field: string
  /** The name in the table. */
  name: string
  /** A Prisma type or the name of an enum. */
  type: string
  list: boolean
  nullable: boolean
  /** Whether an INSERT may leave out the column although it is not nullable. */
  hasDefault: boolean
  /** The native type attribute, such as `VarChar(200)`. */
  native: string | null
  /** The reason why the column must not be returned, or null. */
  secret: string | null
  /** The `///` comment on one line; empty without one. */
  comment: string
  /** From CHECK constraints. */
  checks: Check[]
}

export type Check = Place & {
  /** The name of the constraint; undefined without one. */
  constraint?: string
} & ({ values: string[] } | { maxLength: number } | { min: number } | { max: number })

export interface Model extends Place {
  name: string
  table: string
  /** The `///` comment on one line; empty without one. */
  comment: string
  /** The title of the section, `// --- title ---`, that the model is in; empty above the first. */
  section: string
  columns: Column[]
}

export interface Enum extends Place {
  values: string[]
}

export interface Database {
  models: Map<string, Model>
  enums: Map<string, Enum>
}

/**
 * The texts of the files that define the database. `omitted` is the module that configures Prisma's `omit`.
 */
export interface Sources {
  schema: string
  migrations: Array<{ file: string; text: string }>
  omitted: string
}

export const schemaFile = 'prisma/schema.prisma'

export function readDatabase({ schema, migrations, omitted }: Sources): Database {
  const models = new Map<string, Model>()
  const enums = new Map<string, Enum>()
  let model: Model | null = null
  let values: Enum | null = null
  let comment = ''
  let section = ''
  for (const [i, text] of schema.split('\n').entries()) {
    const place = { file: schemaFile, line: i + 1 }
    const line = text.trim()
    const [, kind, name] = /^(model|enum) (\w+) \{/.exec(line) ?? []
    section = /^\/\/ --- (.+) ---$/.exec(line)?.[1] ?? section
    if (kind === 'model')
      models.set(name, (model = { ...place, name, table: name, comment, section, columns: [] }))
    else if (kind === 'enum') enums.set(name, (values = { ...place, values: [] }))
    else if (line === '}') model = values = null
    else if (line.startsWith('///')) comment = `${comment} ${line.slice('///'.length)}`.trim()
    else if (model !== null && line.startsWith('@@map')) model.table = quoted(line)
    else if (model !== null && /^\w/.test(line)) model.columns.push({ ...place, ...columnOf(line, comment) })
    else if (values !== null && /^\w/.test(line))
      values.values.push(/@map\("([^"]+)"\)/.exec(line)?.[1] ?? line.split(/\s/)[0])
    if (!line.startsWith('///')) comment = ''
  }
  for (const { columns } of models.values())
    columns.splice(0, Infinity, ...columns.filter(({ type }) => !models.has(type)))
  addChecks([...models.values()], migrations)
  addOmitted(models, omitted)
  return { models, enums }
}

function columnOf(line: string, comment: string): Omit<Column, 'file' | 'line'> {
  const [, field, type, list, optional, rest] = /^(\w+)\s+(\w+)(\[\])?(\?)?(.*)$/.exec(line)!
  const secret =
    type === 'Bytes'
      ? 'a Bytes column holds a digest or a secret'
      : /@internal\b/.test(comment)
        ? 'it is marked @internal'
        : null
  return {
    field,
    name: /@map\("([^"]+)"\)/.exec(rest)?.[1] ?? field,
    type,
    list: list !== undefined,
    nullable: optional !== undefined,
    hasDefault: list !== undefined || /@default\(|@updatedAt\b/.test(rest),
    native: /@db\.(\w+(\([\d, ]+\))?)/.exec(rest)?.[1] ?? null,
    secret,
    comment,
    checks: [],
  }
}

/** Marks the fields that the Prisma client omits: `const omit = { model: { field: true } }`. */
function addOmitted(models: Map<string, Model>, text: string): void {
  const omit = /^const omit = \{(.*)\} as const$/m.exec(text)?.[1] ?? ''
  for (const [, name, fields] of omit.matchAll(/(\w+): \{([^}]*)\}/g)) {
    const columns = models.get(name.charAt(0).toUpperCase() + name.slice(1))?.columns ?? []
    for (const [, field] of fields.matchAll(/(\w+): true/g)) {
      const column = columns.find((each) => each.field === field)
      if (column !== undefined) column.secret = 'infra/database/prisma.ts omits it from every row'
    }
  }
}

function addChecks(models: Model[], migrations: Sources['migrations']): void {
  for (const { file, text } of migrations) {
    for (const { 0: statement, 1: table, index } of text.matchAll(/ALTER TABLE "?(\w+)"?[^;]*;/g)) {
      const columns = models.find((model) => model.table === table)?.columns ?? []
      for (const [, dropped] of statement.matchAll(/DROP CONSTRAINT (?:IF EXISTS )?"?(\w+)"?/g))
        for (const column of columns)
          column.checks = column.checks.filter(({ constraint }) => constraint !== dropped)
      for (const { 0: start, 1: constraint, index: at } of statement.matchAll(
        /(?:CONSTRAINT "?(\w+)"?\s+)?CHECK \(/g,
      )) {
        const end = at + start.length
        const place = { file, line: text.slice(0, index + end).split('\n').length, constraint }
        const expression = balanced(statement.slice(end - 1))
          .replaceAll('"', '')
          .replace(/\s+/g, ' ')
        for (const { column, ...check } of checksIn(expression)) {
          columns.find(({ name }) => name === column)?.checks.push({ ...place, ...check })
        }
      }
    }
  }
}

type ColumnCheck =
  | { column: string; values: string[] }
  | { column: string; maxLength: number }
  | { column: string; min: number }
  | { column: string; max: number }

/**
 * The value lists, lengths and bounds of single columns in a CHECK expression without quotes and line breaks.
 * NULL always passes a CHECK.
 */
function checksIn(expression: string): ColumnCheck[] {
  const inner = unwrapped(expression.replace(/^\w+ IS NULL OR /, ''))
  const parts = split(inner.replace(/(\w+) BETWEEN (\d+) AND (\d+)/g, '$1 >= $2 AND $1 <= $3'))
  if (parts.length > 1) return parts.flatMap(checksIn)
  const [part] = parts
  const list = /^(\w+) IN \(([^()]*)\)$/.exec(part)
  if (list !== null)
    return [{ column: list[1], values: [...list[2].matchAll(/'([^']*)'/g)].map(([, value]) => value) }]
  const length = /^(?:char_)?length\((\w+)\) <= (\d+)$/.exec(part)
  if (length !== null) return [{ column: length[1], maxLength: Number(length[2]) }]
  const bound = /^(\w+) (>=|>|<=|<) (\d+)$/.exec(part)
  if (bound === null) return []
  const [, column, sign, text] = bound
  const number = Number(text)
  return [
    sign.startsWith('>')
      ? { column, min: number + Number(sign === '>') }
      : { column, max: number - Number(sign === '<') },
  ]
}

function unwrapped(text: string): string {
  const trimmed = text.trim()
  return trimmed.startsWith('(') && balanced(trimmed) === trimmed.slice(1, -1)
    ? unwrapped(trimmed.slice(1, -1))
    : trimmed
}

/** The text inside the first pair of parentheses. */
function balanced(text: string): string {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++
    if (text[i] === ')' && --depth === 0) return text.slice(1, i)
  }
  return text.slice(1)
}

/** Splits at every AND outside parentheses. */
function split(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++
    if (text[i] === ')') depth--
    if (depth === 0 && text.startsWith(' AND ', i)) {
      parts.push(text.slice(from, i).trim())
      from = i + ' AND '.length
    }
  }
  return [...parts, text.slice(from).trim()]
}

function quoted(line: string): string {
  return /"([^"]+)"/.exec(line)![1]
}
