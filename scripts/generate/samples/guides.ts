// The commands of the guides for the TypeScript and the Python client. A block is translated when it consists
// of calls of `api` (docs/guides/quickstart.md) whose results are printed, or kept in a variable or a file.
import type { Operation } from '../model.ts'
import { snakeCase } from '../python-types.ts'
import { callWith, type Call } from './call.ts'
import { pythonExpression } from './python-client.ts'
import { typescriptExpression } from './typescript.ts'

type Json = any

export interface GuideSample {
  typescript: string
  python: string
}

/** A call of `api` in a block. */
interface Command {
  method: string
  /** With the query. Variables are `⟦NAME⟧`. */
  address: string
  body: Json
  /** The variable or the file that keeps the result. */
  keeps: string | null
  /** The field that the variable has. */
  field: string | null
}

/** What the variables and files of a guide hold: the results of earlier calls, and which field of them. */
type Variables = Map<string, { result: string; field: string }>

const command = new RegExp(
  [
    /(?:(?<variable>[A-Z_]+)=\$\()?api (?<method>[A-Z]+) /,
    /(?<address>"[^"]*"|'[^']*'|[^\s"']+)/,
    /(?: -d (?<body>'[^']*'|"(?:[^"\\]|\\[^])*"))?/,
    /(?: \| field (?<field>\w+)\))?(?: (?:\| tee|>) (?<file>[\w-]+)\.json)?\s*(?:\n|$)/,
  ]
    .map(({ source }) => source)
    .join(''),
  'y',
)

/** Translates the blocks of a guide in their order; null for one that cannot be translated. */
export function guideSamples(
  blocks: string[],
  { operations, names, client }: { operations: Operation[]; names: Map<string, string>; client: string },
): Array<GuideSample | null> {
  let known: Variables = new Map()
  let isFirst = true
  return blocks.map((block) => {
    const variables = new Map(known)
    const commands = commandsOf(block)
    const translated = commands?.map((one) => translate(one, { operations, names, variables }))
    if (translated === undefined || translated.includes(null)) return null
    known = variables
    const samples = translated as GuideSample[]
    const begin = isFirst
    isFirst = false
    return {
      typescript: [
        ...(begin
          ? [`import { createPlatformClient } from '${client}'\n\nconst client = createPlatformClient()`]
          : []),
        ...samples.map(({ typescript }) => typescript),
      ].join('\n'),
      python: [
        ...(begin ? ['from platform_api import Client\n\nclient = Client()'] : []),
        ...samples.map(({ python }) => python),
      ].join('\n'),
    }
  })
}

function commandsOf(block: string): Command[] | null {
  const text = block.replace(/\\\n\s*/g, '')
  const commands: Command[] = []
  command.lastIndex = 0
  while (command.lastIndex < text.length) {
    const groups = command.exec(text)?.groups
    if (groups === undefined || (groups.variable === undefined) !== (groups.field === undefined)) return null
    try {
      commands.push({
        method: groups.method,
        address: unquoted(groups.address),
        body: groups.body === undefined ? null : JSON.parse(unquoted(groups.body)),
        keeps: groups.variable ?? groups.file ?? null,
        field: groups.field ?? null,
      })
    } catch {
      return null
    }
  }
  return commands
}

/** The text of a word of the shell, with its variables as `⟦NAME⟧`. */
function unquoted(word: string): string {
  if (word.startsWith("'")) return word.slice(1, -1)
  const text = word.startsWith('"') ? word.slice(1, -1).replace(/\\([^])/g, '$1') : word
  const withFiles = text.replace(/\$\(field (\w+) < ([\w-]+)\.json\)/g, '⟦$2.$1⟧')
  return withFiles.replace(/\$\{?(\w+)\}?/g, '⟦$1⟧')
}

function translate(
  { method, address, body, keeps, field }: Command,
  options: { operations: Operation[]; names: Map<string, string>; variables: Variables },
): GuideSample | null {
  const [path, query = ''] = address.split('?')
  const operation = options.operations.find(
    (one) => one.method === method.toLowerCase() && pathPattern(one.fullPath).test(path),
  )
  const name = operation && options.names.get(operation.id)
  if (operation === undefined || name === undefined) return null
  const parameters = [...new URLSearchParams(query)]
  if (!parameters.every(([key]) => operation.queryParameters.some((one) => one.name === key))) return null
  const call = callWith(operation, {
    path: pathPattern(operation.fullPath).exec(path)!.groups ?? {},
    query: Object.fromEntries(parameters.map(([key, value]) => [key, valueOf(operation, key, value)])),
    headers: {},
    body: body === null ? null : { type: 'application/json', value: body },
  })
  // A list has no fields, and files and streams are read in other ways.
  if (call.receives !== 'json' && call.receives !== 'nothing') return null
  if (call.list && keeps !== null) return null
  const kept = keeps === null ? null : resultName(keeps, options.variables)
  const sample = {
    typescript: withVariables(inTypescript(call, name, kept), options.variables, typescriptField),
    python: withVariables(inPython(call, name, kept), options.variables, pythonField),
  }
  if (keeps !== null && kept !== null) options.variables.set(keeps, { result: kept, field: field ?? '' })
  return sample.typescript === null || sample.python === null ? null : (sample as GuideSample)
}

/** A value of the query with its type. */
function valueOf({ queryParameters }: Operation, name: string, text: string): Json {
  const type = queryParameters.find((one) => one.name === name)?.schema.type
  if (type === 'array') return text.split(',')
  return ['integer', 'number', 'boolean'].includes(type) ? JSON.parse(text) : text
}

const pathPattern = (template: string): RegExp =>
  new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

const camelCase = (name: string): string =>
  (/^[A-Z_]+$/.test(name) ? name.toLowerCase() : name).replace(/[_-](.)/g, (_, letter) =>
    letter.toUpperCase(),
  )

/** A name for the result that no earlier one has. */
function resultName(variable: string, variables: Variables): string {
  const name = camelCase(variable.replace(/_ID$/, ''))
  const taken = [...variables.values()].filter(({ result }) => result.replace(/\d+$/, '') === name).length
  return taken === 0 ? name : `${name}${taken + 1}`
}

function inTypescript(call: Call, name: string, kept: string | null): string {
  const expression = typescriptExpression(call, name)
  if (call.list) return `for await (const item of ${expression}) console.log(item)`
  if (kept !== null) return `const ${kept} = await ${expression}`
  return call.receives === 'nothing' ? `await ${expression}` : `console.log(await ${expression})`
}

function inPython(call: Call, name: string, kept: string | null): string {
  const expression = pythonExpression(call, name)
  if (call.list) return `for item in ${expression}:\n    print(item)`
  if (kept !== null) return `${snakeCase(kept)} = ${expression}`
  return call.receives === 'nothing' ? expression : `print(${expression})`
}

const typescriptField = (result: string, field: string): string => `${result}.${field}`
const pythonField = (result: string, field: string): string => `${snakeCase(result)}["${field}"]`

/** Replaces the strings that are variables; null if one is part of a string, or is not known. */
function withVariables(
  code: string,
  variables: Variables,
  fieldOf: (result: string, field: string) => string,
): string | null {
  const replaced = code.replace(/(['"])⟦([\w-]+)(?:\.(\w+))?⟧\1/g, (whole, _quote, name, field) => {
    const found = variables.get(name)
    return found === undefined ? whole : fieldOf(found.result, field ?? found.field)
  })
  return replaced.includes('⟦') ? null : replaced
}
