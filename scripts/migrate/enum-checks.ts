// CHECK constraints for the enums of resources with x-crud, which prisma/schema.prisma cannot declare.
import { resolve } from 'node:path'
import { flattened } from '../constraints/constraints.ts'
import { bundledContract } from '../generate/contract.ts'
import { declaredResources } from '../generate/crud/resources.ts'
import { readDatabase, type Database } from '../generate/schema-db-check/database.ts'
import { unwrapped } from '../generate/schema-db-check/compare.ts'
import { sourcesOf } from '../generate/schema-db-check.ts'

type Json = any

/** The SQL of a new migration, with a constraint for each column of it that has an enum in the spec. */
export async function withEnumChecks(script: string): Promise<string> {
  const root = resolve(import.meta.dirname, '../..')
  const document = await bundledContract(resolve(root, 'spec/openapi.yaml'))
  return script + enumChecks(script, document, readDatabase(await sourcesOf(root)))
}

/** The constraints for the columns that the SQL of a migration makes. */
export function enumChecks(script: string, document: Json, { models }: Database): string {
  const constraints = declaredResources(document).flatMap(({ schema, table }) => {
    const model = [...models.values()].find((each) => each.table === table)
    const properties = Object.entries<Json>(document.components.schemas[schema].properties)
    return properties.flatMap(([name, property]): string[] => {
      const column = model?.columns.find((each) => each.name === (property['x-column'] ?? name))
      const { enum: values } = unwrapped(flattened(document, property)).value
      if (values === undefined || column?.type !== 'String' || column.list) return []
      return makes(script, table, column.name) ? [constraint(table, column.name, values)] : []
    })
  })
  return constraints.map((sql) => `\n-- AddCheck\n${sql}\n`).join('')
}

function makes(script: string, table: string, column: string): boolean {
  const statements = script.matchAll(new RegExp(`(CREATE|ALTER) TABLE "${table}"[^;]*;`, 'g'))
  const declaration = new RegExp(`(^\\s*|ADD COLUMN\\s+)"${column}" `, 'm')
  return [...statements].some(([statement]) => declaration.test(statement))
}

function constraint(table: string, column: string, values: Array<string | null>): string {
  const listed = values.flatMap((value) => (value === null ? [] : [`'${value.replaceAll("'", "''")}'`]))
  const name = `"${table}_${column}_check"`
  const wrapped = listed.join(', ').replace(/(.{80,}?,) /g, '$1\n    ')
  return `ALTER TABLE "${table}" ADD CONSTRAINT ${name}\n  CHECK ("${column}" IN (${wrapped}));`
}
