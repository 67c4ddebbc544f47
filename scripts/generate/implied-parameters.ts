// Adds the parameters of x-implied-parameters to each operation, depending on what the operation declares.
import { methods } from './methods.ts'
import { resolve } from './resolve.ts'

type Json = any

interface Declared {
  document: Json
  operation: Json
}

/** The condition of each group of x-implied-parameters. */
export const conditions: Record<string, (declared: Declared) => boolean> = {
  paged: (declared) => itemOf(declared) !== null,
  created_at: itemsHave('created_at'),
  updated_at: itemsHave('updated_at'),
  metadata: itemsHave('metadata'),
}

/** Whether the items of a list have the property. */
function itemsHave(property: string) {
  return (declared: Declared): boolean => itemOf(declared)?.properties?.[property] !== undefined
}

/** Changes `document`. */
export function addImpliedParameters(document: Json): void {
  const implied = Object.entries<string[]>(document['x-implied-parameters'] ?? {})
  for (const path of Object.values<Json>(document.paths))
    for (const method of methods) {
      const operation = path[method]
      if (!operation) continue
      const names = implied.flatMap(([when, names]) =>
        conditions[when]({ document, operation }) ? names : [],
      )
      if (names.length === 0) continue
      operation.parameters = [
        ...(operation.parameters ?? []),
        ...names.map((name) => ({ $ref: `#/components/parameters/${name}` })),
      ]
    }
}

/** The schema of the items of a list with `pagination`; null for other operations. */
function itemOf({ document, operation }: Declared): Json | null {
  const schema = resolve(document, operation.responses['200'])?.content?.['application/json']?.schema
  const { data, pagination } = resolve(document, schema)?.properties ?? {}
  return pagination === undefined ? null : resolve(document, resolve(document, data).items)
}
