// The declarations of the client: operations.d.ts with the flat methods, and resource-methods.d.ts with the
// methods by resource.
import { capital, flatMethod, inputDeclaration, resourceMethod, type MethodTypes } from './client-methods.ts'

const sharedTypes = {
  'answer-stream': ['AnswerStream'],
  error: ['ApiError'],
  files: ['Uploadable'],
  method: [
    'Answer',
    'CallOptions',
    'EventStream',
    'ListAnswer',
    'ListMethod',
    'OptionalListMethod',
    'StreamEvent',
    'StreamOptions',
    'StreamingMethod',
    'UploadOptions',
    'WithFiles',
    'WithHeaders',
    'WithRequiredHeaders',
  ],
  webhooks: ['WebhookRequest'],
  resumable: ['ResumableOptions'],
}

/** A method that is not an operation, with its comment, by its name in the resources. */
export type ExtraMethods = Record<string, (name: string) => string[]>

/**
 * @param errors the declarations of the errors by operation; null if they all have one type.
 * @param modules the names that the files of types export.
 */
export function operationsDeclaration(
  all: MethodTypes[],
  { errors, modules }: { errors: Array<[method: string, lines: string[]]> | null; modules: Modules },
): string {
  const inputs = all.map((types) => inputDeclaration(types).join('\n')).join('\n\n')
  const methods = all.map((types) => indented(flatMethod(types))).join('\n')
  const body = `${inputs}

/** One method per operation, named by its operationId. */
export interface Methods {
${methods}
}
${errors === null ? '' : errorsDeclaration(errors)}`
  return `import type { OperationRow } from './operation-row.js'
${imports(body, [...Object.entries(sharedTypes), ...modules])}
${body}
export declare const operationTable: Record<keyof Methods, OperationRow>
`
}

/** The names that a module exports. */
export type Modules = Array<[module: string, names: string[]]>

function errorsDeclaration(errors: Array<[method: string, lines: string[]]>): string {
  const members = errors.map(([method]) => `  ${method}: ${capital(method)}Error`)
  return `
${errors.map(([, lines]) => lines.join('\n')).join('\n\n')}

/** The errors of the operations. */
export interface OperationErrors {
${members.join('\n')}
}
`
}

/** @param names the names by resource, by method. */
export function resourcesDeclaration(
  all: MethodTypes[],
  names: Map<string, string>,
  extra: ExtraMethods,
  modules: Modules,
): string {
  const root = new Resource([])
  for (const types of all) {
    const name = names.get(types.method)
    if (name !== undefined) root.add(name.split('.'), (method) => resourceMethod(method, types))
  }
  for (const [name, declaration] of Object.entries(extra)) root.add(name.split('.'), declaration)
  const body = root.declarations().join('\n\n')
  const own = all.flatMap(({ declarations }) => exportsOf(declarations.join('\n')))
  return `${imports(body, [...Object.entries(sharedTypes), ['operations', own], ...modules])}
${body}
`
}

class Resource {
  readonly #path: string[]
  readonly #methods = new Map<string, (name: string) => string[]>()
  readonly #children = new Map<string, Resource>()

  constructor(path: string[]) {
    this.#path = path
  }

  get name(): string {
    return this.#path.length === 0 ? 'Resources' : `${this.#path.map(capital).join('')}Resource`
  }

  add([first, ...rest]: string[], method: (name: string) => string[]): void {
    if (rest.length === 0) {
      this.#methods.set(first, method)
      return
    }
    const child = this.#children.get(first) ?? new Resource([...this.#path, first])
    this.#children.set(first, child)
    child.add(rest, method)
  }

  /**
   * The interface of this resource and those of its children.
   * @param call the declaration of the method that has the resource's name, as `ai.chat`.
   */
  declarations(call: string[] = []): string[] {
    const methods = [...this.#methods].filter(([name]) => !this.#children.has(name))
    const members = [
      ...(call.length === 0 ? [] : [indented(call)]),
      ...methods.map(([name, method]) => indented(method(name))),
      ...[...this.#children].map(([name, child]) => `  ${name}: ${child.name}`),
    ]
    const about = ['client', ...this.#path].join('.')
    return [
      `/** The methods of \`${about}\`. */\nexport interface ${this.name} {\n${members.join('\n')}\n}`,
      ...[...this.#children].flatMap(([name, child]) => child.declarations(this.#methods.get(name)?.(''))),
    ]
  }
}

function indented(lines: string[]): string {
  return lines.map((line) => `  ${line}`.trimEnd()).join('\n')
}

/** The import lines for the names that the text uses; comments and strings do not matter. */
function imports(text: string, modules: Array<[string, string[]]>): string {
  const code = text.replace(/\/\*\*[^]*?\*\//g, '').replace(/'[^']*'/g, '')
  const used = new Set(code.match(/[A-Za-z_$][\w$]*/g))
  return modules
    .map(([module, names]) => [module, names.filter((name) => used.has(name)).sort()] as const)
    .filter(([, names]) => names.length > 0)
    .map(([module, names]) => `import type { ${names.join(', ')} } from './${module}.js'\n`)
    .join('')
}

export function exportsOf(text: string): string[] {
  return [...text.matchAll(/^export (?:interface|type) ([\w$]+)/gm)].map(([, name]) => name)
}
