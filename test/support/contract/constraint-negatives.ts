// Builds negative cases: takes a valid value and changes it so that it breaks one constraint. An independent
// Ajv confirms what is wrong with each case before it is used.
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { flattened } from '../../../scripts/constraints/constraints.ts'
import { listedValues } from '../../../packages/openapi/discriminators.ts'
import { plain } from '../../../scripts/generate/schemas.ts'
import { formats } from '../../../infra/validation/formats.ts'
import { keysOf } from '../../../infra/validation/json-pointer.ts'
import { quickCompilation } from '../../../infra/validation/replies.ts'
import { isObject } from '../../../infra/validation/strict-json.ts'
import { violationsOf, unknownName, type Violation } from './constraint-violations.ts'
import { sampleOf, typesOf } from './constraint-samples.ts'
import type { Part, SchemaRoot, Site, Step } from './constraint-sites.ts'

type Json = any

/** Expected problems as `field constraint`, sorted. */
export type ProblemList = string[]

export interface NegativeCase {
  root: SchemaRoot
  site: Site
  value: Json
  /** Every problem of the value. */
  expected: ProblemList
  /** true when the value breaks only this constraint; otherwise the rule that explains the other problems. */
  alone: true | Rule
}

/** Explains why a value breaks more than one constraint, or why no value breaks the constraint. */
export type Rule = keyof typeof rules

export const rules = {
  'type and enum': 'a value of another type is not one of the listed values either',
  alternatives: 'a value that matches no alternative has the problems of each of them',
  'property name': 'an invalid property name is reported under propertyNames too',
  'length and format': 'no text of that length has the format',
  'unsafe integer': 'a number above the largest safe integer has the wrong type too',
  'always text': 'a path parameter, header or form field is always text',
  chooses: 'a value that the property of a discriminator does not list chooses no alternative',
  'never empty': 'an empty path segment makes it another path',
  'split and trimmed': 'a form splits a text at commas, trims its items and reads [ as JSON',
  'too few values': 'there are not enough distinct values',
  'not sent': 'the bytes of a file are not JSON',
}

export interface NoCase {
  root: SchemaRoot
  site: Site
  rule: Rule | null
}

/** Returns a function that validates values against the schemas. Text is coerced as in app/http. */
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
      ...quickCompilation,
    })
    for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format as never)
    for (const [name, schema] of Object.entries<Json>(document.components?.schemas ?? {}))
      ajv.addSchema({ $id: `spec:${name}`, ...plain(schema, refTo) })
    return ajv
  }

  return function errorsOf(
    { part, schema }: Pick<SchemaRoot, 'part' | 'schema'>,
    value: Json,
  ): ErrorObject[] {
    const kind = isText(part) ? 'text' : 'json'
    let validate = compiled[kind].get(schema)
    if (validate === undefined)
      compiled[kind].set(schema, (validate = ajvs[kind].compile(plain(schema, refTo))))
    // Coercion modifies the value.
    if (validate(kind === 'text' ? structuredClone(value) : value)) return []
    // The errors of `then` say what is wrong.
    return validate.errors!.filter(({ keyword }) => keyword !== 'if')
  }
}

export type Checks = ReturnType<typeof createChecks>

const refTo = (component: string, rest: string): string => `spec:${component}${rest && `#${rest}`}`

export function isText(part: Part): boolean {
  return part === 'path' || part === 'query' || part === 'header'
}

/**
 * Returns a function that builds a negative case for a site of the root, or the rule why there is none.
 * @param given a valid value to start from. Missing parts on the path to a site are generated.
 */
export function createCaseBuilder(
  document: Json,
  check: Checks,
  root: SchemaRoot,
  given?: Json,
): (site: Site) => NegativeCase | NoCase {
  const baseFor = createBaseBuilder(document, check, root, given)
  return (site) => {
    if (isOfDiscriminator(site)) return { root, site, rule: 'chooses' }
    const base = baseFor(site.steps)
    if (base === undefined) return { root, site, rule: null }
    let best: NegativeCase | undefined
    let lowestCost = Infinity
    for (const violation of violationsOf(document, site, valueAt(base, site.steps))) {
      const value = applyViolation(document, base, site.steps, violation, root.part)
      if (value === undefined) continue
      const target = withoutItems(fieldAt(site, base, violation), root.part)
      const errors = check(root, value)
      const expected = problemsOf(errors, value, root.part)
      const cost = errors.length + expected.length * 100
      if (cost >= lowestCost || !reportsConstraint(site, root.part, errors, expected, target)) continue
      const alone = expected.length === 1 ? true : ruleFor(site, expected, target)
      if (alone === null) continue
      best = { root, site, value, expected, alone }
      lowestCost = cost
      if (errors.length === 1) break
    }
    return best ?? { root, site, rule: ruleForNoCase(document, site, root.part) }
  }
}

/**
 * Returns a function that finds a valid value in which everything on the path to a site exists.
 * @param given a valid value to start from. Missing parts are generated.
 */
export function createBaseBuilder(
  document: Json,
  check: Checks,
  root: SchemaRoot,
  given?: Json,
): (steps: Step[]) => Json | undefined {
  const bases = [given, sampleOf(document, root.schema, 0), sampleOf(document, root.schema, 1)]
    .filter((base) => base !== undefined)
    .map((base) => (isText(root.part) ? asText(base) : base))
  return (steps) =>
    bases
      .map((each) => withPathTo(document, each, steps, root.part))
      .find((each) => check(root, each).length === 0)
}

/** Whether the keyword only contains other schemas, so that deleting it deletes their constraints. */
export function isStructural({ constraint: { keyword }, schema }: Site): boolean {
  return (
    ['$ref', 'items', 'propertyNames', 'anyOf', 'allOf'].includes(keyword) ||
    (keyword === 'oneOf' && schema.discriminator !== undefined) ||
    (keyword === 'additionalProperties' && schema.additionalProperties !== false)
  )
}

/** Whether the discriminator finds the problem before the alternative with this constraint is chosen. */
function isOfDiscriminator({ constraint: { keyword, name }, steps }: Site): boolean {
  const chooserAt = (i: number): string | undefined => {
    const step = steps.at(i)
    return step?.kind === 'choice' ? step.chooser : undefined
  }
  const [last] = steps.slice(-1)
  if (last?.kind === 'property' && chooserAt(-2) === last.name) return true
  return (
    chooserAt(-1) !== undefined && (keyword === 'type' || (keyword === 'required' && name === chooserAt(-1)))
  )
}

/** Whether the errors include this constraint for the target field. */
function reportsConstraint(
  site: Site,
  part: Part,
  errors: ErrorObject[],
  expected: ProblemList,
  target: string,
): boolean {
  const { keyword } = site.constraint
  if (!errors.some((error) => error.keyword === keyword)) return false
  // An empty item counts as missing, before its pattern is checked.
  const reported = isItemPattern(site, part) ? ['pattern'] : [keyword, 'required']
  return (
    reported.some((said) => expected.includes(`${target} ${said}`)) ||
    (['oneOf', 'dependentRequired'].includes(keyword) && expected.length > 0)
  )
}

function ruleFor(
  { constraint: { keyword }, steps }: Site,
  expected: ProblemList,
  target: string,
): Rule | null {
  const others = expected.filter((said) => said !== `${target} ${keyword}`)
  if (steps.some(({ kind }) => kind === 'choice')) return 'alternatives'
  if (steps.at(-1)?.kind === 'name') return 'property name'
  const only = (...keywords: string[]): boolean =>
    others.every((said) => keywords.some((each) => said === `${target} ${each}`))
  if (keyword === 'type' && only('enum', 'const')) return 'type and enum'
  if (keyword === 'maximum' && only('type')) return 'unsafe integer'
  if (keyword.endsWith('Length') && only('format', 'pattern')) return 'length and format'
  return null
}

/** The pattern of an item of a form: most texts that break it do not arrive as one item. */
function isItemPattern({ constraint: { keyword }, steps }: Site, part: Part): boolean {
  return keyword === 'pattern' && part === 'form' && steps.at(-1)?.kind === 'item'
}

function ruleForNoCase(document: Json, site: Site, part: Part): Rule | null {
  const {
    constraint: { keyword },
    schema,
    steps,
  } = site
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
    (steps.length === 0 ||
      ['string', 'array', ...(part === 'query' ? ['object'] : [])].some((type) => types.includes(type)))
  )
    return 'always text'
  if (part === 'path' && (keyword === 'minLength' || keyword === 'required')) return 'never empty'
  if (isItemPattern(site, part)) return 'split and trimmed'
  if (keyword === 'maxItems') return 'too few values'
  return null
}

/** A copy of the value in which everything on the path to the site exists. */
function withPathTo(document: Json, base: Json, steps: Step[], part: Part): Json {
  if (steps.length === 0) return base
  const [step, ...rest] = steps
  const made = (schema: Json): Json => {
    const value = sampleOf(document, schema)
    return isText(part) && typeof value !== 'object' ? String(value) : value
  }
  switch (step.kind) {
    case 'choice':
      return withPathTo(
        document,
        fits(base, flattened(document, step.schema), step.chooser) ? base : sampleOf(document, step.schema),
        rest,
        part,
      )
    case 'property': {
      const now = typeof base === 'object' && base !== null ? base : {}
      return { ...now, [step.name]: withPathTo(document, now[step.name] ?? made(step.schema), rest, part) }
    }
    case 'item': {
      const now = Array.isArray(base) && base.length > 0 ? base : [made(step.schema)]
      return [withPathTo(document, now[0], rest, part), ...now.slice(1)]
    }
    case 'value': {
      const [[key, value] = ['key', undefined], ...others] = Object.entries(base ?? {})
      return {
        [key]: withPathTo(document, value ?? made(step.schema), rest, part),
        ...Object.fromEntries(others),
      }
    }
    case 'name':
      return Object.keys(base ?? {}).length > 0 ? base : { key: 'x' }
  }
}

/** Whether the value has the alternative's type and required fields, and the value that chooses it. */
function fits(value: Json, schema: Json, chooser?: string): boolean {
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
  if (type !== 'object') return true
  if (chooser !== undefined && !listedValues(schema.properties[chooser])?.includes(value[chooser]))
    return false
  return (schema.required ?? []).every((name: string) => value[name] !== undefined)
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

/** Applies the violation. undefined when the result cannot be sent. */
export function applyViolation(
  document: Json,
  base: Json,
  steps: Step[],
  violation: Violation,
  part: Part,
): Json {
  const isForm = part === 'form' || part === 'fields'
  if (steps.length === 0)
    return 'value' in violation && (!isForm || isObject(violation.value)) ? violation.value : undefined
  const [first, ...others] = steps
  if (first.kind !== 'property') return replaceAt(base, steps, violation)
  if ('remove' in violation && others.length === 0)
    return part === 'path' ? undefined : replaceAt(base, steps, violation)
  const sent = encodeValue(
    replaceAt(base[first.name], others, violation),
    flattened(document, first.schema),
    part,
  )
  return sent === undefined ? undefined : { ...base, [first.name]: sent }
}

function replaceAt(base: Json, [step, ...rest]: Step[], violation: Violation): Json {
  if (step === undefined) return 'value' in violation ? violation.value : undefined
  switch (step.kind) {
    case 'choice':
      return replaceAt(base, rest, violation)
    case 'property': {
      const { [step.name]: now, ...others } = base
      return rest.length === 0 && 'remove' in violation
        ? others
        : { ...base, [step.name]: replaceAt(now, rest, violation) }
    }
    case 'item':
      return [replaceAt(base[0], rest, violation), ...base.slice(1)]
    case 'value': {
      const [[key, value], ...others] = Object.entries(base)
      return { [key]: replaceAt(value, rest, violation), ...Object.fromEntries(others) }
    }
    case 'name': {
      const [[key, value], ...others] = Object.entries(base)
      return { [String(replaceAt(key, rest, violation))]: value, ...Object.fromEntries(others) }
    }
  }
}

/** The value as it arrives, where most parts are text. undefined when it cannot be sent. */
function encodeValue(value: Json, schema: Json, part: Part): Json {
  if (part === 'body' || part === 'answer') return value
  const types = typesOf(schema)
  if (part === 'form' && types.includes('object')) return value
  if (part === 'form' && types.includes('integer') && typeof value === 'number') return value
  if (part === 'form' && types.includes('array'))
    return Array.isArray(value) && value.every(isSentAsItem) ? value : undefined
  if (part === 'query' && types.includes('object'))
    return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
      ? value
      : undefined
  if (part === 'query' && types.includes('array')) return [value].flat().map(String)
  // An array is sent as a repeated parameter.
  if (Array.isArray(value)) return part === 'query' || part === 'fields' ? ['a', 'b'] : undefined
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value)
  if ((part === 'form' || part === 'fields') && typeof value !== 'string') return undefined
  if (part === 'header' && !/^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(text)) return undefined
  if (part === 'path' && /^\.{0,2}$|[/\\\s\u0001]/.test(text)) return undefined
  return text
}

/** Whether an item of a list arrives unchanged: a form trims, splits at commas, and reads `[` as JSON. */
function isSentAsItem(item: Json): boolean {
  return typeof item === 'string' && item === item.trim() && !/^\[|,/.test(item)
}

function asText(base: Json): Json {
  return Object.fromEntries(
    Object.entries(base).map(([name, value]) => [name, typeof value === 'object' ? value : String(value)]),
  )
}

/** The name of the field that the constraint applies to, as the API reports it. */
function fieldAt({ steps, constraint: { keyword, name } }: Site, base: Json, violation: Violation): string {
  const last = steps.at(-1)
  const path = steps.flatMap((step, i): string[] => {
    if (step.kind === 'property') return [step.name]
    if (step.kind === 'item') return ['0']
    if (step.kind === 'value') return [Object.keys(valueAt(base, steps.slice(0, i)))[0]]
    return step.kind === 'name' && 'value' in violation ? [String(violation.value)] : []
  })
  // For a choice between required fields, the API reports the first field as missing.
  if (keyword === 'required' && name !== undefined)
    path.push(last?.kind === 'choice' && isChoice(last.among) ? last.among[0].required[0] : name)
  if (keyword === 'additionalProperties') path.push(unknownName)
  return fieldOf(path)
}

/** A repeated query parameter is reported by its name. */
function withoutItems(field: string, part: Part): string {
  return part === 'query' ? field.replace(/\[\d+\]$/, '') : field
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
 * The problems that the API reports for these errors: one for each field and constraint; a blank text is
 * `required`; and in a choice between fields, one is missing, or there are two.
 */
export function problemsOf(errors: ErrorObject[], root: Json, part: Part): ProblemList {
  const chosen = new Set(
    errors
      .filter(({ keyword, schema }) => keyword === 'oneOf' && isChoice(schema))
      .map(({ instancePath }) => instancePath),
  )
  return [
    ...new Set(
      errors.flatMap(({ keyword, instancePath, params, schema, schemaPath, propertyName }) => {
        // The errors of `then` say what is wrong.
        if (keyword === 'if') return []
        if (chosen.has(instancePath) && /\/oneOf\/\d+\/required$/.test(schemaPath)) return []
        const path = keysOf(instancePath)
        if (keyword === 'required') path.push(params.missingProperty)
        if (keyword === 'dependentRequired') path.push(params.property)
        if (keyword === 'additionalProperties') path.push(params.additionalProperty)
        if (propertyName !== undefined) path.push(propertyName)
        if (keyword === 'oneOf' && isChoice(schema)) {
          const chosenFrom = path.reduce((at, key) => at?.[key], root)
          if (Object.prototype.toString.call(chosenFrom) !== '[object Object]') return []
          const name = (schema as Json)[params.passingSchemas?.[1] ?? 0].required[0]
          const constraint = params.passingSchemas === null ? 'required' : 'oneOf'
          return [`${fieldOf([...path, name])} ${constraint}`]
        }
        const value = path.reduce((at, key) => at?.[key], root)
        if (keyword !== 'type' && typeof value === 'string' && value.trim() === '')
          return [`${fieldOf(path)} required`]
        const unsafe =
          isText(part) &&
          (keyword === 'maximum' || keyword === 'minimum') &&
          !Number.isSafeInteger(Number(value))
        const field = withoutItems(fieldOf(path), part)
        return [`${field} ${keyword}`, ...(unsafe ? [`${fieldOf(path)} type`] : [])]
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
