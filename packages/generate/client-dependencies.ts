// Copies the two libraries of the runtime into a generated client, with their licenses. The package then has
// no dependencies: `npm install` needs no registry for it, and browsers load it without a build.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import ts from 'typescript'

const packageOf = (name: string, from: string): string => dirname(dirname(createRequire(from).resolve(name)))
const fetchFolder = packageOf('openapi-fetch', import.meta.filename)

/** The folders of the packages. */
const folders = {
  'openapi-fetch': fetchFolder,
  'openapi-typescript-helpers': packageOf('openapi-typescript-helpers', join(fetchFolder, 'package.json')),
  'eventsource-parser': packageOf('eventsource-parser', import.meta.filename),
}

/** The package, its file, and the name of the copy. */
const copies = [
  ['openapi-fetch', 'dist/index.mjs', 'openapi-fetch.js'],
  ['openapi-fetch', 'dist/index.d.mts', 'openapi-fetch.d.ts'],
  ['openapi-typescript-helpers', 'dist/index.d.mts', 'openapi-typescript-helpers.d.ts'],
  ['eventsource-parser', 'dist/parse.js', 'eventsource-parser.js'],
  ['eventsource-parser', 'dist/errors.js', 'eventsource-parser-errors.js'],
] as const

/** How the copies import each other. */
const imports: Array<[string, string]> = [
  ["'openapi-typescript-helpers'", "'./openapi-typescript-helpers.js'"],
  ["'./errors.js'", "'./eventsource-parser-errors.js'"],
]

const options: ts.TranspileOptions = {
  compilerOptions: {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    removeComments: true,
  },
}

/** The copies and the file of their licenses, by name. */
export function copyDependencies(): Map<string, string> {
  const files = copies.map(([name, file, copy]): [string, string] => {
    const text = readFileSync(join(folders[name], file), 'utf8')
    const code = copy.endsWith('.js')
      ? ts.transpileModule(text, options).outputText
      : text.replace(/^\/\/# sourceMappingURL=.*$/m, '')
    return [copy, `// ${titleOf(name)}. See LICENSES.md.\n${withLocalImports(code)}`]
  })
  return new Map([...files, ['LICENSES.md', licenses()]])
}

function withLocalImports(code: string): string {
  return imports.reduce((text, [from, to]) => text.replaceAll(from, to), code)
}

function licenses(): string {
  const names = [...new Set(copies.map(([name]) => name))]
  const sections = names.map((name) => {
    const text = readFileSync(join(folders[name], 'LICENSE'), 'utf8').trim()
    return `\n## ${titleOf(name)}\n\n${text}\n`
  })
  return `# Licenses of the libraries in this package\n${sections.join('')}`
}

function titleOf(name: keyof typeof folders): string {
  const { version, license } = JSON.parse(readFileSync(join(folders[name], 'package.json'), 'utf8')) as {
    version: string
    license: string
  }
  return `${name} ${version} (${license})`
}
