// Writes generated/console: the console of packages/console as one script and one style sheet, and the model
// of the contract. The script contains the generated client, which is the console's only way to the API.
import { build, type Plugin } from 'esbuild'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { clientNames } from './client-names.ts'
import { consoleModel } from './console-model.ts'
import { packForms, packModel, packTable } from './console-pack.ts'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'

type Json = any

const source = join(import.meta.dirname, '../../packages/console')

/** The model of the contract, which the scripts contain, and the help texts, which they load. */
export function emitConsoleModel(document: Json, operations: Operation[]): Map<string, string> {
  const model = consoleModel(document, operations, clientNames(document, operations))
  const { forms, help } = packForms(model)
  return new Map(
    Object.entries({ model: packModel(model), forms, help }).map(([name, value]) => [
      `console/${name}.json`,
      `${JSON.stringify(value, null, 1)}\n`,
    ]),
  )
}

/** @param files the files of generated/ that the console imports, by name: the client and the model. */
export async function emitConsole(files: Map<string, string>): Promise<Map<string, string>> {
  return new Map([...(await bundle('main.tsx', files)), ...(await bundle('style.css', files))])
}

/** The main script loads the others when they are needed: `import()` in the source begins a file. */
async function bundle(entry: string, files: Map<string, string>): Promise<Array<[string, string]>> {
  try {
    const { outputFiles } = await build({
      entryPoints: [join(source, entry)],
      bundle: true,
      minify: true,
      write: false,
      splitting: entry === 'main.tsx',
      outdir: source,
      chunkNames: '[name]-[hash]',
      format: 'esm',
      target: 'es2022',
      charset: 'utf8',
      legalComments: 'none',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      logLevel: 'silent',
      plugins: [generated(files)],
    })
    return withPlainNames(outputFiles.map(({ path, text }) => [basename(path), text]))
  } catch (error) {
    throw new GenerateError(`packages/console does not compile: ${(error as Error).message}`)
  }
}

/** Names without digests: in git, a file stays the same file. */
function withPlainNames(files: Array<[string, string]>): Array<[string, string]> {
  const names = new Map(
    files.map(([name], i) => [
      name,
      name.replace(/^chunk-[0-9A-Z]{8}/, `shared-${i}`).replace(/-[0-9A-Z]{8}\.js$/, '.js'),
    ]),
  )
  return files.map(([name, text]) => [
    `console/${names.get(name)}`,
    text.replaceAll(/"\.\/([\w-]+\.js)"/g, (whole, part: string) =>
      names.has(part) ? `"./${names.get(part)}"` : whole,
    ),
  ])
}

/**
 * What of the client the console leaves out: it receives no webhooks, asks for each page of a list, and calls
 * operations by their IDs.
 */
const unneeded: Record<string, string> = {
  'client/webhooks.js': 'export const verifyWebhook = undefined\n',
  'client/resources.js': 'export const resourcesOf = () => ({ storage: { files: {} }, webhooks: {} })\n',
  'client/pages.js': 'export const itemsOf = undefined, listAnswer = undefined, pagesOf = undefined\n',
}

/** The console calls the operations of its model and those that its pages name. */
function neededOf(path: string, files: Map<string, string>): string {
  const text = unneeded[path] ?? files.get(path)!
  if (path !== 'client/operations.js') return text
  const named = ['console/model.json', 'console/forms.json'].map((name) => files.get(name)!)
  const known = new Set([...named, ...sourceTexts()].join('\n').match(/(?<=['"])\w+(?=['"])/g))
  const rows = [...text.matchAll(/^ {2}(\w+): (\{.*\}),?$/gm)]
  return packTable(rows.filter(([, id]) => known.has(id)).map(([, id, row]) => [id, JSON.parse(row)]))
}

const sourceTexts = (): string[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/^(test|node_modules)\b/.test(name))
    .map((name) => readFileSync(join(source, name), 'utf8'))

/** Takes what the generator has just made in place of what is on the disk. */
function generated(files: Map<string, string>): Plugin {
  return {
    name: 'generated',
    setup(build) {
      build.onResolve({ filter: /^[./]+\/generated\// }, ({ path }) => ({
        path: path.slice(path.indexOf('generated/') + 'generated/'.length),
        namespace: 'generated',
      }))
      build.onResolve({ filter: /^\./, namespace: 'generated' }, ({ path, importer }) => ({
        path: posix.join(posix.dirname(importer), path),
        namespace: 'generated',
      }))
      build.onLoad({ filter: /./, namespace: 'generated' }, ({ path }) => ({
        contents: neededOf(path, files),
        loader: path.endsWith('.json') ? 'json' : 'js',
        resolveDir: dirname(source),
      }))
    },
  }
}
