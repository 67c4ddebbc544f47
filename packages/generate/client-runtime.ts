// Compiles the runtime of clients, packages/client/, to JavaScript and type declarations. Compiling takes
// almost a second and does not depend on the document, so existing output is reused if its hash matches the
// sources.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The folder of the runtime's sources. A packed package has a copy of its own. */
export const clientFolder = [
  join(import.meta.dirname, 'template/client'),
  join(import.meta.dirname, '../client'),
].find((folder) => existsSync(join(folder, 'client.ts')))!

/** The sources of the modules of the package openapi. A packed package has copies of its own. */
export const openapiFolder = [
  join(import.meta.dirname, 'template/openapi'),
  dirname(fileURLToPath(import.meta.resolve('@platform-api/openapi/read.ts'))),
].find(existsSync)!

/** The modules of the package openapi that the runtime imports. */
export const openapiModules = ['form-fields.ts', 'group-by.ts', 'media-types.ts', 'parameters.ts']

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  declaration: true,
  // Exports have explicit types, so each file compiles alone; `npm run check` checks the types.
  isolatedDeclarations: true,
  noCheck: true,
  noResolve: true,
  noLib: true,
  types: [],
}

export interface RuntimeInputs {
  /** The folders of the sources; a module replaces that of the same name in an earlier folder. */
  folders?: string[]
  /** Reads a file of the generated package, or returns null. */
  existing: (name: string) => string | null
}

/** @throws Error with the place of what cannot be compiled. */
export function compileRuntime({ folders = [clientFolder], existing }: RuntimeInputs): Map<string, string> {
  const files = [
    ...folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => file.endsWith('.ts'))
        .map((file) => join(folder, file)),
    ),
    ...openapiModules.map((file) => join(openapiFolder, file)),
  ]
  const sources = new Map(files.map((file) => [basename(file), readFileSync(file, 'utf8')]))
  const previous = new Map(
    [...sources.keys()]
      .flatMap((file) => ['.js', '.d.ts'].map((kind) => file.replace(/\.ts$/, kind)))
      .map((name) => [name, existing(name)]),
  )
  const isCurrent = [...previous].every(
    ([, text]) => text !== null && text === withBanner(sources, bodyOf(text)),
  )
  return isCurrent ? (previous as Map<string, string>) : compile(sources)
}

function compile(sources: Map<string, string>): Map<string, string> {
  const files = new Map<string, string>()
  const program = ts.createProgram([...sources.keys()], options, {
    getSourceFile: (name, target) =>
      sources.has(name) ? ts.createSourceFile(name, sources.get(name)!, target) : undefined,
    writeFile: (name, text) => files.set(name, withBanner(sources, withPackageImports(text))),
    fileExists: (name) => sources.has(name),
    readFile: (name) => sources.get(name),
    getDefaultLibFileName: () => '',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
  })
  const [problem] = [...program.getSyntacticDiagnostics(), ...program.emit().diagnostics]
  if (problem !== undefined) {
    const { line } = problem.file!.getLineAndCharacterOfPosition(problem.start!)
    const message = ts.flattenDiagnosticMessageText(problem.messageText, '\n')
    throw new Error(`packages/client/${problem.file!.fileName}:${line + 1} ${message}`)
  }
  return files
}

/** In the package, all modules, the libraries and the contract's types are in one folder. */
function withPackageImports(text: string): string {
  return text
    .replace(/from '(openapi-fetch|eventsource-parser)'/g, "from './$1.js'")
    .replace(/'(?:\.\.\/)+generated\/client\/(\w+)\.(?:d\.ts|js)'/g, "'./$1.js'")
    .replace(/from '(?:\.\.?|@platform-api\/openapi)\/([\w-]+)\.ts'/g, "from './$1.js'")
}

/** The banner contains a hash of the compiler options, the sources and the output. */
function withBanner(sources: Map<string, string>, body: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([ts.version, options, ...sources, body]))
    .digest('hex')
    .slice(0, 16)
  return (
    `// The runtime of the client (${hash}), compiled from packages/client/ of the toolkit. ` +
    `Do not edit.\n${body}`
  )
}

function bodyOf(text: string): string {
  return text.slice(text.indexOf('\n') + 1)
}
