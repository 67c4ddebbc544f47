// From a value that a contract allows to values that break one constraint of it each: made by construction, and held
// against the schemas by an Ajv of its own before anybody is asked about them.
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { flattened } from '../../scripts/constraints/constraints.ts'
import { plain } from '../../scripts/generate/schemas.ts'
import { formats } from '../../infra/validation/formats.ts'
import { keysOf } from '../../infra/validation/json-pointer.ts'
import { breakersOf, unknownName, type Breaker } from './constraint-breakers.ts'
import { sampleOf, typesOf } from './constraint-samples.ts'
import type { Part, Root, Site, Step } from './constraint-sites.ts'

type Json = any

/** What is to be said of a value: `field constraint`, sorted. */
export type Said = string[]

export interface Negative {
  root: Root
  site: Site
  value: Json
  /** All that is wrong with it. */
  expected: Said
  /** Whether the constraint is the only one that it breaks; else the rule by which others go with it. */
  alone: true | Rule
}

/** Why others are broken with a constraint, or nothing breaks it. */
export type Rule = keyof typeof rules

export const rules = {
  'type beside enum': 'what is of another type is none of the listed values either',
  'type beside choice': 'what is no object has none of the fields of which there is to be one',
  alternatives: 'what is none of several alternatives is told of each',
  'name of a property': 'a name that is wrong is told with propertyNames, too',
  'length beside form': 'no text of that length has the form',
  'beyond whole numbers': 'what is above the largest whole number that is exact is none',
  'all is text': 'a path, a header or the field of a form is text whatever is sent',
  'never empty': 'with an empty segment it is another path',
  'too few values': 'there are not as many different values',
  'not sent': 'the bytes of a file',
}

export interface Unbreakable {
  root: Root
  site: Site
  rule: Rule | null
}

/** What has the schemas of a document, compiled as they are needed; text is coerced as the edge does. */
export function createChecks(document: Json) {
  const ajvs = { text: createAjv('array'), json: createAjv(false) }
  const compiled = { text: new Map<Json, ValidateFunction>(), json: new Map<Json, ValidateFunction>() }

  function createAjv(coerceTypes: false | 'array'): InstanceType<typeof Ajv2020> {
    const ajv = new Ajv2020({
      allErrors: true,
      verbose: true,
      strict: false,
      coerceTypes,
      validateSchema: false,
    })
    for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format as never)
    for (const [name, schema] of Object.entries<Json>(document.components?.schemas ?? {}))
      ajv.addSchema({ $id: `spec:${name}`, ...plain(schema, refTo) })
    return ajv
  }

  return function errorsOf({ part, schema }: Pick<Root, 'part' | 'schema'>, value: Json): ErrorObject[] {
    const kind = isText(part) ? 'text' : 'json'
    let validate = compiled[kind].get(schema)
    if (validate === undefined)
      compiled[kind].set(schema, (validate = ajvs[kind].compile(plain(schema, refTo))))
    // Coercion writes into it.
    return validate(kind === 'text' ? structuredClone(value) : value) ? [] : validate.errors!
  }
}

export type Checks = ReturnType<typeof createChecks>

const refTo = (component: string, rest: string): string => `spec:${component}${rest && `#${rest}`}`

export function isText(part: Part): boolean {
  return part === 'path' || part === 'query' || part === 'header'
}

/**
 * What makes one negative for a site of the root, or says why there is none.
 * @param given a value that is allowed, to begin with; where it has not all that a site needs, that is made.
 */
export function createBreaker(
  document: Json,
  check: Checks,
  root: Root,
  given?: Json,
): (site: Site) => Negative | Unbreakable {
  const bases = [given, sampleOf(document, root.schema, 0), sampleOf(document, root.schema, 1)]
    .filter((base) => base !== undefined)
    .map((base) => (isText(root.part) ? asText(base) : base))
  return (site) => {
    const base = bases
      .map((each) => prepared(document, each, site.steps, root.part))
      .find((each) => check(root, each).length === 0)
    if (base === undefined) return { root, site, rule: null }
    let best: Negative | undefined
    let least = Infinity
    for (const breaker of breakersOf(document, site, valueAt(base, site.steps))) {
      const value = applied(document, base, site.steps, breaker, root.part)
      if (value === undefined) continue
      const target = fieldAt(site, base, breaker)
      const errors = check(root, value)
      const expected = saidOf(errors, value, root.part)
      const cost = errors.length + expected.length * 100
      if (cost >= least || !isOf(site, errors, expected, target)) continue
      const alone = expected.length === 1 ? true : ruleFor(site, expected, target)
      if (alone === null) continue
      best = { root, site, value, expected, alone }
      least = cost
      if (errors.length === 1) break
    }
    return best ?? { root, site, rule: ruleAgainst(document, site, root.part) }
  }
}

/** Whether the keyword says nothing by itself: with it gone, what it holds is gone. */
export function isHolder({ constraint: { keyword }, schema }: Site): boolean {
  return (
    ['$ref', 'items', 'propertyNames', 'anyOf', 'allOf'].includes(keyword) ||
    (keyword === 'additionalProperties' && schema.additionalProperties !== false)
  )
}

/** Whether the target is among what is said, as the constraint would have it. */
function isOf(
  { constraint: { keyword } }: Site,
  errors: ErrorObject[],
  expected: Said,
  target: string,
): boolean {
  if (!errors.some((error) => error.keyword === keyword)) return false
  return (
    [keyword, 'required'].some((said) => expected.includes(`${target} ${said}`)) ||
    (keyword === 'oneOf' && expected.length > 0)
  )
}

function ruleFor({ constraint: { keyword }, steps }: Site, expected: Said, target: string): Rule | null {
  const others = expected.filter((said) => said !== `${target} ${keyword}`)
  if (steps.some(({ kind }) => kind === 'choice')) return 'alternatives'
  if (steps.at(-1)?.kind === 'name') return 'name of a property'
  const only = (...keywords: string[]): boolean =>
    others.every((said) => keywords.some((each) => said === `${target} ${each}`))
  if (keyword === 'type' && only('enum', 'const')) return 'type beside enum'
  if (keyword === 'type' && only('oneOf')) return 'type beside choice'
  if (keyword === 'maximum' && only('type')) return 'beyond whole numbers'
  if (keyword.endsWith('Length') && only('format', 'pattern')) return 'length beside form'
  return null
}

function ruleAgainst(
  document: Json,
  { constraint: { keyword }, schema, steps }: Site,
  part: Part,
): Rule | null {
  const flat = flattened(document, schema)
  const types = typesOf(flat)
  if (flat.format === 'binary') return 'not sent'
  const inText =
    isText(part) ||
    part === 'fields' ||
    (part === 'form' && (steps.length < 2 || steps.at(-1)?.kind === 'item'))
  if (
    keyword === 'type' &&
    inText &&
    (steps.length === 0 || types.includes('string') || types.includes('array'))
  )
    return 'all is text'
  if (part === 'path' && (keyword === 'minLength' || keyword === 'required')) return 'never empty'
  if (keyword === 'maxItems') return 'too few values'
  return null
}

/** The same value with all that the way to the site needs. */
function prepared(document: Json, base: Json, steps: Step[], part: Part): Json {
  if (steps.length === 0) return base
  const [step, ...rest] = steps
  const made = (schema: Json): Json => {
    const value = sampleOf(document, schema)
    return isText(part) ? String(value) : value
  }
  switch (step.kind) {
    case 'choice':
      return prepared(
        document,
        fits(base, flattened(document, step.schema)) ? base : sampleOf(document, step.schema),
        rest,
        part,
      )
    case 'property': {
      const now = typeof base === 'object' && base !== null ? base : {}
      return { ...now, [step.name]: prepared(document, now[step.name] ?? made(step.schema), rest, part) }
    }
    case 'item': {
      const now = Array.isArray(base) && base.length > 0 ? base : [made(step.schema)]
      return [prepared(document, now[0], rest, part), ...now.slice(1)]
    }
    case 'value': {
      const [[key, value] = ['key', undefined], ...others] = Object.entries(base ?? {})
      return {
        [key]: prepared(document, value ?? made(step.schema), rest, part),
        ...Object.fromEntries(others),
      }
    }
    case 'name':
      return Object.keys(base ?? {}).length > 0 ? base : { key: 'x' }
  }
}

/** Whether it is of the alternative's type, and has what that demands. */
function fits(value: Json, schema: Json): boolean {
  const type =
    value === null
      ? 'null'
      : Array.isArray(value)
        ? 'array'
        : Number.isInteger(value)
          ? 'integer'
          : typeof value
  const types = typesOf(schema)
  if (types.length > 0 && !types.includes(type)) return false
  return type !== 'object' || (schema.required ?? []).every((name: string) => value[name] !== undefined)
}

function valueAt(base: Json, steps: Step[]): Json {
  return steps.reduce((value, step) => {
    if (step.kind === 'property') return value[step.name]
    if (step.kind === 'item') return value[0]
    if (step.kind === 'value') return Object.values(value)[0]
    if (step.kind === 'name') return Object.keys(value)[0]
    return value
  }, base)
}

/** undefined where it cannot be sent. */
function applied(document: Json, base: Json, steps: Step[], breaker: Breaker, part: Part): Json {
  const isForm = part === 'form' || part === 'fields'
  if (steps.length === 0)
    return 'value' in breaker && (!isForm || isRecord(breaker.value)) ? breaker.value : undefined
  const [first, ...others] = steps
  if (first.kind !== 'property') return put(base, steps, breaker)
  if ('remove' in breaker && others.length === 0)
    return part === 'path' ? undefined : put(base, steps, breaker)
  const sent = asSent(put(base[first.name], others, breaker), flattened(document, first.schema), part)
  return sent === undefined ? undefined : { ...base, [first.name]: sent }
}

function put(base: Json, [step, ...rest]: Step[], breaker: Breaker): Json {
  if (step === undefined) return 'value' in breaker ? breaker.value : undefined
  switch (step.kind) {
    case 'choice':
      return put(base, rest, breaker)
    case 'property': {
      const { [step.name]: now, ...others } = base
      return rest.length === 0 && 'remove' in breaker
        ? others
        : { ...base, [step.name]: put(now, rest, breaker) }
    }
    case 'item':
      return [put(base[0], rest, breaker), ...base.slice(1)]
    case 'value': {
      const [[key, value], ...others] = Object.entries(base)
      return { [key]: put(value, rest, breaker), ...Object.fromEntries(others) }
    }
    case 'name': {
      const [[key, value], ...others] = Object.entries(base)
      return { [String(put(key, rest, breaker))]: value, ...Object.fromEntries(others) }
    }
  }
}

/** A parameter or field as it arrives, where everything is text; undefined where it cannot be sent. */
function asSent(value: Json, schema: Json, part: Part): Json {
  if (part === 'body' || part === 'answer') return value
  const types = typesOf(schema)
  if (part === 'form' && types.includes('object')) return value
  if (part === 'form' && types.includes('array'))
    return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined
  // Given twice.
  if (Array.isArray(value)) return part === 'query' || part === 'fields' ? ['a', 'b'] : undefined
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value)
  if ((part === 'form' || part === 'fields') && typeof value !== 'string') return undefined
  if (part === 'header' && !/^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(text)) return undefined
  if (part === 'path' && /^\.{0,2}$|[/\\\s\u0001]/.test(text)) return undefined
  return text
}

function asText(base: Json): Json {
  return Object.fromEntries(
    Object.entries(base).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  )
}

/** The field that the site is about, as the API calls it. */
function fieldAt({ steps, constraint: { keyword, name } }: Site, base: Json, breaker: Breaker): string {
  const last = steps.at(-1)
  const path = steps.flatMap((step, i): string[] => {
    if (step.kind === 'property') return [step.name]
    if (step.kind === 'item') return ['0']
    if (step.kind === 'value') return [Object.keys(valueAt(base, steps.slice(0, i)))[0]]
    return step.kind === 'name' && 'value' in breaker ? [String(breaker.value)] : []
  })
  // Where one of several is to be given, the first of them is missed.
  if (keyword === 'required' && name !== undefined)
    path.push(last?.kind === 'choice' && isChoice(last.among) ? last.among[0].required[0] : name)
  if (keyword === 'additionalProperties') path.push(unknownName)
  return fieldOf(path)
}

function fieldOf(path: string[]): string {
  return (
    path.reduce(
      (text, key) =>
        /^\d+$/.test(key) && text !== '' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`,
      '',
    ) || 'body'
  )
}

/**
 * What the API says of these errors: once for each field and constraint; of a blank text that it is required; and of a choice
 * between fields that one of them is missing, or that there are two.
 */
export function saidOf(errors: ErrorObject[], root: Json, part: Part): Said {
  const chosen = new Set(
    errors
      .filter(({ keyword, schema }) => keyword === 'oneOf' && isChoice(schema))
      .map(({ instancePath }) => instancePath),
  )
  return [
    ...new Set(
      errors.flatMap(({ keyword, instancePath, params, schema, schemaPath, propertyName }) => {
        if (chosen.has(instancePath) && /\/oneOf\/\d+\/required$/.test(schemaPath)) return []
        const path = keysOf(instancePath)
        if (keyword === 'required') path.push(params.missingProperty)
        if (keyword === 'additionalProperties') path.push(params.additionalProperty)
        if (propertyName !== undefined) path.push(propertyName)
        if (keyword === 'oneOf' && isChoice(schema) && params.passingSchemas === null)
          return [`${fieldOf([...path, (schema as Json)[0].required[0]])} required`]
        const value = path.reduce((at, key) => at?.[key], root)
        if (keyword !== 'type' && typeof value === 'string' && value.trim() === '')
          return [`${fieldOf(path)} required`]
        const unsafe =
          isText(part) &&
          (keyword === 'maximum' || keyword === 'minimum') &&
          !Number.isSafeInteger(Number(value))
        return [`${fieldOf(path)} ${keyword}`, ...(unsafe ? [`${fieldOf(path)} type`] : [])]
      }),
    ),
  ].sort()
}

function isChoice(alternatives: Json): boolean {
  return (
    Array.isArray(alternatives) &&
    alternatives.every((each) => Object.keys(each).join() === 'required' && each.required.length === 1)
  )
}

function isRecord(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
