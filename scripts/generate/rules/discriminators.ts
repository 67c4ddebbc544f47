// The rule for `discriminator`: each value of its property chooses exactly one alternative.
import { listedValues } from '@platform-api/openapi/discriminators.ts'

interface Alternative {
  name: string
  /** The absolute place of its schema. */
  pointer: string
  index: number
  /** The values that `const` or `enum` of its property lists. */
  values: unknown[] | null
}

export const discriminatorRules = {
  'discriminator-chooses': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        const { discriminator, oneOf } = schema
        if (typeof discriminator?.propertyName !== 'string') return
        const at = ctx.location
        if (!Array.isArray(oneOf)) {
          ctx.report({
            message:
              '`discriminator` needs `oneOf` beside it, because with `anyOf` or `allOf` its value chooses ' +
              'no single alternative: list the alternatives in `oneOf`',
            location: at.child('discriminator').key(),
          })
          return
        }
        const found: Alternative[] = []
        for (const [index, alternative] of oneOf.entries()) {
          const read = alternativeOf(alternative, index, discriminator.propertyName, ctx)
          if (typeof read === 'string') ctx.report({ message: read, location: at.child(['oneOf', index]) })
          else found.push(read)
        }
        if (found.length === oneOf.length) checkValues(discriminator, found, ctx)
      },
    },
  }),
}

/** The alternative, or what is wrong with it. */
function alternativeOf(alternative: any, index: number, property: string, ctx: any): Alternative | string {
  if (Object.keys(alternative ?? {}).join() !== '$ref')
    return (
      'an alternative of a `discriminator` must be only a `$ref`, because its name stands for it: move the ' +
      'schema to components/schemas, and for null put `anyOf` with `type: "null"` around this schema'
    )
  const { node, location } = ctx.resolve(alternative)
  if (node === undefined) return 'the alternative cannot be resolved'
  const name = location.pointer.split('/').at(-1)
  const example = `\`${property}: { type: string, const: ${name.toLowerCase()} }\``
  if (node.properties?.[property] === undefined)
    return `\`${name}\` must have the property \`${property}\`, which the discriminator reads: add ${example}`
  if (node.required?.includes(property) !== true)
    return `\`${name}\` must list \`${property}\` in \`required\`, because it chooses the alternative`
  const declared = ctx.resolve(node.properties[property], location.source.absoluteRef).node
  const values = listedValues(declared)
  if (declared?.type !== 'string' && values?.every((value) => typeof value === 'string') !== true)
    return `\`${property}\` of \`${name}\` must be a string for the discriminator: write ${example}`
  return { name, pointer: location.absolutePointer, index, values }
}

/** Reports a mapping that contradicts the alternatives, and a value that chooses two of them. */
function checkValues(discriminator: any, alternatives: Alternative[], ctx: any): void {
  const { propertyName, mapping = {} } = discriminator
  const mapped = new Map<string, string[]>()
  for (const [value, $ref] of Object.entries<string>(mapping)) {
    const location = ctx.location.child(['discriminator', 'mapping', value])
    const pointer = /[#/.]/.test($ref) ? ctx.resolve({ $ref }).location?.absolutePointer : undefined
    const chosen = alternatives.find((alternative) => alternative.pointer === pointer)
    if (chosen === undefined)
      ctx.report({
        message: `\`${$ref}\` is not in \`oneOf\`: write the \`$ref\` of an alternative`,
        location,
      })
    else if (chosen.values?.includes(value) === false)
      ctx.report({
        message: `\`${chosen.name}\` does not allow \`${value}\` as its \`${propertyName}\`: make both equal`,
        location,
      })
    else mapped.set(chosen.pointer, [...(mapped.get(chosen.pointer) ?? []), value])
  }
  const takenBy = new Map<unknown, string>()
  for (const { name, pointer, index, values } of alternatives) {
    for (const value of values ?? mapped.get(pointer) ?? [name]) {
      const other = takenBy.get(value)
      if (other !== undefined)
        ctx.report({
          message:
            `\`${propertyName}: ${String(value)}\` chooses \`${other}\` and \`${name}\`: ` +
            'give each alternative its own value',
          location: ctx.location.child(['oneOf', index]),
        })
      takenBy.set(value, name)
    }
  }
}
