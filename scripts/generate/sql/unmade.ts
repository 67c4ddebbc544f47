// The tables and columns of prisma/schema.prisma that no migration makes.
import type { Model, Place } from '../schema-db-check/database.ts'
import type { Catalog } from './catalog.ts'

/** An error of PostgreSQL for a missing part, and the message that replaces it. */
export interface Unmade {
  complaint: RegExp
  message: string
}

export function unmadeParts(models: Model[], { tables }: Catalog): Unmade[] {
  return models.flatMap((model): Unmade[] => {
    const { name, table, columns } = model
    const made = tables.get(table)
    const unmade = (what: string, { file, line }: Place, complaint: string, migration: string): Unmade => ({
      complaint: new RegExp(complaint),
      message:
        `${file}:${line}:1: no migration makes ${what} of the model ${name}: ` +
        `run \`npm run migrate -- --create ${migration}\``,
    })
    if (made === undefined)
      return [unmade(`the table ${table}`, model, `relation "${table}" does not exist`, table)]
    return columns
      .filter((column) => !made.some((other) => other.name === column.name))
      .map((column) => {
        const complaint = `column (\\w+\\.)?"?${column.name}"?( of relation "${table}")? does not exist`
        return unmade(`the column ${column.name}`, column, complaint, `${table}_${column.name}`)
      })
  })
}
