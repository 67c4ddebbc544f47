// Checks the table of a resource with x-crud. Its statements are generated, so its properties must fit into
// the columns that these statements read and write as they are.
import { flattened } from '../../constraints/constraints.ts'
import { unwrapped } from './compare.ts'
import { schemaFile, type Column, type Database, type Model, type Place } from './database.ts'

type Json = any

const texts = ['String', 'String @db.Text', 'String @db.VarChar']
const jsons = ['Json', 'Json @db.JsonB']

/** The columns for each kind of property, without lengths. The first is advised. */
const columns: Record<string, string[]> = {
  date: ['DateTime @db.Date'],
  'date-time': ['DateTime @db.Timestamptz'],
  uuid: ['String @db.Uuid', ...texts],
  string: texts,
  integer: ['Int', 'Int @db.Integer', 'Int @db.SmallInt', 'BigInt', 'BigInt @db.BigInt'],
  number: ['Float', 'Float @db.DoublePrecision'],
  boolean: ['Boolean', 'Boolean @db.Boolean'],
  object: jsons,
  array: jsons,
}

/** The kinds that a list column can have as items. */
const listed = ['string', 'integer', 'number', 'boolean', 'date', 'uuid']

/** Why the statements of a resource cannot store the property in the column; null if they can. */
export function unstorable(
  document: Json,
  property: Json,
  column: Column,
  { enums }: Database,
): string | null {
  const { value } = unwrapped(flattened(document, property))
  const schema = flattened(document, value)
  const kind = kindOf(schema)
  if (kind === null)
    return (
      'has no type that x-crud stores: declare a string, integer, number, boolean, array or object' +
      (schema.format === 'binary' ? ', and upload files by an operation of your own' : '')
    )
  if (column.list ? fitsList(document, schema, column) : fits(kind, schema, column, enums)) return null
  const [advised] = columns[kind]
  const example = advised === 'DateTime @db.Timestamptz' ? `${advised}(3)` : advised
  const isText = schema.format !== undefined && kind === 'string'
  return (
    `is ${described(schema)}, which x-crud stores in \`${example}\`` +
    `${isText ? ', as text' : ''}: the column is \`${storedName(column)}\``
  )
}

function kindOf({ type, format, discriminator, oneOf }: Json): string | null {
  if (format === 'binary') return null
  if (type === 'string' && format !== undefined && columns[format] !== undefined) return format
  if (typeof type === 'string') return columns[type] === undefined ? null : type
  return discriminator !== undefined && oneOf !== undefined ? 'object' : null
}

function fits(kind: string, schema: Json, column: Column, enums: Database['enums']): boolean {
  if (enums.has(column.type)) return kind === 'string' && schema.enum !== undefined
  return columns[kind].includes(plainName(column))
}

function fitsList(document: Json, { type, items }: Json, column: Column): boolean {
  if (type !== 'array' || items === undefined) return false
  const kind = kindOf(flattened(document, items))
  if (kind === null || !listed.includes(kind) || column.type === 'BigInt') return false
  return columns[kind].includes(plainName(column))
}

function described({ type, format, items }: Json): string {
  if (type === 'array') return `a list${items?.type === undefined ? '' : ` of ${items.type}`}`
  const name = format ?? type ?? 'object'
  return `${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}`
}

/** Whether a creation needs the property, whose column it would leave without a value. */
export function mustBeSent(document: Json, property: Json, column: Column): boolean {
  const isMetadata = property.$ref?.endsWith('/schemas/Metadata') === true
  const hasValue = isMetadata || flattened(document, property).default !== undefined
  return !hasValue && !column.nullable && column.hasDefault
}

/** The column as prisma/schema.prisma declares it. */
function storedName({ type, list, native }: Column): string {
  return `${type}${list ? '[]' : ''}${native === null ? '' : ` @db.${native}`}`
}

const plainName = ({ type, native }: Column): string =>
  `${type}${native === null ? '' : ` @db.${native.replace(/\(.*/, '')}`}`

/** The problems of the table itself. @param model null if there is none. */
export function tableMismatches(
  { schema, table }: { schema: string; table: string },
  { properties = {}, 'x-model': named = schema }: Json,
  model: Model | null,
): Array<{ message: string; database: Place }> {
  if (model === null)
    return [
      {
        message: `${schema} has no table: add a model ${named} with \`@@map("${table}")\` to ${schemaFile}`,
        database: { file: schemaFile, line: 1 },
      },
    ]
  if (model.table !== table)
    return [
      {
        message:
          `${schema} is stored in the table ${table}: ` +
          `add \`@@map("${table}")\` to the model ${model.name}`,
        database: model,
      },
    ]
  // The statements of a resource with a computed property are written by hand, and may set other columns.
  if (Object.values<Json>(properties).some((property) => property['x-computed'] !== undefined)) return []
  const given = Object.entries<Json>(properties).map(([key, property]) => property['x-column'] ?? key)
  return model.columns
    .filter(({ name, nullable, hasDefault }) => !nullable && !hasDefault && !given.includes(name))
    .map((column) => ({
      message:
        `${schema} has no property for the column ${model.name}.${column.field}, which is NOT NULL: ` +
        'declare one, or give the column a default',
      database: column,
    }))
}
