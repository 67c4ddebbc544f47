// Writes generated/sql: a typed function for each statement of prisma/sql.
import type { Catalog } from './catalog.ts'
import type { Description } from './describe.ts'
import type { SqlSource, Text } from './source.ts'

export interface Described {
  source: SqlSource
  parameters: TypedParameter[]
  columns: Column[]
  /** Whether the statement only reads, without locks. */
  reads: boolean
}

interface TypedName {
  name: string
  type: string
  /** A parameter that a caller may leave out. */
  optional?: boolean
}

interface TypedParameter extends TypedName {
  /** Whether its SQL type is json or jsonb. */
  isJson?: true
}

export interface Column extends TypedName {
  nullable: boolean
}

const banner = '// Generated from prisma/sql by `npm run generate`. Do not edit.\n'

/** The modules by domain. */
export function emitSql(statements: Described[]): Map<string, string> {
  const domains = Map.groupBy(statements, ({ source }) => source.domain)
  return new Map([...domains].map(([domain, members]) => [`${domain}.ts`, moduleOf(members)]))
}

function moduleOf(statements: Described[]): string {
  const isOfResource = statements.some(({ source }) => source.file.startsWith('generated/'))
  const body = statements.map((each) => functionOf(each, isOfResource)).join('\n')
  const used = ['many', 'none', 'one', 'optional', 'page'].filter((name) =>
    statements.some(({ source }) => source.returns === name),
  )
  const queries = used.filter((name) => name !== 'page')
  const imports = [
    ...(queries.length > 0
      ? [`import { ${queries.join(', ')} } from '../../infra/database/queries.ts'`]
      : []),
    ...(used.includes('page') ? ["import { page } from '../../infra/database/list.ts'"] : []),
    ...(/\bEventType\b/.test(body) ? ["import type { EventType } from '../events.ts'"] : []),
    ...(/\bSchemas\[/.test(body) ? ["import type { components } from '../types.ts'"] : []),
  ]
  const alias = /\bSchemas\[/.test(body) ? "\ntype Schemas = components['schemas']\n" : ''
  return `${banner}${imports.join('\n')}\n${alias}\n${body}`
}

function functionOf(described: Described, isOfResource: boolean): string {
  const { source, parameters, columns } = described
  const { name, returns, comment, file } = source
  const row = `${name[0].toUpperCase()}${name.slice(1)}Row`
  const { list } = source
  const types =
    list === null
      ? [objectType(parameters)]
      : [
          objectType(parameters.slice(0, list.required)),
          objectType([
            ...parameters.slice(list.required),
            // A filter without a parameter of its own.
            ...list.filters
              .filter((filter) => !parameters.some((parameter) => parameter.name === filter.name))
              .map((filter) => ({ name: filter.name, type: 'true' })),
          ]),
          list.sorts.map((sort) => `'${sort.name}'`).join(' | '),
        ]
  if (returns !== 'none') types.push(row)
  const doc = [...comment, `@see ${file}`]
  return [
    '/**',
    ...doc.map((line) => ` * ${line}`),
    ' */',
    `export const ${name} = ${returns}<${types.join(', ')}>(`,
    `  '${labelOf(source)}',`,
    returns === 'page' ? listOf(source) : `  ${literal(source.text)},`,
    ...(returns !== 'page' && (parameters.length > 0 || source.searches || described.reads)
      ? [`  ${namesOf(parameters)},`]
      : []),
    ...(returns === 'page' ? [] : optionsOf(described, isOfResource)),
    ')',
    ...(returns === 'none' ? [] : [rowType(row, columns)]),
    '',
  ].join('\n')
}

/** A resource with x-crud passes values of JSON columns as they are; other callers write lists as JSON. */
function optionsOf(
  { source: { name, searches }, parameters, reads }: Described,
  isOfResource: boolean,
): string[] {
  const isWrite = isOfResource && ['insert', 'update'].includes(name)
  const json = isWrite ? parameters.filter(({ isJson }) => isJson) : []
  const options = [
    ...(searches ? ['searches: true'] : reads ? ['reads: true'] : []),
    ...(json.length > 0 ? [`json: ${namesOf(json)}`] : []),
  ]
  return options.length === 0 ? [] : [`  { ${options.join(', ')} },`]
}

/** `domain/name`, by which errors and tests name the statement. */
function labelOf({ file }: SqlSource): string {
  return file.replace(/^(prisma\/sql|generated\/resources)\/|\.sql$/g, '')
}

function objectType(fields: TypedName[]): string {
  return fields.length === 0
    ? '{}'
    : `{ ${fields.map(({ name, type, optional }) => `${name}${optional ? '?' : ''}: ${type}`).join('; ')} }`
}

function rowType(name: string, columns: Column[]): string {
  const fields = columns.map(({ name: column, type, nullable }) => {
    const key = /^[a-zA-Z_]\w*$/.test(column) ? column : JSON.stringify(column)
    return `  ${key}: ${type}${nullable ? ' | null' : ''}`
  })
  return [`export interface ${name} {`, ...fields, '}'].join('\n')
}

function listOf(source: SqlSource): string {
  const { filters, sorts, totals, id } = source.list!
  const names = source.parameters.map(({ name }) => ({ name }))
  return [
    '  {',
    `    select: ${literal(source.text)},`,
    `    names: ${namesOf(names)},`,
    '    filters: {',
    ...filters.map(({ name, text, otherwise, searches }) => {
      const options = [
        `sql: ${literal(text)}`,
        ...(otherwise === null ? [] : [`otherwise: ${literal(otherwise)}`]),
        ...(searches ? ['searches: true'] : []),
      ]
      return `      ${name}: { ${options.join(', ')} },`
    }),
    '    },',
    '    sorts: {',
    ...sorts.map(({ name, text }) => `      ${name}: ${literal(text)},`),
    '    },',
    `    id: ${literal(id)},`,
    '    totals: {',
    ...totals.map(({ filters: names, text }) => `      '${names.join(' ')}': ${literal(text)},`),
    '    },',
    '  },',
  ].join('\n')
}

function namesOf(parameters: Array<{ name: string }>): string {
  return `[${parameters.map(({ name }) => `'${name}'`).join(', ')}]`
}

function literal({ sql }: Text): string {
  const text = sql.trim().replace(/\n[ \t]*(?=\n)/g, '')
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``
}

/** The types of a statement from its description. */
export function typed(
  source: SqlSource,
  { parameters, columns }: Description,
  { catalog, nullable }: { catalog: Catalog; nullable: boolean[] },
): Described {
  return {
    source,
    reads: onlyReads(source.text.sql, catalog),
    parameters: source.parameters.map(({ name, nullable: isNullable, optional, nullableElements }, i) => {
      const { name: sqlType, parameter } = catalog.types.get(parameters[i])!
      const type = nullableElements
        ? parameter.replace(/^readonly \(?(.*?)\)?\[\]$/, 'readonly ($1 | null)[]')
        : parameter
      return {
        name,
        type: `${type}${isNullable ? ' | null' : ''}`,
        ...(optional && { optional }),
        ...(/^jsonb?$/.test(sqlType) && { isJson: true }),
      }
    }),
    columns: columns.map(({ name, type }, i) => ({
      name,
      type: source.types.get(name) ?? catalog.types.get(type)!.row ?? 'unknown',
      // A function in FROM has columns that the syntax tree does not show.
      nullable: source.nullable.get(name) ?? (nullable.length === columns.length ? nullable[i] : true),
    })),
  }
}

/** Words of statements that write, lock or notify, and functions of PostgreSQL that do so or take time. */
const effects =
  /\b(INSERT|UPDATE|DELETE|MERGE|LOCK|NOTIFY|FOR (KEY )?SHARE)\b|\b(pg_|set_config|nextval)\w*\(/i

/** Whether a statement has no effect, so that it may share a round trip with those of other requests. */
export function onlyReads(sql: string, { volatile }: Catalog): boolean {
  if (!/^\s*(SELECT|WITH)\b/i.test(sql) || effects.test(sql)) return false
  return [...sql.matchAll(/\b(\w+)\(/g)].every(([, name]) => !volatile.has(name))
}
