// Rules for contradictions in a schema: impossible limits, invalid defaults, duplicate values, endless
// nesting.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { plain } from '../schemas.ts'
import type { Context } from './visit.ts'

const limits = [
  ['minimum', 'maximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
]

const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })

const schema = (check: (schema: any, ctx: Context) => void) => () => ({ Schema: { enter: check } })

export const valueRules = {
  'limits-in-order': schema((schema, ctx) => {
    for (const [min, max] of limits) {
      if (schema[min] > schema[max])
        ctx.report({
          message: `\`${min}\` ${schema[min]} is greater than \`${max}\` ${schema[max]}`,
          location: ctx.location.child(min),
        })
    }
  }),
  'distinct-values': schema((schema, ctx) => {
    for (const keyword of ['enum', 'required']) {
      const values: unknown[] = Array.isArray(schema[keyword]) ? schema[keyword] : []
      values.forEach((value, i) => {
        if (values.findIndex((other) => JSON.stringify(other) === JSON.stringify(value)) < i)
          ctx.report({
            message: `\`${keyword}\` has ${JSON.stringify(value)} twice`,
            location: ctx.location.child([keyword, i]),
          })
      })
    }
    if (Array.isArray(schema.enum) && schema.const !== undefined && !schema.enum.includes(schema.const))
      ctx.report({ message: '`const` is not in `enum`', location: ctx.location.child('const') })
  }),
  /** The server fills in defaults after validation, so nothing else would detect an invalid one. */
  'default-fits': schema((schema, ctx) => {
    if (schema.default === undefined || JSON.stringify(schema).includes('"$ref"')) return
    let check
    try {
      check = ajv.compile(plain(schema, () => ''))
    } catch {
      // Another rule reports schemas that do not compile.
      return
    }
    if (!check(schema.default))
      ctx.report({
        message:
          `the default ${JSON.stringify(schema.default)} is invalid: ` +
          `it${ajv.errorsText(check.errors, { dataVar: '' })}`,
        location: ctx.location.child('default'),
      })
  }),
  /** Generators of typed clients choose the size of an integer by its format. */
  'integer-format': schema((schema, ctx) => {
    const isInteger = [schema.type].flat().includes('integer')
    const hasFormat = schema.format === 'int32' || schema.format === 'int64'
    if (isInteger && !hasFormat)
      ctx.report({ message: 'an integer must have the format int32 or int64', location: ctx.location.key() })
    if (!isInteger && hasFormat)
      ctx.report({ message: 'only an integer has this format', location: ctx.location.child('format') })
    for (const keyword of ['minimum', 'maximum', 'default']) {
      if (schema.format === 'int32' && Math.abs(schema[keyword]) > 2 ** 31 - 1)
        ctx.report({ message: `\`${keyword}\` needs int64`, location: ctx.location.child(keyword) })
    }
  }),
  'array-has-items': schema((schema, ctx) => {
    const types = [schema.type].flat()
    if (types.includes('array') && schema.items === undefined && schema.prefixItems === undefined)
      ctx.report({ message: 'an array must have `items`', location: ctx.location.child('type') })
  }),
  /** No finite value matches an object that requires itself. */
  'schema-ends': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        const at = ctx.location
        const cycle: string[] = []
        const leadsBack = (node: any, location: any): boolean => {
          for (const [name, child, place] of requiredSchemas(node, location)) {
            const { node: next, location: there } =
              child.$ref === undefined
                ? { node: child, location: place }
                : ctx.resolve(child, location.source.absoluteRef)
            if (next === undefined || there === undefined) continue
            if (next === schema) return cycle.push(name) > 0
            const key = there.absolutePointer
            if (seen.has(key)) continue
            seen.add(key)
            if (leadsBack(next, there)) return cycle.push(name) > 0
          }
          return false
        }
        const seen = new Set<string>()
        if (leadsBack(schema, at))
          ctx.report({
            message: `the schema requires itself, so no value can match: ${cycle.toReversed().join(', ')}`,
            location: at.key(),
          })
      },
    },
  }),
}

/** The schemas that every value must match as well: the target of `$ref` and the required properties. */
function requiredSchemas(node: any, location: any): Array<[name: string, schema: any, location: any]> {
  const own: Array<[string, any, any]> =
    node.$ref === undefined
      ? []
      : [[`$ref ${String(node.$ref).split('/').at(-1)}`, { $ref: node.$ref }, location]]
  const required = Array.isArray(node.required) ? node.required : []
  return [
    ...own,
    ...required
      .filter((name: string) => node.properties?.[name] !== undefined)
      .map((name: string) => [`\`${name}\``, node.properties[name], location.child(['properties', name])]),
  ]
}
