// Compiles the schemas of requests to JavaScript with Ajv. Names in the code follow from the schemas, so that
// a new schema changes no other code.
import { createHash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { _, Name, str, stringify } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import ifThen from 'ajv/dist/vocabularies/applicator/if.js'
import oneOf from 'ajv/dist/vocabularies/applicator/oneOf.js'
import limitNumber from 'ajv/dist/vocabularies/validation/limitNumber.js'
import pattern from 'ajv/dist/vocabularies/validation/pattern.js'
import { formats, lengthKeywords } from '../../infra/validation/formats.ts'
import { GenerateError } from '../generate/error.ts'
import type { Schemas } from './schemas.ts'

type Json = any

/** The extension that describes a pattern in words that complete "must be", for validation messages. */
export const patternSays = 'x-pattern-says'

/** The extension that makes a string of a request lowercase before it is validated. */
export const lowercase = 'x-lowercase'

/** One compiler per set of schemas. A reused compiler compiles only the schemas that have changed. */
export interface Compilers {
  parameters: Compiler
  bodies: Compiler
}

/** Only path, query and header parameters are coerced to the declared type, because they arrive as text. */
export function createCompilers(): Compilers {
  return {
    parameters: new Compiler('array'),
    bodies: new Compiler(false, countsFirst),
  }
}

export function compileRequests({ components, parameters, bodies }: Schemas, compilers: Compilers): string {
  const code = compilers.parameters.compile(components, parameters)
  return asModule(`${code}\n${compilers.bodies.compile(components, bodies)}`)
}

export function createAjv(coerceTypes: false | 'array'): InstanceType<typeof Ajv2020> {
  const ajv = new Ajv2020({
    allErrors: true,
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    coerceTypes,
    // 19.99 / 0.01 is 1998.9999999999998.
    multipleOfPrecision: 9,
    useDefaults: true,
    removeAdditional: false,
    inlineRefs: false,
    // The linter has validated the schemas already.
    validateSchema: false,
    code: { source: true, lines: true, formats: _`formats` },
  })
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format)
  // Ajv's own implementation is quadratic: minutes for a body of one megabyte.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    code(cxt) {
      if (cxt.schema === true) cxt.fail(_`!distinct(${cxt.data})`)
    },
  })
  for (const { definition, isBroken, words } of lengthKeywords) {
    ajv.removeKeyword(definition.keyword)
    ajv.addKeyword({
      ...definition,
      error: {
        message: ({ schemaCode }) => str`must NOT have ${words} than ${schemaCode} characters`,
        params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
      },
      code(cxt) {
        cxt.fail(_`${new Name(isBroken.name)}(${cxt.data}, ${cxt.schemaCode})`)
      },
    })
  }
  ajv.addKeyword({
    keyword: lowercase,
    schemaType: 'boolean',
    before: '$ref',
    code({ gen, data, it: { parentData, parentDataProperty } }) {
      gen.if(_`typeof ${data} == "string"`, () => {
        gen.assign(data as Name, _`${data}.toLowerCase()`)
        gen.assign(_`${parentData}[${parentDataProperty}]`, data)
      })
    },
  })
  // Without an error of its own: those of `then` say what is wrong.
  ajv.removeKeyword('if')
  const { code: checkIf, ...definition } = (ifThen as Json).default
  ajv.addKeyword({
    ...definition,
    code(cxt: Json) {
      cxt.error = () => {}
      checkIf(cxt)
    },
  })
  // Ajv's own keywords, with more in the params of their errors: a pattern's description, alternatives.
  ajv.addVocabulary([patternSays])
  replaceErrors(ajv, (pattern as Json).default, ({ schemaCode, parentSchema: { [patternSays]: says } }) =>
    says === undefined ? _`{pattern: ${schemaCode}}` : _`{pattern: ${schemaCode}, says: ${says}}`,
  )
  // The other end of a range, so that a message can state both.
  replaceErrors(ajv, (limitNumber as Json).default, ({ schemaCode, parentSchema: { minimum, maximum } }) =>
    minimum === undefined || maximum === undefined
      ? _`{limit: ${schemaCode}}`
      : _`{limit: ${schemaCode}, range: ${stringify([minimum, maximum])}}`,
  )
  replaceErrors(ajv, (oneOf as Json).default, ({ params, schema }) => {
    const names: Json[] = schema.map(({ required }: Json) => required?.[0])
    const named = schema.every(
      (alternative: Json) =>
        Object.keys(alternative).join() === 'required' && alternative.required.length === 1,
    )
    return named
      ? _`{passingSchemas: ${params.passing}, names: ${stringify(names)}}`
      : _`{passingSchemas: ${params.passing}}`
  })
  return ajv
}

function replaceErrors(
  ajv: InstanceType<typeof Ajv2020>,
  definition: Json,
  params: (cxt: Json) => ReturnType<typeof _>,
): void {
  for (const keyword of [definition.keyword].flat()) ajv.removeKeyword(keyword)
  ajv.addKeyword({ ...definition, error: { ...definition.error, params } })
}

/**
 * The schema with the contents of arrays and maps behind their limits: a value with too many items or fields
 * is refused without a look at them.
 */
function countsFirst(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(countsFirst)
  if (typeof schema !== 'object' || schema === null) return schema
  const nested = Object.fromEntries(
    Object.entries<Json>(schema).map(([keyword, value]) => [
      keyword,
      values.has(keyword) ? value : countsFirst(value),
    ]),
  )
  const { items, maxItems, uniqueItems, additionalProperties, propertyNames, maxProperties, ...rest } = nested
  if (typeof maxItems === 'number' && items !== undefined && maxProperties === undefined)
    return {
      ...rest,
      maxItems,
      if: { maxItems },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { items, ...(uniqueItems !== undefined && { uniqueItems }) },
    }
  if (typeof maxProperties === 'number' && rest.properties === undefined && maxItems === undefined) {
    const contents = {
      ...(additionalProperties !== undefined && { additionalProperties }),
      ...(propertyNames !== undefined && { propertyNames }),
    }
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    return { ...rest, maxProperties, if: { maxProperties }, then: contents }
  }
  return nested
}

/** Keywords whose value has no schemas. */
const values = new Set(['const', 'enum', 'default', 'required', 'dependentRequired'])

/** Ajv with a cache of compiled schemas by id. The output depends only on the schemas. */
class Compiler {
  #coerceTypes: false | 'array'
  /** Changes a schema before it is compiled. */
  #transform: (schema: Json) => Json
  #ajv: InstanceType<typeof Ajv2020>
  /** The schemas that Ajv has, by id, as JSON. */
  #cached = new Map<string, string>()

  constructor(coerceTypes: false | 'array', transform = (schema: Json): Json => schema) {
    this.#coerceTypes = coerceTypes
    this.#transform = transform
    this.#ajv = createAjv(coerceTypes)
  }

  /** Wraps the CommonJS code of Ajv, so that one ES module can contain two of them. */
  compile(components: Record<string, Json>, schemas: Record<string, Json>): string {
    const wanted = new Map<string, string>()
    const want = ([id, schema]: [string, Json]): void => {
      wanted.set(id, JSON.stringify({ ...this.#transform(schema), $id: id }))
    }
    Object.entries(components).forEach(want)
    const exported: Record<string, string> = {}
    for (const [name, schema] of Object.entries(schemas)) {
      const isComponent = Object.keys(schema).length === 1 && Object.hasOwn(components, schema.$ref)
      if (!isComponent) want([name, schema])
      exported[name] = isComponent ? schema.$ref : name
    }
    this.#update(wanted)
    for (const [name, id] of Object.entries(exported)) {
      try {
        this.#ajv.getSchema(id)
      } catch (error) {
        // After a failure Ajv's cache is incomplete.
        this.#reset()
        throw new GenerateError(`Cannot compile the schema ${name}: ${(error as Error).message}`, {
          cause: error,
        })
      }
    }
    const code = (standalone as Json).default(this.#ajv, exported)
    const body = withStableNames(withSharedErrors(code.replace(/^"use strict";/, '')))
    return `;(function (exports) {\n${body}\n})(validators);`
  }

  /** Removes changed schemas and everything that refers to them, and adds the wanted ones. */
  #update(wanted: Map<string, string>): void {
    const changed = new Set([...this.#cached.keys()].filter((id) => this.#cached.get(id) !== wanted.get(id)))
    for (const stale of changed) {
      for (const [id, text] of this.#cached)
        if (text.includes(`"$ref":"${stale}"`) || text.includes(`"$ref":"${stale}#`)) changed.add(id)
    }
    if (changed.size > this.#cached.size / 2) this.#reset()
    for (const id of changed) {
      this.#ajv.removeSchema(id)
      this.#cached.delete(id)
    }
    for (const [id, text] of wanted) {
      if (this.#cached.has(id)) continue
      this.#ajv.addSchema(JSON.parse(text))
      this.#cached.set(id, text)
    }
  }

  #reset(): void {
    this.#ajv = createAjv(this.#coerceTypes)
    this.#cached.clear()
  }
}

/** Ajv copies the array of errors for each new error: minutes for a body of one megabyte. Appends instead. */
function withSharedErrors(code: string): string {
  return code.replace(
    /^vErrors = vErrors === null \? (\S+) : vErrors\.concat\(\1\);$/gm,
    'vErrors = joined(vErrors, $1);',
  )
}

const numbered = /"(?:[^"\\]|\\.)*"|\b(?:validate|schema|wrapper|func|formats|pattern)\d+\b/g

/** Ajv numbers functions and constants in order of use. Renames them after their schema or content. */
function withStableNames(code: string): string {
  const names = new Map<string, string>()
  // Quoted text comes from the spec and must not change.
  const rename = (text: string): string => text.replace(numbered, (name) => names.get(name) ?? name)
  for (const [, name, id] of code.matchAll(/^function (validate\d+)\(.*\n\/\*# sourceURL="([^"]+)" \*\/;/gm))
    names.set(name, `validate_${id.replace(/\W/g, '_')}`)
  for (const [, name, value] of code.matchAll(
    /^const ((?:schema|wrapper|func|formats|pattern)\d+) = (.*);$/gm,
  )) {
    const id = /,"\$id":"([^"]+)"\}$/.exec(value)?.[1].replace(/\W/g, '_')
    const content = createHash('sha256').update(rename(value)).digest('hex').slice(0, 8)
    names.set(name, `${name.replace(/\d+$/, '')}_${id ?? content}`)
  }
  // Constants with equal content now have the same name; declare them once.
  const declared = new Set<string>()
  return rename(code).replace(
    /^const ((?:schema|wrapper|func|formats|pattern)_\w+) = .*;\n/gm,
    (line, name) => {
      return declared.has(name) ? '' : (declared.add(name), line)
    },
  )
}

function asModule(code: string): string {
  const lengthTests = lengthKeywords.map(({ isBroken }) => isBroken.name)
  return `import { createRequire } from 'node:module'
import { distinct, formats, ${lengthTests.join(', ')}, joined } from '../infra/validation/formats.ts'

const require = createRequire(import.meta.url)
const validators = {}
${code}
export default validators
`
}
