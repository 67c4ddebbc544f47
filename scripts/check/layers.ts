// Imports, type imports included, go from upper layers to lower ones only. The table `layers` is the rule.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import ts from 'typescript'

interface Layer {
  /** A folder with everything below it (`infra/`), the files directly in one (`services/*`), or one file. */
  files: string
  /** The layers that it may import, where these are not simply all lower ones. */
  imports?: string[]
  /** Layers that it may not import although they are lower, or itself. */
  except?: string[]
  /** Whether it may import Fastify and its plugins. Every layer may import other packages. */
  fastify?: boolean
}

/**
 * From the bottom layer (first row) to the top one. A layer may import itself and all layers of earlier rows.
 * Layers in one row may not import each other. A file belongs to the most specific entry.
 */
const layers: Layer[][] = [
  [{ files: 'generated/' }],
  [{ files: 'infra/' }],
  [{ files: 'generated/sql/' }],
  [{ files: 'infra/jobs/' }],
  [{ files: 'services/users/' }],
  [
    { files: 'services/projects/' },
    { files: 'services/usage/' },
    { files: 'services/audit/' },
    { files: 'services/mail/' },
  ],
  [{ files: 'services/organizations/' }],
  [{ files: 'services/events/' }],
  [{ files: 'services/jobs/' }],
  [
    { files: 'services/auth/' },
    { files: 'services/budgets/' },
    { files: 'services/invitations/' },
    { files: 'services/storage/' },
    { files: 'services/webhooks/' },
    { files: 'services/payments/' },
  ],
  [
    { files: 'services/ai/' },
    { files: 'services/backup/' },
    { files: 'services/docs/', imports: ['generated/', 'infra/'] },
  ],
  [{ files: 'services/deletion/' }, { files: 'services/exports/' }],
  [{ files: 'services/*' }],
  [{ files: 'handlers/', except: ['handlers/'] }],
  [{ files: 'generated/routes.ts' }],
  [{ files: 'app/', except: ['handlers/'], fastify: true }],
  [
    { files: 'generated/client/', imports: [] },
    { files: 'generated/console/', imports: [] },
  ],
  [
    { files: 'packages/client/', imports: ['generated/client/', 'packages/openapi/'] },
    { files: 'packages/console/', imports: ['generated/client/', 'generated/console/'] },
  ],
  // The packages of the toolkit. They import each other by name.
  [
    { files: 'packages/openapi/', imports: [] },
    { files: 'packages/lint/', imports: [] },
    { files: 'packages/generate/', imports: ['packages/client/'], fastify: true },
    { files: 'packages/mock/', imports: [], fastify: true },
    { files: 'packages/changes/', imports: [] },
    { files: 'packages/contract/', imports: [] },
    { files: 'packages/toolkit/', imports: [] },
  ],
  [{ files: 'scripts/', except: ['handlers/'], fastify: true }],
  [{ files: 'test/', fastify: true }],
]

/** The folders that are checked. Tests may import everything; the generator writes `generated/`. */
const checked = ['infra', 'services', 'handlers', 'app', 'packages', 'scripts']

/**
 * @returns one line for each import of a higher layer in the project at `folder`: `file:line imports target:
 * reason`.
 */
export function layerProblems(folder: string): string[] {
  return checked.flatMap((name) => sources(folder, name)).flatMap((file) => fileProblems(folder, file))
}

/** The difference between the table and the list of domains in `page`, docs/architecture.md; null if none. */
export function domainProblem(page: string): string | null {
  const [, section = ''] = page.split('\n## The domains\n')
  const items = section
    .split('\n## ')[0]
    .split(/^\d+\. /m)
    .slice(1)
  const listed = items.map((item) => [...item.matchAll(/`([\w-]+)`:/g)].map(([, name]) => name).join(', '))
  const rows = layers.map((row) =>
    row.flatMap(({ files }) => /^services\/([\w-]+)\/$/.exec(files)?.[1] ?? []),
  )
  const domains = rows.map((row) => row.join(', ')).filter((row) => row !== '')
  if (listed.join('; ') === domains.join('; ')) return null
  return `docs/architecture.md lists the domains ${listed.join('; ')}; the table has ${domains.join('; ')}`
}

function fileProblems(folder: string, file: string): string[] {
  const from = layerOf(file)
  if (from === null) return [`${file}:1 belongs to no layer: add its folder to scripts/check/layers.ts`]
  const text = readFileSync(join(folder, file), 'utf8')
  return ts.preProcessFile(text).importedFiles.flatMap(({ fileName, pos }) => {
    const target = fileName.startsWith('.')
      ? projectPath(folder, resolve(folder, dirname(file), fileName))
      : fileName
    const problem = fileName.startsWith('.') ? pathProblem(from, target) : packageProblem(from, target)
    return problem === null
      ? []
      : [`${file}:${text.slice(0, pos).split('\n').length} imports ${target}: ${problem}`]
  })
}

function pathProblem(from: Place, target: string): string | null {
  const to = layerOf(target)
  if (to === null) return 'the file belongs to no layer'
  const { layer, row } = from
  if (layer.except?.includes(to.layer.files)) return `${layer.files} may not import ${to.layer.files}`
  if (to.layer === layer) return null
  if (layer.imports !== undefined && !layer.imports.includes(to.layer.files)) {
    return `${layer.files} may import ${[...layer.imports, 'itself'].join(', ')} only`
  }
  if (to.row === row) return `${layer.files} and ${to.layer.files} may not import each other`
  return to.row < row ? null : `${to.layer.files} is above ${layer.files}`
}

function packageProblem({ layer }: Place, name: string): string | null {
  return /^(@fastify\/|fastify\b)/.test(name) && layer.fastify !== true
    ? 'only app/ may import Fastify'
    : null
}

interface Place {
  layer: Layer
  row: number
}

/** The most specific entry that covers the file. */
function layerOf(file: string): Place | null {
  let found: Place | null = null
  for (const [row, entries] of layers.entries())
    for (const layer of entries)
      if (covers(layer.files, file) && layer.files.length > (found?.layer.files.length ?? 0))
        found = { layer, row }
  return found
}

function covers(files: string, file: string): boolean {
  if (files.endsWith('/')) return file.startsWith(files)
  return files.endsWith('/*') ? dirname(file) === files.slice(0, -2) : file === files
}

function sources(folder: string, name: string): string[] {
  return readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
    .map((path) => projectPath(folder, join(folder, name, path)))
    .filter((path) => !/^packages\/[\w-]+\/test\//.test(path))
    .sort()
}

function projectPath(folder: string, file: string): string {
  return relative(folder, file).split(sep).join('/')
}

if (import.meta.main) {
  const folder = resolve(import.meta.dirname, '../..')
  const page = readFileSync(join(folder, 'docs/architecture.md'), 'utf8')
  const problems = [...layerProblems(folder), domainProblem(page) ?? []].flat()
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
