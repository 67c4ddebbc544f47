// Writes the generated part of docs/database.md: the catalogue of the migrated database, with the comments of
// prisma/schema.prisma and prisma/sql/functions.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { GenerateError } from '../error.ts'
import { readDatabase, schemaFile, type Model } from '../schema-db-check/database.ts'
import {
  readDatabaseCatalog,
  type DatabaseCatalog,
  type DatabaseFunction,
  type Table,
} from './database-catalog.ts'
import { functionsFolder } from './functions.ts'

export const pageFile = 'docs/database.md'

const begin =
  '<!-- Generated from the migrated database by `npm run generate`. Do not edit below this line. -->\n' +
  '<!-- prettier-ignore-start -->'
const end = '<!-- prettier-ignore-end -->'

/** A table with what only its model says. */
interface Documented extends Table {
  comment: string
  section: string
  /** The comments of columns, by the name of the column. */
  columnComments: Map<string, string>
}

/**
 * The generated part of the page.
 * @throws GenerateError for a table or function without a comment.
 */
export async function databasePage(client: pg.Client, root: string): Promise<string> {
  const catalog = await readDatabaseCatalog(client)
  const tables = documentedTables(catalog, root)
  const sections = [...Map.groupBy(tables, ({ section }) => section)]
  return [
    '## Contents',
    [
      ...sections.map(([title, members]) => `- [${title}](#${slug(title)}): ${links(members)}`),
      '- [Functions](#functions)',
      '- [Enums](#enums)',
    ].join('\n'),
    'Foreign keys have `ON UPDATE CASCADE` and indexes are B-trees, unless stated otherwise.',
    ...sections.flatMap(([title, members]) => [
      `## ${heading(title)}`,
      ...members.flatMap((table) => tableText(table, tables)),
    ]),
    '## Functions',
    ...catalog.functions.flatMap((each) => functionText(each, catalog.tables, root)),
    '## Enums',
    `${catalog.enums.map(({ name, labels }) => `- \`${name}\`: ${codes(labels)}`).join('\n')}\n`,
  ].join('\n\n')
}

/** The generated part of the page as it is now. @throws GenerateError if the page lacks its markers. */
export function generatedPart(root: string): string {
  return parts(root).generated
}

/** Replaces the generated part of the page. @returns the page's name if it changed. */
export function writePage(root: string, generated: string): string[] {
  const { before, generated: current, after } = parts(root)
  if (current === generated) return []
  writeFileSync(join(root, pageFile), before + generated + after)
  return [pageFile]
}

function parts(root: string): { before: string; generated: string; after: string } {
  const text = readFileSync(join(root, pageFile), 'utf8')
  const from = text.indexOf(`${begin}\n\n`) + begin.length + 2
  const to = text.indexOf(`\n${end}`)
  if (from < begin.length + 2 || to < from)
    throw new GenerateError(`${pageFile}: the page needs the lines\n    ${begin}\n\n\n    ${end}`)
  return { before: text.slice(0, from), generated: text.slice(from, to), after: text.slice(to) }
}

/** In the order of the models. */
function documentedTables(catalog: DatabaseCatalog, root: string): Documented[] {
  const schema = readFileSync(join(root, schemaFile), 'utf8')
  const models = [...readDatabase({ schema, migrations: [], omitted: '' }).models.values()]
  for (const { name } of catalog.tables)
    if (!models.some(({ table }) => table === name))
      throw new GenerateError(`${schemaFile}: no model describes the table ${name}`)
  return models.flatMap((model) => {
    const table = catalog.tables.find(({ name }) => name === model.table)
    return table === undefined ? [] : { ...table, ...documented(model) }
  })
}

function documented(model: Model): Pick<Documented, 'comment' | 'section' | 'columnComments'> {
  const { file, line, name, comment, section, columns } = model
  if (comment === '') throw new GenerateError(`${file}:${line}: the model ${name} needs a comment (///)`)
  if (section === '')
    throw new GenerateError(`${file}:${line}: the model ${name} is in no section (// --- title ---)`)
  // Comments of the schema name Prisma's fields; the page names columns.
  const withColumns = (text: string): string =>
    text.replace(
      /`(\w+)`/g,
      (whole, field) => columns.find((each) => each.field === field)?.name.replace(/.+/, '`$&`') ?? whole,
    )
  return {
    comment: withColumns(comment),
    section,
    columnComments: new Map(columns.map((column) => [column.name, withColumns(column.comment)])),
  }
}

function tableText(table: Documented, all: Table[]): string[] {
  const rows = table.columns.map(({ name, type, nullable, default: value }) => [
    `\`${name}\``,
    `\`${type}\``,
    nullable ? 'yes' : '',
    value === null ? '' : `\`${value.replaceAll('|', '\\|')}\``,
    table.columnComments.get(name) ?? '',
  ])
  const references = all.flatMap((other) =>
    other.foreignKeys
      .filter(({ target }) => target === table.name)
      .map(({ columns }) => `${other.name}.${columns.join(', ')}`),
  )
  const facts = [
    ...table.indexes.map(({ name, sql }) => `Index \`${name}\`: \`${sql}\``),
    ...table.checks.map(
      ({ name, sql }) => `Check \`${name}\`: \`${sql.replace(/^CHECK \( *(.*)\)$/, '$1')}\``,
    ),
    ...table.foreignKeys.map(
      ({ columns, target, referenced, actions }) =>
        `Foreign key \`${columns.join(', ')}\` to [${target}](#${target}) (\`${referenced.join(', ')}\`): ` +
        `\`${actions}\``,
    ),
    ...table.triggers.map(({ name, event, function: called, arguments: given }) => {
      const values = given === '' ? '' : ` with \`${given}\``
      return `Trigger \`${name}\`: \`${event}\` calls [${called}](#${called})${values}`
    }),
    ...(references.length === 0 ? [] : [`Referenced by ${codes(references)}`]),
  ]
  return [
    `### ${table.name}`,
    table.comment,
    markdownTable(['column', 'type', 'null', 'default', 'comment'], rows),
    facts.map((fact) => `- ${fact}`).join('\n'),
  ]
}

function functionText(
  { name, signature, isTrigger }: DatabaseFunction,
  tables: Table[],
  root: string,
): string[] {
  const file = `${functionsFolder}/${name.replaceAll('_', '-')}.sql`
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  const comment = lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('--')),
    )
    .map((line) => line.slice(2).trim())
    .join(' ')
  if (comment === '') throw new GenerateError(`${file}:1: the function ${name} needs a comment (--)`)
  const triggers = tables.flatMap((table) => {
    const names = table.triggers.filter((trigger) => trigger.function === name).map((trigger) => trigger.name)
    return names.length === 0 ? [] : [`${codes(names)} of [${table.name}](#${table.name})`]
  })
  const use = isTrigger ? `Triggers: ${triggers.join('; ')}.` : `\`${signature}\``
  return [`### ${name}`, comment, `${use} [Source](../${file})`]
}

function markdownTable(titles: string[], rows: string[][]): string {
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)))
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`
  return [titles, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n')
}

/** Not only the title, which may also be the name of a table. */
function heading(section: string): string {
  return `Tables: ${section.toLowerCase()}`
}

/** The anchor that GitHub gives to the heading of a section. */
function slug(section: string): string {
  return heading(section)
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

function links(tables: Table[]): string {
  return tables.map(({ name }) => `[${name}](#${name})`).join(', ')
}

function codes(names: string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}
