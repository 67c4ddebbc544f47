// Reads the statements of prisma/sql: their comments and annotations, their parameters, and the files
// that they include. docs/sql.md describes the format.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { GenerateError } from '../error.ts'
import { commonFilters } from './common-filters.ts'

/** How many rows a statement returns. */
export type Cardinality = 'one' | 'optional' | 'many' | 'none'

export interface Parameter {
  name: string
  nullable: boolean
  /** Whether a caller may leave it out, which is NULL: `:name??`. */
  optional: boolean
  /** Whether the elements of an array are nullable: `:name[?]`. */
  nullableElements: boolean
}

/** A text with the places in the files that it came from. */
export interface Text {
  sql: string
  /** Ascending: the text from `at` on comes from `offset` of `file`. */
  origins: Origin[]
}

interface Origin {
  at: number
  file: string
  offset: number
}

/** An optional condition of a list. */
export interface Filter {
  name: string
  text: Text
  /** The condition of the list without this filter. Default: none. */
  otherwise: Text | null
  /** The best plan depends on the value, so the statement is not prepared. */
  searches: boolean
}

export interface ListParts {
  /** How many of the parameters the statement needs; those of filters follow. */
  required: number
  filters: Filter[]
  sorts: Array<{ name: string; text: Text }>
  /** Queries that read the total of the list with exactly these filters. Default: counts the rows. */
  totals: Array<{ filters: string[]; text: Text }>
  /** The unique column that breaks ties. */
  id: Text
}

export interface SqlSource {
  /** The path relative to the project's folder. */
  file: string
  domain: string
  /** The name of the generated function. */
  name: string
  /** The first comment, without the annotations. */
  comment: string[]
  returns: Cardinality | 'page'
  /** The best plan depends on the values, so the statement is not prepared. */
  searches: boolean
  /** The TypeScript types of columns whose SQL type says too little, by column. */
  types: Map<string, string>
  /** The statement with the parameters as $1, $2, … For a list: up to and without ORDER BY. */
  text: Text
  parameters: Parameter[]
  /** Columns that the author declared as nullable or not: `AS "name?"`, `AS "name!"`. */
  nullable: Map<string, boolean>
  /** The places of `@type` and of the marks `AS "name?"`, by column. */
  places: Map<string, Place>
  /** The place of the annotation for the number of rows. */
  returnsAt: number
  list: ListParts | null
}

interface Place {
  file: string
  offset: number
}

/** A mistake in a file of prisma/sql, with its place. */
export class SqlMistake extends GenerateError {
  constructor(file: string, offset: number, message: string) {
    super(placed(rootFolder, file, offset, message))
  }
}

let rootFolder = ''

/** `file:line:column: message`, the line, and a mark below the column. */
export function placed(root: string, file: string, offset: number, message: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const line = text.slice(0, offset).split('\n').length
  const excerpt = text.slice(start).split('\n', 1)[0]
  const column = offset - start
  return `${file}:${line}:${column + 1}: ${message}\n    ${excerpt}\n    ${' '.repeat(column)}^`
}

/** @returns the file and the offset in it of a position in the text. */
export function placeOf({ origins }: Text, at: number): Place {
  const origin = origins.findLast((each) => each.at <= at) ?? origins[0]
  return { file: origin.file, offset: origin.offset + Math.max(0, at - origin.at) }
}

/** All statements, by file name. The other files are fragments. @throws SqlMistake. */
export function readSources(root: string): SqlSource[] {
  rootFolder = root
  return [...sqlFiles(root), ...resourceFiles(root)]
    .filter((file) => !file.startsWith('prisma/sql/functions/'))
    .flatMap((file) => new Reader(root, file).read() ?? [])
}

/** The paths of all files of prisma/sql, sorted. */
export function sqlFiles(root: string): string[] {
  return filesIn(root, 'prisma/sql')
}

/** The paths of the statements of resources with x-crud. */
export function resourceFiles(root: string): string[] {
  return filesIn(root, 'generated/resources')
}

function filesIn(root: string, name: string): string[] {
  const folder = join(root, name)
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sql'))
    .map((name) => relative(root, join(folder, name)))
    .sort()
}

export function camelCase(name: string): string {
  return name.replace(/[-_]+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

const token = new RegExp(
  [
    String.raw`'(?:[^']|'')*'`,
    String.raw`"(?<identifier>(?:[^"]|"")*)"`,
    String.raw`(?<comment>--[^\n]*\n?)`,
    '::',
    String.raw`:(?<parameter>[a-z_]\w*)(?<mark>\?\??|\[\?\])?`,
    // An include, or an argument of the file that includes this one.
    String.raw`\{(?<form>[:=]|[a-z]\w*\.)?(?<include>[a-z][\w/-]*)(?<given>(?:\s+\w+=[^\s}]+)*)\}`,
  ].join('|'),
  'g',
)

const annotation = /^-- @(\w+)(?: +(.*))?$/
const cardinalities = ['one', 'optional', 'many', 'none', 'page']

class Reader {
  #root: string
  #file: string
  #types = new Map<string, string>()
  #nullable = new Map<string, boolean>()
  #parameters: Parameter[] = []
  #places = new Map<string, Place>()
  /** The parameters of `@nullable` with the place of each. */
  #nullableParameters = new Map<string, number>()
  #returnsAt = 0

  constructor(root: string, file: string) {
    this.#root = root
    this.#file = file
  }

  /** @returns null for a fragment. */
  read(): SqlSource | null {
    const content = this.#content(this.#file)
    const [head, ...rest] = this.#sections(content)
    const { returns } = head
    if (returns === null) return null
    const comment = content
      .slice(0, head.start)
      .split('\n')
      .filter((line) => line.startsWith('--') && !annotation.test(line))
      .map((line) => line.slice(2).trim())
    if (comment.length === 0) throw new SqlMistake(this.#file, 0, 'a comment must state the purpose')
    const text = this.#expand(content, head.start, head.end)
    const list = returns === 'page' ? this.#list(content, rest) : null
    if (list === null && rest.length > 0)
      throw new SqlMistake(this.#file, rest[0].at, `only a @page has a @${rest[0].kind}`)
    for (const [name, at] of this.#nullableParameters)
      if (!this.#parameters.some((parameter) => parameter.name === name))
        throw new SqlMistake(this.#file, at, `there is no parameter ${name}`)
    return {
      file: this.#file,
      domain: basename(dirname(this.#file)),
      name: camelCase(basename(this.#file, '.sql')),
      comment,
      returns,
      searches: head.value === 'searches',
      types: this.#types,
      text,
      parameters: this.#parameters,
      nullable: this.#nullable,
      places: this.#places,
      returnsAt: this.#returnsAt,
      list,
    }
  }

  #content(file: string): string {
    return readFileSync(join(this.#root, file), 'utf8')
  }

  /** The statement, and for a list its filters, sorts, totals and id. Annotations begin them. */
  #sections(content: string): Section[] {
    const sections: Section[] = [{ kind: 'statement', value: '', at: 0, start: 0, end: 0, returns: null }]
    let begun = false
    let offset = 0
    for (const line of content.split('\n')) {
      const [, kind, value = ''] = annotation.exec(line) ?? []
      const next = offset + line.length + 1
      if (kind === undefined) {
        if (!line.startsWith('--') && line.trim() !== '') {
          if (!begun) sections[0].start = offset
          begun = true
        }
      } else if (cardinalities.includes(kind)) {
        sections[0].returns = kind as Section['returns']
        sections[0].value = value
        this.#returnsAt = offset
      } else if (kind === 'type') {
        this.#addType(this.#file, offset, value)
      } else if (kind === 'nullable') {
        this.#nullableParameters.set(value, offset)
      } else if (['common', 'filter', 'otherwise', 'sort', 'total', 'id'].includes(kind)) {
        sections.at(-1)!.end = offset
        sections.push({ kind, value, at: offset, start: next, end: next, returns: null })
      } else {
        throw new SqlMistake(this.#file, offset, `there is no annotation @${kind}`)
      }
      offset = next
    }
    sections.at(-1)!.end = content.length
    return sections
  }

  #addType(file: string, offset: number, value: string): void {
    const [, column, type] = /^(\w+) +(.+)$/.exec(value) ?? []
    if (column === undefined) throw new SqlMistake(file, offset, '@type takes a column and a type')
    this.#types.set(column, type)
    this.#places.set(column, { file, offset })
  }

  #list(content: string, sections: Section[]): ListParts {
    const parts: ListParts = {
      required: this.#parameters.length,
      filters: [],
      sorts: [],
      totals: [],
      id: { sql: '', origins: [] },
    }
    for (const { kind, value, at, start, end } of sections) {
      const text = this.#expand(content, start, end)
      const words = value.split(/ +/).filter((word) => word !== '')
      const [name, ...options] = words
      if ((kind === 'filter' || kind === 'sort') && name === undefined)
        throw new SqlMistake(this.#file, at, `@${kind} takes a name`)
      if (kind === 'common') parts.filters.push(...words.flatMap((word) => this.#common(word, at)))
      else if (kind === 'filter')
        parts.filters.push({ name, text, otherwise: null, searches: options.includes('searches') })
      else if (kind === 'otherwise') this.#lastFilter(parts, at).otherwise = text
      else if (kind === 'sort') parts.sorts.push({ name, text })
      else if (kind === 'total') parts.totals.push({ filters: this.#namesOfFilters(parts, words, at), text })
      else parts.id = text
    }
    if (parts.sorts.length === 0 || parts.id.sql === '')
      throw new SqlMistake(this.#file, this.#returnsAt, 'a @page states an @id and at least one @sort')
    return parts
  }

  #common(column: string, at: number): Filter[] {
    const filters = commonFilters(column)
    if (filters === null)
      throw new SqlMistake(this.#file, at, `@common takes created_at, updated_at and metadata, not ${column}`)
    return filters.map(({ name, sql }) => {
      const text: Text = { sql: '', origins: [] }
      this.#append(text, { file: this.#file, content: sql, offset: at })
      return { name, text, otherwise: null, searches: true }
    })
  }

  #lastFilter({ filters }: ListParts, at: number): Filter {
    const last = filters.at(-1)
    if (last === undefined) throw new SqlMistake(this.#file, at, '@otherwise follows a @filter')
    return last
  }

  /** The names in the order of the filters, as the runtime looks them up. */
  #namesOfFilters({ filters }: ListParts, words: string[], at: number): string[] {
    const unknown = words.find((word) => !filters.some(({ name }) => name === word))
    if (unknown !== undefined)
      throw new SqlMistake(this.#file, at, `there is no filter ${unknown} before this @total`)
    return filters.map(({ name }) => name).filter((name) => words.includes(name))
  }

  #expand(content: string, start: number, end: number): Text {
    const text: Text = { sql: '', origins: [] }
    this.#append(text, { file: this.#file, content: content.slice(start, end), offset: start })
    const trimmed = text.sql.trimEnd().replace(/;$/, '')
    return { ...text, sql: trimmed }
  }

  /** Appends a piece of a file with its parameters numbered and its includes inserted. */
  #append(text: Text, piece: Piece): void {
    const { file, content, offset, args = new Map<string, string>(), depth = 0 } = piece
    let from = 0
    const copy = (until: number): void => this.#copy(text, content.slice(from, until), file, offset + from)
    for (const match of content.matchAll(token)) {
      const { identifier, comment, parameter, mark, form, include, given } = match.groups!
      const at = offset + match.index
      let inserted: string | null = null
      if (identifier !== undefined && /[!?]$/.test(identifier)) {
        const name = identifier.slice(0, -1)
        this.#nullable.set(name, identifier.endsWith('?'))
        this.#places.set(name, { file, offset: at })
        inserted = `"${name}"`
      } else if (comment !== undefined) inserted = ''
      else if (parameter !== undefined) inserted = `$${this.#number(parameter, mark)}`
      else if (include !== undefined && args.has(include)) inserted = args.get(include)!
      else if (include === undefined) continue
      copy(match.index)
      from = match.index + match[0].length
      if (inserted !== null) this.#copy(text, inserted, file, at)
      else this.#include(text, include, given, { file, at, args, depth, form })
    }
    copy(content.length)
  }

  #copy(text: Text, sql: string, file: string, offset: number): void {
    if (sql === '') return
    text.origins.push({ at: text.sql.length, file, offset })
    text.sql += sql
  }

  #include(text: Text, name: string, given: string, { file, at, args, depth, form }: IncludePlace): void {
    const [domain, fragment] = name.includes('/') ? name.split('/') : [domainOf(this.#file), name]
    const written = `prisma/sql/${domain}/${fragment}.sql`
    const generated = `generated/resources/${domain}/${fragment}.sql`
    const path = [written, generated].find((each) => existsSync(join(this.#root, each)))
    if (path === undefined) throw new SqlMistake(file, at, `there is no file ${written}`)
    if (depth > 8) throw new SqlMistake(file, at, `the file ${path} includes itself`)
    const content = this.#content(path)
    let start = 0
    for (const line of content.split('\n')) {
      if (!line.startsWith('--')) break
      const [, kind, value = ''] = annotation.exec(line) ?? []
      if (kind === 'type') this.#addType(path, start, value)
      start += line.length + 1
    }
    const named = [...given.matchAll(/(\w+)=([^\s}]+)/g)].map(([, key, value]): [string, string] => [
      key,
      this.#argument(value),
    ])
    const included = content.slice(start).trimEnd()
    const listed = formed(included, form)
    if (listed === null)
      throw new SqlMistake(file, at, `the file ${path} is no list of columns, as {${form}${name}} needs`)
    this.#append(text, {
      file: path,
      content: listed,
      offset: start,
      args: new Map([...args, ...named]),
      depth: depth + 1,
    })
  }

  /** An argument of an include: `:name` is a parameter. */
  #argument(value: string): string {
    return value.replace(/^:([a-z_]\w*)$/, (_, name: string) => `$${this.#number(name)}`)
  }

  #number(name: string, mark?: string): number {
    let index = this.#parameters.findIndex((each) => each.name === name)
    if (index === -1)
      index = this.#parameters.push({ name, nullable: false, optional: false, nullableElements: false }) - 1
    // One mark suffices, wherever the parameter occurs.
    if (mark?.startsWith('?') === true || this.#nullableParameters.has(name))
      this.#parameters[index].nullable = true
    if (mark === '??') this.#parameters[index].optional = true
    if (mark === '[?]') this.#parameters[index].nullableElements = true
    return index + 1
  }
}

interface IncludePlace {
  file: string
  at: number
  args: Map<string, string>
  depth: number
  form: string | undefined
}

const columnList = /^\s*\w+\??(\s*,\s*\w+\??)*$/

/**
 * A list of columns as names of a table (`t.`), parameters (`:`) or assignments (`=`). A question mark in the
 * list makes a parameter nullable, and optional in the form `:`. @returns null for a form of another text
 */
function formed(content: string, form: string | undefined): string | null {
  if (!columnList.test(content)) return form === undefined ? content : null
  return content.replace(/(\w+)(\??)/g, (_, column: string, mark: string) => {
    if (form === undefined) return column
    if (form === ':') return `:${column}${mark}${mark}`
    return form === '=' ? `${column} = :${column}${mark}` : `${form}${column}`
  })
}

interface Section {
  kind: string
  value: string
  at: number
  start: number
  end: number
  returns: SqlSource['returns'] | null
}

interface Piece {
  file: string
  content: string
  offset: number
  /** The values of `{name}` in an included file. */
  args?: Map<string, string>
  depth?: number
}

function domainOf(file: string): string {
  return basename(dirname(file))
}
