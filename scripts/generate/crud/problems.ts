// The mistakes in x-crud that the lint would report at what is generated from it.
import type { SpecProblem } from '../references.ts'
import { crudAt, isComplete, outerSchema, placeName, writes, type Declared } from './declared.ts'

type Json = any

const listed = `one of ${writes.join(', ')}`

/** The names of schemas in x-crud that do not exist, or have no such property. */
export function crudProblems(file: Json): Array<Omit<SpecProblem, 'source'>> {
  const all = Object.entries<Json>(file.paths ?? {}).flatMap(([name, item]): Array<[string, Declared]> =>
    isComplete(item?.['x-crud']) ? [[crudAt(name), item['x-crud']]] : [],
  )
  return all.flatMap(([at, crud]) => {
    const { schema, sort = [], filters = [], parameters = [], without = [] } = crud
    const properties = file.components?.schemas?.[schema]?.properties
    if (properties === undefined)
      return [
        { pointer: `${at}/schema`, message: `there is no schema \`${schema}\` with properties in this file` },
      ]
    const unknown = (list: string, names: string[], known: object, what = `a property of \`${schema}\``) =>
      names.flatMap((name, i) =>
        Object.hasOwn(known, name)
          ? []
          : [{ pointer: `${at}/${list}/${i}`, message: `\`${name}\` is not ${what}` }],
      )
    // A cursor after a null would lose rows, and other types have no order.
    const unsorted = sort.flatMap((name, i) => {
      const type = properties[name]?.type
      const isOrdered = type === undefined || ['string', 'integer', 'number', 'boolean'].includes(type)
      const message = `a list cannot be sorted by \`${name}\`: it can be null, or has no order`
      return isOrdered ? [] : [{ pointer: `${at}/sort/${i}`, message }]
    })
    const unequal = filters.flatMap((name, i) => {
      const type = [typeIn(file, properties[name])].flat()
      const message = `a list cannot be filtered by the ${type[0]} \`${name}\`: write one of \`parameters\``
      const isValue = !type.includes('array') && !type.includes('object')
      return isValue ? [] : [{ pointer: `${at}/filters/${i}`, message }]
    })
    const unnamed = parameters.flatMap((parameter, i) => {
      const isQuery = /^[a-z]\w*$/.test(parameter?.name) && parameter.in === 'query'
      const message = 'a parameter of a list needs a `name` in snake_case, `in: query` and a `schema`'
      return isQuery ? [] : [{ pointer: `${at}/parameters/${i}`, message }]
    })
    const parent = outerSchema(crud)
    const outer = all.find(([, other]) => other.schema === parent)?.[1]
    const wrongParent =
      outer === undefined
        ? `no x-crud of this file has the schema \`${parent}\``
        : `a resource in another one is in a project, and \`${parent}\` is not`
    const isRight = parent === null || (outer !== undefined && placeName(outer) === 'project')
    return [
      ...(isRight ? [] : [{ pointer: `${at}/parent`, message: wrongParent }]),
      ...unknown('without', without, Object.fromEntries(writes.map((verb) => [verb, true])), listed),
      ...unknown('sort', sort, { id: true, created_by: true, ...properties }),
      ...unsorted,
      ...unknown('filters', filters, properties),
      ...unequal,
      ...unnamed,
    ]
  })
}

/** The type of a schema that the file itself declares. */
function typeIn(file: Json, schema: Json): unknown {
  const [, component] = /^#\/components\/schemas\/(\w+)$/.exec(schema?.$ref ?? '') ?? []
  const { $ref: _, ...declared } = file.components?.schemas?.[component ?? ''] ?? {}
  if (component !== undefined) return typeIn(file, declared)
  return schema?.type ?? (schema?.discriminator === undefined ? undefined : 'object')
}
