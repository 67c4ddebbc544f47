// Whether what a schema says fits together: limits that nothing can keep, defaults that it refuses itself, choices that are none.
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
    for (const [least, most] of limits) {
      if (schema[least] > schema[most])
        ctx.report({
          message: `nothing has a \`${least}\` of ${schema[least]} and a \`${most}\` of ${schema[most]}`,
          location: ctx.location.child(least),
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
      ctx.report({ message: '`const` is none of `enum`', location: ctx.location.child('const') })
  }),
  /** A default is filled in unseen by whoever sends nothing. */
  'default-fits': schema((schema, ctx) => {
    if (schema.default === undefined || JSON.stringify(schema).includes('"$ref"')) return
    let check
    try {
      check = ajv.compile(plain(schema, () => ''))
    } catch {
      // What does not compile is another rule's to report.
      return
    }
    if (!check(schema.default))
      ctx.report({
        message: `the default ${JSON.stringify(schema.default)} breaks its own schema: it ${ajv.errorsText(check.errors, { dataVar: '' })}`,
        location: ctx.location.child('default'),
      })
  }),
  'array-has-items': schema((schema, ctx) => {
    const types = [schema.type].flat()
    if (types.includes('array') && schema.items === undefined && schema.prefixItems === undefined)
      ctx.report({ message: 'an array says in `items` of what', location: ctx.location.child('type') })
  }),
  /** An object that has to hold itself, or a reference that leads to itself, is never complete. */
  'schema-ends': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        const at = ctx.location
        const way: string[] = []
        const leadsBack = (node: any, location: any): boolean => {
          for (const [name, child, place] of demanded(node, location)) {
            const { node: next, location: there } =
              child.$ref === undefined
                ? { node: child, location: place }
                : ctx.resolve(child, location.source.absoluteRef)
            if (next === undefined || there === undefined) continue
            if (next === schema) return way.push(name) > 0
            const key = there.absolutePointer
            if (seen.has(key)) continue
            seen.add(key)
            if (leadsBack(next, there)) return way.push(name) > 0
          }
          return false
        }
        const seen = new Set<string>()
        if (leadsBack(schema, at))
          ctx.report({
            message: `the schema has to hold itself, without end: ${way.toReversed().join(', ')}`,
            location: at.key(),
          })
      },
    },
  }),
}

/** What must be there for a value of the schema to be: what it refers to, and its required properties. */
function demanded(node: any, location: any): Array<[name: string, schema: any, location: any]> {
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
