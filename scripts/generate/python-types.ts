// The types of the Python client: a TypedDict, a Literal or an alias per schema that its methods use.
type Json = any

/** Python's keywords that may be names in the contract. */
const keywords = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for ' +
    'from global if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
)

/** Names that the module of types imports. */
const imported = ['Any', 'FileInput', 'List', 'Literal', 'NotRequired', 'Optional', 'TypedDict', 'Union']

/** A name of Python: a keyword gets an underscore. */
export function pythonName(name: string): string {
  return keywords.has(name) ? `${name}_` : name
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export class PythonTypes {
  readonly #document: Json
  /** The declarations by name, in the order of their first use. */
  readonly #declared = new Map<string, string[]>()
  readonly #components = new Map<string, string>()
  /** The names of objects without a component. */
  readonly #inline = new Map<Json, string>()

  /** @param document a document with named components. */
  constructor(document: Json) {
    this.#document = document
  }

  /**
   * The type of a schema; declares what it needs.
   * @param hint the name of an object without a component.
   */
  of(node: Json, hint: string): string {
    if (node.$ref !== undefined) return this.#ofComponent(node.$ref, hint)
    const alternatives = node.oneOf ?? node.anyOf
    if (alternatives !== undefined)
      return union(
        alternatives.map((each: Json, i: number) => this.of(each, i === 0 ? hint : `${hint}${i + 1}`)),
      )
    if (node.allOf !== undefined) return this.#inlineObject(node, hint)
    if (node.const !== undefined) return literal([node.const])
    if (node.enum !== undefined) return literal(node.enum)
    return union([node.type ?? 'any'].flat().map((type: string) => this.#ofType(type, node, hint)))
  }

  /** The names of the types of an object that is one of several; a single name if there are none. */
  objectsOf(node: Json, hint: string): string[] | null {
    const schema = this.resolved(node)
    const alternatives: Json[] | undefined = schema.oneOf ?? schema.anyOf
    if (alternatives === undefined)
      return schema.properties === undefined && schema.allOf === undefined ? null : [this.of(node, hint)]
    const names = alternatives.map((each, i) => this.objectsOf(each, `${hint}${i + 1}`))
    return names.some((each) => each === null) ? null : names.flatMap((each) => each!)
  }

  /** Declares an object of parameters. */
  parameters(name: string, parameters: Json[]): string {
    const properties = Object.fromEntries(parameters.map((each) => [each.name, each.schema ?? {}]))
    const required = parameters.filter((each) => each.required).map((each) => each.name)
    return this.#object({ type: 'object', properties, required }, name)
  }

  resolved(node: Json): Json {
    return node?.$ref === undefined ? node : this.resolved(this.#at(node.$ref))
  }

  /** The text of types.py. */
  text(): string {
    const names = [...this.#declared.keys()].sort()
    const body = names.flatMap((name) => [...this.#declared.get(name)!, '', '']).join('\n')
    return `from __future__ import annotations

from typing import Any, Dict, List, Literal, NotRequired, Optional, TypedDict, Union

from ._files import FileInput

${body.trimEnd()}
`
  }

  #at(ref: string): Json {
    return ref
      .slice(2)
      .split('/')
      .reduce((at, part) => at[part.replaceAll('~1', '/').replaceAll('~0', '~')], this.#document)
  }

  #ofComponent(ref: string, hint: string): string {
    const known = this.#components.get(ref)
    if (known !== undefined) return known
    const node = this.#at(ref)
    const isNamed = node.properties ?? node.allOf ?? node.oneOf ?? node.anyOf ?? node.enum
    if (isNamed === undefined) return this.of(node, hint)
    const name = this.#free(ref.split('/').at(-1)!)
    this.#components.set(ref, name)
    if (node.properties !== undefined || node.allOf !== undefined) return this.#object(node, name)
    // Reserves the name, because the schema may refer to itself.
    this.#declared.set(name, [])
    const type = this.of(node, name)
    this.#declared.set(name, [...comment(node), `${name} = ${quotedNames(type)}`])
    return name
  }

  #ofType(type: string, node: Json, hint: string): string {
    switch (type) {
      case 'string':
        return node.format === 'binary' ? 'FileInput' : 'str'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'boolean':
        return 'bool'
      case 'null':
        return 'None'
      case 'array':
        return `List[${this.of(node.items ?? {}, `${hint}Item`)}]`
      case 'object': {
        if (node.properties !== undefined) return this.#inlineObject(node, hint)
        const values = node.additionalProperties
        return `Dict[str, ${typeof values === 'object' ? this.of(values, `${hint}Value`) : 'Any'}]`
      }
      default:
        return 'Any'
    }
  }

  #inlineObject(node: Json, hint: string): string {
    const known = this.#inline.get(node)
    if (known !== undefined) return known
    const name = this.#free(hint)
    this.#inline.set(node, name)
    return this.#object(node, name)
  }

  #object(given: Json, name: string): string {
    const node = this.#merged(given)
    const lines: string[] = []
    this.#declared.set(name, lines)
    const required = new Set(node.required ?? [])
    const fields = Object.entries<Json>(node.properties ?? {}).map(([key, schema]): [string, string] => {
      const type = this.of(schema, `${name}${capital(key.replace(/_(.)/g, (_, letter) => capital(letter)))}`)
      return [key, required.has(key) ? type : `NotRequired[${type}]`]
    })
    if (fields.some(([key]) => !/^[A-Za-z_]\w*$/.test(key) || keywords.has(key))) {
      const members = fields.map(([key, type]) => `    ${JSON.stringify(key)}: ${quotedNames(type)},`)
      lines.push(...comment(node), `${name} = TypedDict("${name}", {`, ...members, '})')
    } else {
      const about = docstring(node.description)
      const members = fields.map(([key, type]) => `    ${key}: ${type}`)
      lines.push(`class ${name}(TypedDict):`, ...about, ...members)
      if (about.length + members.length === 0) lines.push('    pass')
    }
    return name
  }

  #merged(node: Json): Json {
    if (node.allOf === undefined) return node
    const parts: Json[] = node.allOf.map((each: Json) => this.#merged(this.resolved(each)))
    const own = { properties: node.properties, required: node.required }
    return {
      description: node.description,
      properties: Object.assign({}, ...parts.map((each) => each.properties), own.properties),
      required: [...parts, own].flatMap((each) => each.required ?? []),
    }
  }

  #free(suggestion: string): string {
    let name = capital(suggestion.replace(/\W/g, ''))
    while (this.#declared.has(name) || imported.includes(name) || keywords.has(name)) name += '_'
    return name
  }
}

/** The first sentence of a description, as a docstring. */
export function docstring(text: string | undefined, indent = '    '): string[] {
  const line = String(text ?? '')
    .trim()
    .replace(/\s+/g, ' ')
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', "'''")
  const sentence = /^.*?\.(?= |$)/.exec(line)?.[0] ?? line
  return sentence === '' ? [] : [`${indent}"""${sentence}${sentence.endsWith('"') ? ' ' : ''}"""`]
}

function comment({ description }: Json): string[] {
  return docstring(description, '').map((line) => `#: ${line.slice(3, -3).trim()}`)
}

function literal(values: unknown[]): string {
  const texts = values.filter((each) => each !== null).map((each) => pythonLiteral(each))
  return union([
    ...(texts.length > 0 ? [`Literal[${texts.join(', ')}]`] : []),
    ...(values.includes(null) ? ['None'] : []),
  ])
}

/** JSON as Python. */
export function pythonLiteral(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value!)
      .filter(([, each]) => each !== undefined)
      .map(([key, each]) => `${JSON.stringify(key)}: ${pythonLiteral(each)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

function union(types: string[]): string {
  const all = [...new Set(types)]
  if (all.includes('Any')) return 'Any'
  if (all.length === 1) return all[0]
  const others = all.filter((each) => each !== 'None')
  const joined = others.length === 1 ? others[0] : `Union[${others.join(', ')}]`
  return all.includes('None') ? `Optional[${joined}]` : joined
}

/** Names of this module in quotes, because an alias is evaluated before they exist. */
function quotedNames(type: string): string {
  return type.replace(/"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*/g, (word) =>
    word.startsWith('"') ||
    imported.includes(word) ||
    /^(Dict|str|int|float|bool|None|True|False)$/.test(word)
      ? word
      : `"${word}"`,
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
