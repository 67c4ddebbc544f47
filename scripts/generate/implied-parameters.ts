// Adds the parameters of x-implied-parameters to each operation, depending on what the operation declares.
import { declaredOperations, isSecured, type Declared } from './implied-responses.ts'
import { readsResource } from './implied-headers.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** The condition of each group of x-implied-parameters. */
export const conditions: Record<string, (declared: Declared) => boolean> = {
  post: (declared) =>
    declared.method === 'post' && isSecured(declared) && declared.operation['x-idempotency'] !== 'none',
  write: ({ method }) => method === 'put' || method === 'delete',
  resource: readsResource,
  paged: (declared) => itemOf(declared) !== null,
  created_at: itemsHave('created_at'),
  updated_at: itemsHave('updated_at'),
  metadata: itemsHave('metadata'),
}

/** The groups of filters that follow from the items of a list. */
const filters = new Set(['created_at', 'updated_at', 'metadata'])

/** Whether the items of a list have the property. */
function itemsHave(property: string) {
  return (declared: Declared): boolean => itemOf(declared)?.properties?.[property] !== undefined
}

/** Changes `document`. The operation's own parameters take precedence, and stand between the two groups. */
export function addImpliedParameters(document: Json): void {
  const implied = Object.entries<string[]>(document['x-implied-parameters'] ?? {})
  for (const declared of declaredOperations(document)) {
    const { operation, parameters } = declared
    const added = (isFilter: boolean): Json[] =>
      implied
        .filter(([when]) => filters.has(when) === isFilter && conditions[when](declared))
        .flatMap(([, names]) => names.map((name) => ({ $ref: `#/components/parameters/${name}` })))
        .filter((reference) => !parameters.some(({ name }) => name === resolve(document, reference).name))
    const all = [...added(false), ...(operation.parameters ?? []), ...added(true)]
    if (all.length > 0) operation.parameters = all
  }
}

/** The schema of the items of a list with `pagination`; null for other operations. */
function itemOf({ document, operation }: Declared): Json | null {
  const schema = resolve(document, operation.responses['200'])?.content?.['application/json']?.schema
  const { data, pagination } = resolve(document, schema)?.properties ?? {}
  return pagination === undefined ? null : resolve(document, resolve(document, data).items)
}
