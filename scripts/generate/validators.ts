// Compiles the contract's schemas ahead of time into plain code, with Ajv 2020: what comes in and, for tests and a
// setting, what goes out. What the code calls its parts follows from the schemas, so that one more moves no other.
import { createHash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { _, stringify } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import oneOf from 'ajv/dist/vocabularies/applicator/oneOf.js'
import pattern from 'ajv/dist/vocabularies/validation/pattern.js'
import { formats } from '../../infra/validation/formats.ts'
import { keysOf } from '../../infra/validation/json-pointer.ts'
import { GenerateError } from './error.ts'
import { componentOf, patternSays, plain } from './schemas.ts'

type Json = any

/** What compiles each of the three sets of schemas. Kept from one generation to the next, it compiles again only what changed. */
export interface Compilers {
  parameters: Compiler
  bodies: Compiler
  replies: Compiler
}

/** Text is coerced to the declared type only where everything is text: in path, query and headers. */
export function createCompilers(): Compilers {
  return { parameters: new Compiler('array'), bodies: new Compiler(false), replies: new Compiler(false) }
}

export function compileRequests(
  document: Json,
  parameters: Map<string, Json>,
  bodies: Map<string, Json>,
  compilers: Compilers,
): string {
  return asModule(
    `${compilers.parameters.compile(document, parameters)}\n${compilers.bodies.compile(document, bodies)}`,
  )
}

export function compileResponses(document: Json, responses: Map<string, Json>, compilers: Compilers): string {
  return asModule(compilers.replies.compile(document, responses))
}

/** The formats that a schema may name. */
export function knownFormats(): Set<string> {
  return new Set(Object.keys(createAjv(false).formats))
}

/** What finds keywords of a schema that there are none of, or whose value is no such keyword's; what they hold is not looked into. */
export function createKeywordCheck(): (schema: Json) => Array<{ keyword: string; message: string }> {
  const own = createAjv(false)
  const validate = new Ajv2020().getSchema('https://json-schema.org/draft/2020-12/meta/validation')!
  const annotations = new Set([
    '$ref',
    'description',
    'title',
    'default',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
  ])
  return (schema) => {
    const unknown = Object.keys(schema).filter(
      (keyword) =>
        !annotations.has(keyword) && !keyword.startsWith('x-') && own.getKeyword(keyword) === false,
    )
    const wrong = validate(schema)
      ? []
      : validate.errors!.map(({ instancePath, message }) => ({ keyword: keysOf(instancePath)[0], message }))
    return [
      ...unknown.map((keyword) => ({ keyword, message: `\`${keyword}\` is no keyword of a schema` })),
      ...[...new Map(wrong.map((one) => [one.keyword, one])).values()].map(({ keyword, message }) => ({
        keyword,
        message: `\`${keyword}\` ${message}`,
      })),
    ]
  }
}

function createAjv(coerceTypes: false | 'array'): InstanceType<typeof Ajv2020> {
  const ajv = new Ajv2020({
    allErrors: true,
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    inlineRefs: false,
    // The linter has held every schema against its own; here that would need the generated code to run.
    validateSchema: false,
    code: { source: true, lines: true, formats: _`formats` },
  })
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format)
  // Ajv's own compares every item with every other, which a body of one megabyte turns into minutes.
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
  // Ajv's own, whose problems also tell what the spec says of the pattern, and which properties there are to choose from.
  ajv.addVocabulary([patternSays])
  replaceErrors(ajv, (pattern as Json).default, ({ schemaCode, parentSchema: { [patternSays]: says } }) =>
    says === undefined ? _`{pattern: ${schemaCode}}` : _`{pattern: ${schemaCode}, says: ${says}}`,
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
  ajv.removeKeyword(definition.keyword)
  ajv.addKeyword({ ...definition, error: { ...definition.error, params } })
}

const idOf = (component: string, rest = ''): string => `spec:${component}${rest && `#${rest}`}`

/** Schemas under their ids, of which Ajv keeps the code. The text that comes out depends on the schemas alone. */
class Compiler {
  #coerceTypes: false | 'array'
  #ajv: InstanceType<typeof Ajv2020>
  /** What Ajv holds, by id, as text. */
  #held = new Map<string, string>()

  constructor(coerceTypes: false | 'array') {
    this.#coerceTypes = coerceTypes
    this.#ajv = createAjv(coerceTypes)
  }

  /** Ajv writes the body of a CommonJS module: wrapped, so that two of them can stand in one ES module. */
  compile(document: Json, schemas: Map<string, Json>): string {
    const wanted = new Map<string, string>()
    const hold = (id: string, schema: Json): void => {
      wanted.set(id, JSON.stringify({ ...plain(schema, idOf, [patternSays]), $id: id }))
    }
    for (const [name, schema] of Object.entries<Json>(document.components?.schemas ?? {}))
      hold(idOf(name), schema)
    const exported: Record<string, string> = {}
    for (const [name, schema] of schemas) {
      const component = Object.keys(schema).length === 1 ? componentOf(schema) : undefined
      if (component === undefined) hold(name, schema)
      exported[name] = component === undefined ? name : idOf(component)
    }
    this.#hold(wanted)
    for (const [name, id] of Object.entries(exported)) {
      try {
        this.#ajv.getSchema(id)
      } catch (error) {
        // What it holds of a schema that fails half-way is nothing to go on from.
        this.#forget()
        throw new GenerateError(`The schema ${name} cannot be compiled: ${(error as Error).message}`, {
          cause: error,
        })
      }
    }
    const code = (standalone as Json).default(this.#ajv, exported)
    return `;(function (exports) {\n${withStableNames(joining(code.replace(/^"use strict";/, '')))}\n})(validators);`
  }

  /** What changed goes, and whatever refers to it: its code calls the former one's. */
  #hold(wanted: Map<string, string>): void {
    const changed = new Set([...this.#held.keys()].filter((id) => this.#held.get(id) !== wanted.get(id)))
    for (const stale of changed) {
      for (const [id, text] of this.#held)
        if (text.includes(`"$ref":"${stale}"`) || text.includes(`"$ref":"${stale}#`)) changed.add(id)
    }
    if (changed.size > this.#held.size / 2) this.#forget()
    for (const id of changed) {
      this.#ajv.removeSchema(id)
      this.#held.delete(id)
    }
    for (const [id, text] of wanted) {
      if (this.#held.has(id)) continue
      this.#ajv.addSchema(JSON.parse(text))
      this.#held.set(id, text)
    }
  }

  #forget(): void {
    this.#ajv = createAjv(this.#coerceTypes)
    this.#held.clear()
  }
}

/** Ajv copies all problems that it has for each further one; a body of one megabyte turns that into minutes. */
function joining(code: string): string {
  return code.replace(
    /^vErrors = vErrors === null \? (\S+) : vErrors\.concat\(\1\);$/gm,
    'vErrors = joined(vErrors, $1);',
  )
}

const numbered = /"(?:[^"\\]|\\.)*"|\b(?:validate|schema|wrapper|func|formats|pattern)\d+\b/g

/** Ajv numbers its functions and constants in order of use; here each is called after its schema or its content. */
function withStableNames(code: string): string {
  const names = new Map<string, string>()
  // A text in quotes is the spec's, whatever it looks like.
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
  // Constants of equal content now have one name, and are declared once.
  const declared = new Set<string>()
  return rename(code).replace(
    /^const ((?:schema|wrapper|func|formats|pattern)_\w+) = .*;\n/gm,
    (line, name) => {
      return declared.has(name) ? '' : (declared.add(name), line)
    },
  )
}

function asModule(code: string): string {
  return `import { createRequire } from 'node:module'
import { distinct, formats, joined } from '../infra/validation/formats.ts'

const require = createRequire(import.meta.url)
const validators = {}
${code}
export default validators
`
}
